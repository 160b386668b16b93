//! Libraries that cannot be had here, by a stand-in for their launcher that records what it is asked to run: how they are found, the
//! command lines of a check and of candidates, and the files that a tuning writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_tests::{build, cells, kilter, preloaded, program, report, root, run};

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

/// The command lines that the launcher recorded, without duplicates. Paths of this test are replaced by names.
fn recorded(record: &Path, places: &[(&Path, &str)]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let record = fs::read_to_string(record).unwrap();
    // Jobs that only describe their hosts measure nothing.
    for line in record.lines().filter(|line| !line.contains("/kilter-worker describe ")) {
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

fn a_check_is_launched_as_each_library_wants_it() {
    let rsh = ("-v", "Version: mvapich2-2.3.7");
    let library = "MVAPICH2 Version      :	2.3.7";
    let (lines, said) = checked(rsh, library, &["--env", "MV2_SMP_USE_CMA=0", "--env", "A=b c"]);
    // Hosts by their own name, and no communicator in its first calls, which are another algorithm.
    let host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    let settles = "MV2_TWO_LEVEL_COMM_THRESHOLD=1";
    assert_eq!(
        lines,
        format!("-np 4 {host} {host} {host} {host} {settles} MV2_SMP_USE_CMA=0 A=b c LIBEXEC/kilter-worker FILE FILE")
    );
    assert!(said.contains("this launcher only records"), "{said}");
    let (lines, _) = checked(rsh, library, &["--hostfile", "hosts"]);
    assert_eq!(
        lines,
        format!("-np 4 -hostfile hosts {settles} LIBEXEC/kilter-worker FILE FILE")
    );
    // A value set by the site wins.
    let (lines, _) = checked(
        rsh,
        library,
        &["--hostfile", "hosts", "--env", "MV2_TWO_LEVEL_COMM_THRESHOLD=8"],
    );
    assert_eq!(
        lines,
        "-np 4 -hostfile hosts MV2_TWO_LEVEL_COMM_THRESHOLD=8 LIBEXEC/kilter-worker FILE FILE"
    );
    // A site's own setting that ends the job is named before it does.
    let bad = checked(rsh, library, &["--env", "MV2_SMP_EAGERSIZE=65536"]).1;
    assert!(bad.contains("set `MV2_SMP_QUEUE_LENGTH=262144` as well"), "{bad}");
    // Its Hydra says a version that is not its own: the worker is asked.
    let hydra = ("--version", "HYDRA build details: Version: 3.2.1");
    let (lines, said) = checked(hydra, library, &["--env", "MV2_SMP_USE_CMA=0"]);
    assert_eq!(
        lines,
        "-n 4 -genv MV2_TWO_LEVEL_COMM_THRESHOLD 1 -genv MV2_SMP_USE_CMA 0 LIBEXEC/kilter-worker FILE FILE"
    );
    assert!(said.contains("this launcher only records"), "{said}");
    // HPE's hands its own environment on.
    let mpt = ("--version", "MPT: libxmpi.so 'HPE MPT 2.23  10/02/18 04:03:22'");
    let library = "HPE MPT 2.23  08/26/20 02:54:49-root";
    let (lines, _) = checked(mpt, library, &["--env", "MPI_BUFFER_MAX=2000"]);
    assert_eq!(lines, "MPI_BUFFER_MAX=2000\n-n 4 LIBEXEC/kilter-worker FILE FILE");
    // A worker of another version is refused where it does not say itself that it runs.
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

/// A library that chooses its algorithms when a job starts, with Open MPI behind it: its allreduce is slowed down unless the variable
/// asks for the fast choice.
struct StandIn {
    /// In `tests/fixtures`.
    description: &'static str,
    /// Option that makes its launcher print its version.
    option: &'static str,
    /// Text before and after the version in that output.
    says: [&'static str; 2],
    /// The variable that chooses the algorithm, and its fast value.
    variable: &'static str,
    fast: &'static str,
    /// Beginnings of the variables that its launcher hands on by itself.
    hands_on: &'static str,
}

/// A tuning: where it wrote, and what was launched, without what is the same in every launch.
fn tuned(stand_in: &StandIn, directory: &Path) -> (PathBuf, Vec<String>) {
    let variable = format!("-DVARIABLE=\"{}\"", stand_in.variable);
    let library = preloaded::library("at_start", &[&variable]);
    let said = run(Command::new(program("kilter-worker")).arg("library"), &[0]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = said.split_once('v').unwrap().1.split(',').next().unwrap().to_owned();
    let out = directory.join("out");
    let record = directory.join("record");
    let fast = format!("KILTER_TEST_FAST={}", stand_in.fast);
    run(
        preloaded::tune_slow_allreduce(&out, &library, "parameters")
            .args(["-n", "2", "--quiet", "--mpirun", text(&launcher())])
            .args(["--libexec", text(&build())])
            .arg("--library-description")
            .arg(root().join("tests/fixtures").join(stand_in.description))
            .args(["--env", &fast])
            .env("KILTER_TEST_OPTION", stand_in.option)
            .env("KILTER_TEST_SAYS", stand_in.says.join(&version))
            .env("KILTER_TEST_MPIRUN", "mpirun.openmpi")
            .env("KILTER_TEST_RECORDED", stand_in.hands_on)
            .env("KILTER_TEST_RECORD", &record),
        &[0, 1],
    );
    let places = [
        (out.as_path(), "OUT"),
        (library.as_path(), "LIBRARY"),
        (&build(), "LIBEXEC"),
    ]
    .map(|(path, name)| (path.to_owned(), name));
    let places: Vec<(&Path, &str)> = places.iter().map(|(path, name)| (path.as_path(), *name)).collect();
    // The site's variables stand last where they stand in the command, and are the same in every launch.
    let site = format!(
        " LD_PRELOAD=LIBRARY KILTER_TEST_DELAY_NS={} {fast} LIBEXEC/kilter-worker FILE FILE",
        preloaded::SLOW_NS
    );
    let lines = recorded(&record, &places)
        .iter()
        .map(|line| line.replace(&site, " ..."))
        .collect();
    assert_mended(&out);
    (out, lines)
}

/// The slow allreduce was found, and with the fix the guideline holds.
fn assert_mended(out: &Path) {
    let report = report(out);
    let cells = cells(&report, "GL12", 1024);
    assert!(!cells.is_empty(), "{report:#}");
    for cell in cells {
        assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}");
        assert_eq!(cell["after"]["verdict"], "holds", "{cell:#}");
    }
}

/// `kilter COMMAND` for a user with this home.
fn kilter_of(home: &Path, command: &str) -> Command {
    let mut kilter = Command::new(program("kilter"));
    kilter.arg(command).env("HOME", home);
    kilter
}

/// Variables without which MVAPICH2 ignores ranges of sizes.
const INDEXED: &str = "MV2_USE_INDEXED_ALLREDUCE_TUNING=0 MV2_USE_INDEXED_TUNING=0";

/// The loop on MVAPICH2's forms.
fn a_variable_that_chooses_at_the_start_is_searched_written_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let mvapich2 = StandIn {
        description: "mvapich2_on_openmpi.toml",
        option: "-v",
        says: ["Version: mvapich2-", ""],
        variable: "MV2_INTER_ALLREDUCE_TUNING",
        fast: "9",
        hands_on: "nothing",
    };
    let (out, lines) = tuned(&mvapich2, directory.path());
    let lines: Vec<String> = lines.iter().map(|line| line.replace(INDEXED, "INDEXED")).collect();
    assert_eq!(
        lines,
        [
            "-np 2 localhost localhost ...",
            "-np 2 localhost localhost MV2_SMP_USE_CMA=0 ...",
            "-np 2 localhost localhost MV2_INTER_ALLREDUCE_TUNING=1:0-1024,1:1025-+ INDEXED ...",
            "-np 2 localhost localhost MV2_INTER_ALLREDUCE_TUNING=9:0-1024,9:1025-+ INDEXED ...",
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
            "MV2_INTER_ALLREDUCE_TUNING = 9:0-1024,9:1025-+",
            "MV2_USE_INDEXED_ALLREDUCE_TUNING = 0",
            "MV2_USE_INDEXED_TUNING = 0"
        ]
    );
    for form in ["kilter.sh", "slurm-prolog.sh"] {
        assert!(
            read(form).contains("MV2_INTER_ALLREDUCE_TUNING=9:0-1024,9:1025-+"),
            "{}",
            read(form)
        );
    }
    // The user's own lines stay, and so does the order in which the library reads them.
    let home = directory.path().join("home");
    fs::create_dir(&home).unwrap();
    let own = home.join(".mvapich2.conf");
    fs::write(&own, "# ours\nMV2_SMP_USE_CMA = 1\n").unwrap();
    let apply = ["--user", "--yes"];
    run(kilter_of(&home, "apply").arg(out.join("emit")).args(apply), &[0]);
    let merged = fs::read_to_string(&own).unwrap();
    assert!(
        merged.starts_with("# ours\nMV2_SMP_USE_CMA = 1\n")
            && merged.contains("\nMV2_INTER_ALLREDUCE_TUNING = 9:0-1024,9:1025-+\n"),
        "{merged}"
    );
    run(kilter_of(&home, "rollback").args(apply), &[0]);
    assert_eq!(fs::read_to_string(&own).unwrap(), "# ours\nMV2_SMP_USE_CMA = 1\n");
}

/// The loop on HPE MPT's: a launcher that hands its own environment on, switches and thresholds, and no file of the library's.
fn a_switch_in_the_environment_is_searched_written_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let mpt = StandIn {
        description: "mpt_on_openmpi.toml",
        option: "--version",
        says: ["MPT: libxmpi.so 'HPE MPT ", "  10/02/18 04:03:22'"],
        variable: "MPI_COLL_RED_RB_MIN",
        fast: "2048",
        hands_on: "MPI_",
    };
    let (out, lines) = tuned(&mpt, directory.path());
    // Variables that are for gatherv must not be tried.
    assert_eq!(
        lines,
        [
            "-n 2 LIBEXEC/kilter-worker FILE FILE",
            "MPI_COLL_RED_RB_MIN=2048",
            "MPI_COLL_RED_RB_MIN=131072",
        ]
    );
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let emit = out.join("emit");
    let settings: Vec<String> = read(&emit.join("kilter.env"))
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    assert_eq!(settings, ["MPI_COLL_RED_RB_MIN=2048"]);
    for form in ["kilter.sh", "slurm-prolog.sh", "README.txt"] {
        let page = read(&emit.join(form));
        assert!(page.contains("MPI_COLL_RED_RB_MIN=2048"), "{form}: {page}");
    }
    // A user's module and shell fragment come and go.
    let home = directory.path().join("home");
    fs::create_dir(&home).unwrap();
    let applied = home.join(".local/share/kilter/mpt-on-openmpi/kilter.sh");
    run(kilter_of(&home, "apply").arg(&emit).args(["--user", "--yes"]), &[0]);
    assert!(
        read(&applied).contains("MPI_COLL_RED_RB_MIN=2048"),
        "{}",
        read(&applied)
    );
    run(kilter_of(&home, "rollback").args(["--user", "--yes"]), &[0]);
    assert!(!applied.exists());
}

/// The default is no value to try, but where a site or a user has set a bad one it is what mends it. What is in the environment wins over files
/// of parameters, so it is deployed there, and what is on the command line wins over all, so it must go.
fn a_bad_value_that_is_in_force_is_put_back() {
    let directory = tempfile::tempdir().unwrap();
    let variable = "-DVARIABLE=\"OMPI_MCA_btl_vader_eager_limit\"";
    let library = preloaded::library("at_start", &[variable]);
    let out = directory.path().join("out");
    run(
        preloaded::tune_slow_allreduce(&out, &library, "parameters")
            .args(["-n", "2", "--mpirun", "mpirun.openmpi", "--library-description"])
            .arg(root().join("tests/fixtures/openmpi_with_one_parameter.toml"))
            .args(["--libexec", text(&build())])
            .args(["--env", "KILTER_TEST_FAST=4096"])
            .args(["--mca", "btl_vader_eager_limit=8192"])
            .env("OMPI_MCA_btl_vader_eager_limit", "8192"),
        &[0, 1],
    );
    assert_mended(&out);
    let read = |name: &str| fs::read_to_string(out.join("emit").join(name)).unwrap();
    for file in ["kilter.env", "kilter.sh"] {
        let text = read(file);
        assert!(text.contains("OMPI_MCA_btl_vader_eager_limit=4096"), "{file}: {text}");
    }
    assert!(!out.join("emit/openmpi-mca-params.conf").exists());
    let page = read("README.txt");
    assert!(
        page.contains("Remove `btl_vader_eager_limit=8192` where jobs are given it"),
        "{page}"
    );
}

kilter_tests::cases![
    a_check_is_launched_as_each_library_wants_it,
    a_variable_that_chooses_at_the_start_is_searched_written_and_verified,
    a_switch_in_the_environment_is_searched_written_and_verified,
    a_bad_value_that_is_in_force_is_put_back,
];
