//! A tuned run that several tests read: Open MPI's eager limit against a reduce that is slow as long as its message is not eager, so that a fix
//! is there to be found whatever this machine is like.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::shared::folder;
use crate::{FEW_REPETITIONS, TOGETHER, few_settings, kilter, preloaded, run};

/// Size of the cell that is violated, in bytes.
pub const SLOW_BYTES: u64 = 4096;

/// Delay of the slow reduce in nanoseconds, far more than a reduce of [`SLOW_BYTES`] takes: for few repetitions, of which each must tell on a machine
/// where a rank may lose its processor for tens of milliseconds, and for many. Nobody waits for it (`tests/fixtures/spend.h`).
pub const LONG_DELAY_NS: u64 = 500_000_000;
pub const DELAY_NS: u64 = 2_000_000;

/// `kilter COMMAND` on two ranks whose reduce is slow by so much.
#[must_use]
pub fn with_slow_reduce(command: &str, out: &Path, delay_ns: u64) -> Command {
    let mut kilter = kilter(command, out);
    let slow = preloaded::library("slow_reduce", &[]);
    preloaded::delayed_by(preloaded::preload(&mut kilter, &slow), delay_ns).args(["-n", "2"]);
    kilter
}

/// `kilter tune` on this reduce at three sizes, of which one is violated: the fewest launches that show one of three. The worker counts the delay among
/// what a launch costs, so the budget is far more than the seconds that pass.
#[must_use]
pub fn tune_slow_reduce(out: &Path) -> Command {
    let mut tune = with_slow_reduce("tune", out, LONG_DELAY_NS);
    tune.args(["--guidelines", "GL8", "--sizes", "1024,4096,16384"])
        .args(["--fixed", "--launches", "5", "--budget", "2400"])
        .args(FEW_REPETITIONS)
        .args(TOGETHER);
    tune
}

/// A run of `kilter tune` that has ended.
#[derive(Debug)]
pub struct Tuned {
    /// Its output directory, with the database: tests add to it, and change nothing.
    pub out: PathBuf,
    /// The description of the library that it had.
    pub description: PathBuf,
}

/// The eager limit, among some settings that do not mend it, found, emitted and confirmed. The first test that asks makes the run.
///
/// # Panics
/// The command fails; the next test that asks tries again.
pub fn eager_limit() -> &'static Tuned {
    static TUNED: OnceLock<Tuned> = OnceLock::new();
    TUNED.get_or_init(|| {
        let out = tempfile::tempdir_in(folder())
            .expect("the folder is this program's")
            .keep();
        let description = few_settings(
            &out,
            &[
                "btl_vader_fbox_max",
                "btl_vader_eager_limit",
                "pml_ob1_send_pipeline_depth",
            ],
        );
        let mut tune = tune_slow_reduce(&out);
        tune.args(["--only", "parameters", "--seed", "7", "--library-description"])
            .arg(&description);
        let output = run(&mut tune, &[0, 1]);
        for printed in [&output.stdout, &output.stderr] {
            println!("{}", String::from_utf8_lossy(printed));
        }
        Tuned { out, description }
    })
}
