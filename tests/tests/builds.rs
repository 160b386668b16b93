//! The builds for further libraries, which `scripts/test` makes while the tests before this one run.

use std::path::Path;
use std::time::{Duration, Instant};

use kilter_tests::LOOK;

/// Far more than they take on a busy machine.
const LIMIT: Duration = Duration::from_secs(1800);

/// `KILTER_BUILDS` names a file that says, once they have ended, whether they failed; without it they were made before.
fn builds_for_further_libraries_have_ended() {
    let Some(file) = std::env::var_os("KILTER_BUILDS") else {
        return;
    };
    let begin = Instant::now();
    while !Path::new(&file).exists() {
        assert!(begin.elapsed() < LIMIT, "the builds did not end in {LIMIT:?}");
        std::thread::sleep(LOOK);
    }
}

kilter_tests::cases![builds_for_further_libraries_have_ended,];
