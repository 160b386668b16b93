//! Fixtures that are preloaded into MPI jobs, and the search that has a slow allreduce to find on any machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shared::made_once;
use crate::{FEW_REPETITIONS, TOGETHER, kilter, mpicc, root};

/// `tests/fixtures/NAME.c` as a library, compiled for the MPI library under test once in this program, with these further options.
///
/// # Panics
/// The compiler refuses, or a path is no text.
#[must_use]
pub fn library(name: &str, further: &[&str]) -> PathBuf {
    made_once(&format!("{name} {further:?}"), &format!("{name}.so"), |library| {
        let source = root().join(format!("tests/fixtures/{name}.c"));
        let [to, from] = [library, &source].map(|path| path.to_str().expect("paths of tests are text"));
        mpicc(&[&["-shared", "-fPIC", "-O2", "-o", to, from][..], further, &["-ldl"]].concat());
    })
}

/// Preloads it into each job of `kilter`.
pub fn preload<'c>(kilter: &'c mut Command, library: &Path) -> &'c mut Command {
    kilter.args(["--env", &format!("LD_PRELOAD={}", library.display())])
}

/// Has each job's fixture delay calls by this time (`tests/fixtures/spend.h`).
pub fn delayed_by(kilter: &mut Command, delay_ns: u64) -> &mut Command {
    kilter.args(["--env", &format!("KILTER_TEST_DELAY_NS={delay_ns}")])
}

/// Delay of the slow allreduce, in nanoseconds: far more than ranks wait for each other on any day, so that a few repetitions in a few launches
/// tell.
pub const SLOW_NS: u64 = 100_000_000;

/// `kilter tune` that tries what is named by `only` against an allreduce of 1 KiB which the fixture in `library` slows down. It makes the fewest
/// launches that show one violation. With `--fixed` there is no screening, which a test needs that asserts that the fix holds.
#[must_use]
pub fn tune_slow_allreduce(out: &Path, library: &Path, only: &str) -> Command {
    let mut tune = kilter("tune", out);
    tune.args(["--guidelines", "GL12", "--sizes", "1024", "--only", only])
        .args(["--launches", "4", "--budget", "240", "--rounds", "1", "--seed", "7"])
        .args(FEW_REPETITIONS)
        .args(TOGETHER);
    delayed_by(preload(&mut tune, library), SLOW_NS);
    tune
}
