//! Libraries that cannot be had here, by a stand-in for their launcher that records what it is asked to run: how they are found, the
//! command lines of a check and of candidates, and the files that a tuning writes.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_tests::{cells, kilter, mpicc, release, report, root, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn launcher() -> PathBuf {
    root().join("tests/fixtures/stand_in_launcher")
}

/// A folder with a worker that says this of its library. Another process writes it: a descriptor open for writing here could be
/// inherited by a child of another test.
fn worker(directory: &Path, says: &str) -> PathBuf {
    let libexec = directory.join("libexec");
    fs::create_dir(&libexec).unwrap();
    let write = r#"printf '#!/bin/sh\necho "%s"\n' "$1" > "$0" && chmod 755 "$0""#;
    run(
        Command::new("/bin/sh")
            .args(["-c", write])
            .arg(libexec.join("kilter-worker"))
            .arg(says),
        &[0],
    );
    libexec
}

/// What the launcher was asked to run, with the places of this test taken out; once where it was asked for the same again.
fn recorded(record: &Path, places: &[(&Path, &str)]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in fs::read_to_string(record).unwrap().lines() {
        let mut line = line.to_owned();
        for (place, name) in places {
            line = line.replace(text(place), name);
        }
        // Plan and report have names of their own in each launch.
        let words = line
            .split(' ')
            .map(|word| if word.contains("/launches/") { "FILE" } else { word });
        let line = words.collect::<Vec<_>>().join(" ");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The library is known by what its launcher and its worker say, and the job is launched as it wants it.
fn checked(says: (&str, &str), reports: &str, further: &[&str]) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let libexec = worker(directory.path(), reports);
    let record = directory.path().join("record");
    let output = run(
        kilter("check", &directory.path().join("out"))
            .args([
                "-n",
                "4",
                "--guidelines",
                "GL12",
                "--sizes",
                "1024",
                "--launches",
                "1",
                "--quiet",
            ])
            .args(["--mpirun", text(&launcher()), "--libexec", text(&libexec)])
            .args(further)
            .env("KILTER_TEST_OPTION", says.0)
            .env("KILTER_TEST_SAYS", says.1)
            .env("KILTER_TEST_RECORDED", "MPI_")
            .env("KILTER_TEST_RECORD", &record),
        &[2],
    );
    let lines = recorded(&record, &[(&libexec, "LIBEXEC")]);
    (lines.join("\n"), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_check_is_launched_as_each_library_wants_it() {
    let rsh = ("-v", "Version: mvapich2-2.3.7");
    let library = "MVAPICH2 Version      :	2.3.7";
    let (lines, said) = checked(rsh, library, &["--env", "MV2_SMP_USE_CMA=0", "--env", "A=b c"]);
    assert_eq!(
        lines,
        "-np 4 localhost localhost localhost localhost MV2_SMP_USE_CMA=0 A=b c LIBEXEC/kilter-worker FILE FILE"
    );
    assert!(said.contains("this launcher only records"), "{said}");
    let (lines, _) = checked(rsh, library, &["--hostfile", "hosts"]);
    assert_eq!(lines, "-np 4 -hostfile hosts LIBEXEC/kilter-worker FILE FILE");
    // HPE's hands its own environment on.
    let mpt = ("--version", "MPT: libxmpi.so 'HPE MPT 2.23  10/02/18 04:03:22'");
    let library = "HPE MPT 2.23  08/26/20 02:54:49-root";
    let (lines, _) = checked(mpt, library, &["--env", "MPI_BUFFER_MAX=2000"]);
    assert_eq!(lines, "MPI_BUFFER_MAX=2000\n-n 4 LIBEXEC/kilter-worker FILE FILE");
    // A worker of another version is refused before anything is launched.
    let directory = tempfile::tempdir().unwrap();
    let libexec = worker(directory.path(), "HPE MPT 2.22  03/31/20 15:59:10");
    let refused = run(
        kilter("check", &directory.path().join("out"))
            .args(["--mpirun", text(&launcher()), "--libexec", text(&libexec)])
            .env("KILTER_TEST_OPTION", mpt.0)
            .env("KILTER_TEST_SAYS", mpt.1),
        &[2],
    );
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("HPE MPT 2.22") && said.contains("scripts/build --mpi mpt-2.23"),
        "{said}"
    );
}

/// What makes ranges of sizes act.
const INDEXED: &str = "MV2_USE_INDEXED_ALLREDUCE_TUNING=0 MV2_USE_INDEXED_TUNING=0";

/// The loop on a library that chooses its algorithms when a job starts: MVAPICH2's forms, and Open MPI behind them, whose allreduce
/// takes 3 ms longer than its reduce and broadcast unless the variable asks for the choice 9.
#[test]
fn a_variable_that_chooses_at_the_start_is_searched_written_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("mvapich2.so");
    let source = root().join("tests/fixtures/mvapich2.c");
    mpicc(&["-shared", "-fPIC", "-O2", "-o", text(&library), text(&source), "-ldl"]);
    let said = run(Command::new(release("kilter-worker")).arg("library"), &[0]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = said.split_once('v').unwrap().1.split(',').next().unwrap().to_owned();
    let out = directory.path().join("out");
    let record = directory.path().join("record");
    run(
        kilter("tune", &out)
            .args(["-n", "2", "--guidelines", "GL12", "--sizes", "1024", "--launches", "8"])
            .args([
                "--budget",
                "60",
                "--rounds",
                "1",
                "--only",
                "parameters",
                "--seed",
                "7",
                "--quiet",
            ])
            // The delay is far above what a busy machine adds: no clocks have to agree for it.
            .args([
                "--min-repetitions",
                "15",
                "--max-repetitions",
                "20",
                "--wait",
                "sleep",
                "--sync",
                "barrier",
            ])
            .args(["--mpirun", text(&launcher())])
            .args(["--libexec", text(release("kilter-worker").parent().unwrap())])
            .arg("--library-description")
            .arg(root().join("tests/fixtures/mvapich2_on_openmpi.toml"))
            .args(["--env", &format!("LD_PRELOAD={}", text(&library))])
            .args(["--env", "KILTER_TEST_DELAY_NS=3000000", "--env", "KILTER_TEST_FAST=9"])
            .env("KILTER_TEST_OPTION", "-v")
            .env("KILTER_TEST_SAYS", format!("Version: mvapich2-{version}"))
            .env("KILTER_TEST_MPIRUN", "mpirun.openmpi")
            .env("KILTER_TEST_RECORD", &record),
        &[0],
    );
    let report = report(&out);
    for cell in cells(&report, "GL12", 1024) {
        assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}");
        assert_eq!(cell["after"]["verdict"], "holds", "{cell:#}");
    }
    let places = [
        (out.as_path(), "OUT"),
        (library.as_path(), "LIBRARY"),
        (release("kilter-worker").parent().unwrap(), "LIBEXEC"),
    ]
    .map(|(path, name)| (path.to_owned(), name));
    let places: Vec<(&Path, &str)> = places.iter().map(|(path, name)| (path.as_path(), *name)).collect();
    // The site's variables stand last, and are the same in every launch.
    let site = " LD_PRELOAD=LIBRARY KILTER_TEST_DELAY_NS=3000000 KILTER_TEST_FAST=9 LIBEXEC/kilter-worker FILE FILE";
    let lines: Vec<String> = recorded(&record, &places)
        .iter()
        .map(|line| line.replace(site, " ...").replace(INDEXED, "INDEXED"))
        .collect();
    assert_eq!(
        lines,
        [
            "-np 2 localhost localhost ...",
            "-np 2 localhost localhost MV2_SMP_USE_CMA=0 ...",
            "-np 2 localhost localhost MV2_INTER_ALLREDUCE_TUNING=1 INDEXED ...",
            "-np 2 localhost localhost MV2_INTER_ALLREDUCE_TUNING=9 INDEXED ...",
            "-np 2 localhost localhost MV2_USER_CONFIG=OUT/emit/mvapich2.conf ...",
        ]
    );
    let read = |name: &str| fs::read_to_string(out.join("emit").join(name)).unwrap();
    let settings: Vec<String> = read("mvapich2.conf")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        settings,
        [
            "MV2_INTER_ALLREDUCE_TUNING = 9",
            "MV2_USE_INDEXED_ALLREDUCE_TUNING = 0",
            "MV2_USE_INDEXED_TUNING = 0"
        ]
    );
    for form in ["kilter.sh", "slurm-prolog.sh"] {
        assert!(read(form).contains("MV2_INTER_ALLREDUCE_TUNING=9"), "{}", read(form));
    }
    // The user's own lines stay, and so does the order in which the library reads them.
    let home = directory.path().join("home");
    fs::create_dir(&home).unwrap();
    let own = home.join(".mvapich2.conf");
    fs::write(&own, "# ours\nMV2_SMP_USE_CMA = 1\n").unwrap();
    let kilter = |command: &str| {
        let mut kilter = Command::new(release("kilter"));
        kilter.arg(command).env("HOME", &home);
        kilter
    };
    run(kilter("apply").arg(out.join("emit")).args(["--user", "--yes"]), &[0]);
    let merged = fs::read_to_string(&own).unwrap();
    assert!(
        merged.starts_with("# ours\nMV2_SMP_USE_CMA = 1\n") && merged.contains("\nMV2_INTER_ALLREDUCE_TUNING = 9\n"),
        "{merged}"
    );
    run(kilter("rollback").args(["--user", "--yes"]), &[0]);
    assert_eq!(fs::read_to_string(&own).unwrap(), "# ours\nMV2_SMP_USE_CMA = 1\n");
}
