//! Rules files as Kilter writes them, read by the library: version 2 with its column for requests, and what a release makes of that, and of JSON,
//! that does not know it. Seen by who waits for whom, not by times.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_emit::rules::{ByNodes, Choice, Rules};
use kilter_tests::{folder_of, left_out, root, run};

/// Reductions on two ranks in segments of 1 KiB along a chain of both.
fn pipelined(requests: Option<u64>) -> Rules {
    let mut rules = Rules::default();
    let choice = Choice {
        algorithm: 3,
        fan: 0,
        segment_bytes: 1024,
        requests,
    };
    rules.add(11, 2, (0, u64::MAX), choice);
    rules
}

/// A library, with the application built for it.
struct Library {
    directory: tempfile::TempDir,
    /// Folder of its programs; empty if they are in PATH.
    bin: PathBuf,
}

impl Library {
    fn new(bin: &Path, compiler: &str) -> Library {
        let library = Library {
            directory: tempfile::tempdir().unwrap(),
            bin: bin.to_path_buf(),
        };
        let source = root().join("tests/fixtures/reduce_returns.c");
        let mut compile = library.command(compiler);
        run(compile.arg(source).arg("-o").arg(library.application()), &[0]);
        library
    }

    fn application(&self) -> PathBuf {
        self.directory.path().join("reduce_returns")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "60"]).arg(self.bin.join(program));
        for (name, _) in std::env::vars() {
            if name.starts_with("OMPI_") || name == "LD_PRELOAD" {
                command.env_remove(name);
            }
        }
        if let Some(installed) = self.bin.parent() {
            command.env("LD_LIBRARY_PATH", installed.join("lib"));
        }
        command
    }

    /// Output of the application under these parameters.
    fn says(&self, parameters: &[(&str, &str)]) -> String {
        let mut job = self.command("mpirun");
        job.args(["--allow-run-as-root", "--oversubscribe", "-np", "2"]);
        job.args(["--mca", "coll_tuned_use_dynamic_rules", "1"]);
        for (name, value) in parameters {
            job.args(["--mca", name, value]);
        }
        let output = run(job.arg(self.application()), &[0]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn says_under(&self, rules: &Rules) -> String {
        self.says_under_file(&rules.to_text())
    }

    fn says_under_file(&self, text: &str) -> String {
        let file = self.directory.path().join("rules.conf");
        fs::write(&file, text).unwrap();
        self.says(&[("coll_tuned_dynamic_rules_filename", file.to_str().unwrap())])
    }
}

fn a_limit_on_requests_holds_where_the_release_reads_version_2() {
    let bin = folder_of("openmpi-5.0").join("install/bin");
    if !bin.join("mpicc").exists() {
        left_out("no Open MPI 5.0; `scripts/setup --mpi openmpi-5.0` installs it");
        return;
    }
    let library = Library::new(&bin, "mpicc");
    assert_eq!(library.says_under(&pipelined(Some(1))), "waited");
    assert_eq!(library.says_under(&pipelined(None)), "returned");
    // JSON is not read before 6.0, and nothing is said of it.
    assert_eq!(
        library.says_under_file(&ByNodes::from(pipelined(Some(1))).to_json().unwrap()),
        "returned"
    );
}

/// So no version 2 is ever written for it.
fn a_release_without_version_2_ignores_the_whole_file() {
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let library = Library::new(Path::new(""), &compiler);
    let asked_for = [
        ("coll_tuned_reduce_algorithm", "3"),
        ("coll_tuned_reduce_algorithm_segmentsize", "1024"),
        ("coll_tuned_reduce_algorithm_max_requests", "1"),
    ];
    assert_eq!(library.says(&asked_for), "waited", "it has the limit, by another way");
    assert_eq!(library.says_under(&pipelined(Some(1))), "returned");
}

kilter_tests::cases![
    a_limit_on_requests_holds_where_the_release_reads_version_2,
    a_release_without_version_2_ignores_the_whole_file,
];
