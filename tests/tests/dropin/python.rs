//! Python programs, over mpi4py: Debian's on Open MPI, and on MPICH the build of `scripts/mpi4py`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_algorithms::Collective;
use kilter_tests::left_out;

use crate::dropin::applications::{assert_replaced, forced, replaced};
use crate::dropin::job::{self, Deployed, Mpi, Output};

/// The one that has Debian's mpi4py, whatever else is in PATH.
const PYTHON: &str = "/usr/bin/python3";

/// A folder that `scripts/mpi4py` made.
fn made(name: &str) -> PathBuf {
    kilter_tests::build().with_file_name("mpi4py").join(name)
}

/// A Python with an mpi4py for a library.
struct Python {
    mpi: Mpi,
    /// `PYTHONPATH` of its ranks.
    path: String,
}

impl Python {
    /// Says why, where there is none.
    fn of(mpi: Mpi) -> Option<Python> {
        if !mpi.is_there() {
            return None;
        }
        let path = match mpi {
            Mpi::OpenMpi => String::new(),
            Mpi::Mpich => made("mpich-4.0").display().to_string(),
            Mpi::Brought(_) => return None,
        };
        let import = Command::new(PYTHON)
            .args(["-c", "import mpi4py"])
            .env("PYTHONPATH", &path)
            .output();
        if !import.is_ok_and(|output| output.status.success()) {
            left_out(format!(
                "{PYTHON} has no mpi4py for {mpi:?}; get it with `scripts/setup`"
            ));
            return None;
        }
        Some(Python { mpi, path })
    }

    /// Runs a program with one row of each collective forced; `round` selects which.
    fn run(&self, round: usize, ranks: usize, words: &[&Path]) -> Output {
        let deployed = Deployed::for_library(self.mpi, forced(round));
        let mut program = vec![Path::new(PYTHON)];
        program.extend(words);
        let variables = [("PYTHONPATH", self.path.as_str()), ("PYTHONDONTWRITEBYTECODE", "1")];
        let output = deployed.run(self.mpi, &program, ranks, &variables);
        let case = format!("{words:?} on {ranks} ranks of {:?}, round {round}", self.mpi);
        assert!(output.ok, "{case}:\n{}\n{}", output.stdout, output.stderr);
        assert!(output.lines("kilter: warning").is_empty(), "{case}: {}", output.stderr);
        output
    }
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = Collective::of_several_ranks().map(Collective::name).collect();
    names.sort_unstable();
    names
}

fn all_sixteen_collectives_of_python_are_followed() {
    let program = job::source("tests/dropin/languages.py");
    // In the alphabet's order each is called once more than the one before.
    let expected: BTreeMap<String, u64> = names().into_iter().map(str::to_owned).zip(1..).collect();
    assert_eq!(expected.len(), 16);
    for python in [Mpi::OpenMpi, Mpi::Mpich].into_iter().filter_map(Python::of) {
        for round in [0, 1] {
            let output = python.run(round, 2, &[&program]);
            assert_eq!(output.stdout, "OK\n", "{:?}, round {round}: {output:?}", python.mpi);
            assert_eq!(replaced(&output), expected, "{:?}, round {round}", python.mpi);
        }
    }
}

/// Number of ranks whose tests passed. `OK` is the last word of Python's unittest; it is counted as a word, since ranks write into each other's
/// lines.
fn passed(output: &Output) -> usize {
    output.stderr.matches("OK").count()
}

/// mpi4py's own tests of collectives: buffers, lists of counts, objects, in place, on several communicators, and what must be left to the
/// library: intercommunicators, neighbours, non-blocking calls.
fn mpi4pys_own_tests_of_collectives_pass() {
    let tests = made("source").join("test/runtests.py");
    if !tests.exists() {
        left_out("mpi4py's source package is not there; get it with `scripts/mpi4py`");
        return;
    }
    // NumPy's tests are left out where it is there, so that every machine runs the same.
    let mut words = vec![tests.as_path(), Path::new("--no-builddir"), Path::new("--no-numpy")];
    for group in [
        "test_cco_buf",
        "test_cco_vec",
        "test_cco_obj",
        "test_cco_nb",
        "test_cco_ngh",
    ] {
        words.extend([Path::new("--include"), Path::new(group)]);
    }
    for (mpi, ranks, round) in [
        (Mpi::OpenMpi, 2, 0),
        (Mpi::OpenMpi, 2, 1),
        (Mpi::OpenMpi, 3, 2),
        (Mpi::Mpich, 2, 3),
        (Mpi::Mpich, 2, 7),
        // Mock-ups, of those collectives that have some.
        (Mpi::OpenMpi, 3, 10),
        (Mpi::Mpich, 2, 11),
    ] {
        let Some(python) = Python::of(mpi) else { continue };
        let output = python.run(round, ranks, &words);
        let case = format!("mpi4py's tests on {ranks} ranks of {mpi:?}");
        assert_eq!(passed(&output), ranks, "{case}, round {round}: {}", output.stderr);
        assert_replaced(&output, &names(), &case, round);
        let calls: u64 = replaced(&output).values().sum();
        assert!(calls > 5000, "{case}, round {round}: {calls} calls were replaced");
    }
}

kilter_tests::cases![
    all_sixteen_collectives_of_python_are_followed,
    mpi4pys_own_tests_of_collectives_pass,
];
