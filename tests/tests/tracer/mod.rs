//! The tracer under unmodified programs: what it counts, exactly, in every language and beside Kilter's other libraries; and `kilter profile`
//! around it.

pub(crate) mod advise;
pub(crate) mod applications;
pub(crate) mod beyond;
pub(crate) mod by_hand;
pub(crate) mod hpl;
pub(crate) mod polls;
pub(crate) mod proof;
pub(crate) mod trace;
pub(crate) mod waiting;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_profiling::gather::gather;
use kilter_profiling::profile::Profile;
use kilter_protocol::calls::{DIRECTORY_VARIABLE, MEMORY_VARIABLE};
use kilter_protocol::functions::Function;
use kilter_tests::{left_out, program};

use crate::dropin::job::{Deployed, Mpi, Output, rule};

const LIBRARY: &str = "libkilter_tracer.so";

/// `calls.c`.
fn calls(mpi: Mpi) -> PathBuf {
    mpi.built("mpicc", "../tracer/calls.c", &["-std=c11", "-O1", "-g"], "tracer_calls")
}

/// Runs a program with the tracer in front of further libraries.
fn traced(mpi: Mpi, words: &[&Path], ranks: usize, further: &[&str], variables: &[(&str, &str)]) -> (Output, Profile) {
    let directory = tempfile::tempdir().unwrap();
    let mut files = vec![mpi.library(LIBRARY)];
    files.extend(further.iter().map(|name| mpi.library(name)));
    let preload: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let preload = preload.join(":");
    let path = directory.path().display().to_string();
    let mut all = vec![("LD_PRELOAD", preload.as_str()), (DIRECTORY_VARIABLE, path.as_str())];
    all.extend(variables);
    let output = mpi.run(words, ranks, &all);
    let profile = gather(directory.path()).unwrap_or_else(|error| panic!("{mpi:?}: {error}\n{output:?}"));
    (output, profile)
}

/// Communicator, function, and bytes or requests of all calls together, with the number of calls on all ranks.
type Counts<'p> = BTreeMap<(&'p str, &'p str), (u64, u64)>;

fn counts(profile: &Profile) -> Counts<'_> {
    let mut counts = Counts::new();
    for calls in &profile.calls {
        let communicator = calls
            .communicator
            .map_or("", |number| profile.communicators[number].name.as_str());
        let amount = if Function::named(&calls.function).is_some_and(Function::counts_requests) {
            calls.requests
        } else {
            calls.bytes
        };
        let sum = counts.entry((communicator, &calls.function)).or_default();
        *sum = (sum.0 + calls.calls, sum.1 + amount);
        assert!(
            calls.shortest <= calls.longest && calls.longest <= calls.seconds * 1.000_001,
            "{calls:?}"
        );
    }
    counts
}

/// The calls of `calls.c` on four ranks.
fn expected() -> Counts<'static> {
    let mut all = Counts::from([
        (("world", "MPI_Allreduce"), (4 * 15, 4 * (10 * 64 + 5 * 512))),
        (("world", "MPI_Gather"), (4 * 3, 4 * 3 * 256)),
        (("world", "MPI_Bcast"), (4 * 2, 4 * (64 + 32))),
        (("world", "MPI_Barrier"), (4, 0)),
        (("world", "MPI_Comm_split"), (4, 0)),
        (("world", "MPI_Send"), (4 * 8, 4 * 700)),
        (("world", "MPI_Recv"), (4 * 7, 4 * 700)),
        (("world", "MPI_Isend"), (4 * 3, 4 * 150)),
        (("world", "MPI_Irecv"), (4 * 3, 4 * 600)),
        (("", "MPI_Waitall"), (4 * 5, 4 * 10)),
        (("", "MPI_Startall"), (4 * 2, 4 * 4)),
        (("self", "MPI_Send_init"), (4, 4 * 20)),
        (("self", "MPI_Recv_init"), (4, 4 * 20)),
        (("", "MPI_Wait"), (4, 4)),
    ]);
    for (half, twin) in [("0-2:2", "0-2:2#2"), ("1-3:2", "1-3:2#2")] {
        all.extend([
            ((half, "MPI_Barrier"), (2, 0)),
            ((half, "MPI_Comm_dup"), (2 * 4, 0)),
            ((half, "MPI_Comm_free"), (2, 0)),
            ((half, "MPI_Sendrecv"), (2, 20)),
            ((half, "MPI_Iallreduce"), (2, 128)),
            ((twin, "MPI_Bcast"), (2 * 4, 2 * 16)),
            ((twin, "MPI_Comm_free"), (2 * 4, 0)),
        ]);
    }
    all
}

fn every_call_of_a_c_program_is_counted_once() {
    for mpi in Mpi::installed() {
        let (output, profile) = traced(mpi, &[&calls(mpi)], 4, &[], &[]);
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
        assert_eq!(counts(&profile), expected(), "{mpi:?}");
        assert!(
            profile.ranks.len() == 4 && profile.ranks.iter().all(|rank| rank.finalized),
            "{mpi:?}"
        );
        let labels: Vec<&str> = profile.communicators.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(
            labels.iter().filter(|label| **label == "half").count(),
            2,
            "{mpi:?}: {labels:?}"
        );
        let world = profile.communicators.iter().find(|one| one.name == "world").unwrap();
        assert_eq!((world.ranks, world.nodes, world.ranks_per_node), (4, 1, 4), "{mpi:?}");
        matrix(&profile);
        receives(&profile);
        kinds(&profile);
    }
}

/// Messages around the ring, and within the halves.
fn matrix(profile: &Profile) {
    let sent: Vec<(u32, u32, u64, u64)> = profile
        .messages
        .iter()
        .map(|line| (line.from, line.to, line.messages, line.bytes))
        .collect();
    let mut expected = Vec::new();
    for from in 0..4 {
        expected.extend([(from, (from + 1) % 4, 10, 850), (from, (from + 2) % 4, 1, 10)]);
    }
    expected.sort_unstable();
    let mut sorted = sent.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
}

/// Receives from the one before in the ring, and from the other one of the half.
fn receives(profile: &Profile) {
    let mut received: Vec<(u32, u32, &str, u64, u64)> = profile
        .received
        .iter()
        .map(|line| (line.from, line.rank, line.function.as_str(), line.calls, line.bytes))
        .collect();
    received.sort_unstable();
    let mut expected = Vec::new();
    for from in 0..4 {
        expected.push((from, (from + 1) % 4, "MPI_Recv", 7, 700));
        expected.push((from, (from + 2) % 4, "MPI_Sendrecv", 1, 10));
    }
    expected.sort_unstable();
    // Rank 0 calls MPI_Recv at a place of its own; every rank at one.
    assert_eq!(received, expected);
    let in_calls: f64 = profile
        .calls
        .iter()
        .filter(|calls| ["MPI_Recv", "MPI_Sendrecv"].contains(&calls.function.as_str()))
        .map(|calls| calls.seconds)
        .sum();
    let by_sender: f64 = profile.received.iter().map(|line| line.seconds).sum();
    assert!(
        (in_calls - by_sender).abs() <= 1e-6 * in_calls,
        "{in_calls} {by_sender}"
    );
}

/// Operators, classes and call sites of the world's calls.
fn kinds(profile: &Profile) {
    let of = |function: &str| {
        let mut all: Vec<(&str, &str, Option<usize>)> = profile
            .calls
            .iter()
            .filter(|calls| calls.rank == 0 && calls.function == function)
            .map(|calls| (calls.datatype.as_str(), calls.operator.as_str(), calls.site))
            .collect();
        all.sort_unstable();
        all
    };
    let allreduces = of("MPI_Allreduce");
    assert_eq!(allreduces.len(), 2, "{allreduces:?}");
    assert_eq!((allreduces[0].0, allreduces[0].1), ("real", "MPI_MAX"));
    assert_eq!((allreduces[1].0, allreduces[1].1), ("real", "MPI_SUM"));
    assert!(of("MPI_Bcast").iter().any(|(datatype, ..)| *datatype == "derived"));
    if cfg!(target_arch = "x86_64") {
        let sites: Vec<usize> = allreduces.iter().filter_map(|(.., site)| *site).collect();
        assert!(sites.len() == 2 && sites[0] != sites[1], "{allreduces:?}");
        let site = &profile.sites[sites[0]];
        assert!(site.module.contains("tracer_calls") && site.offset > 0, "{site:?}");
    }
}

/// `fortran.F90` in each interface of Fortran, on each library that is there, with both in words.
fn fortran_programs() -> Vec<(String, Mpi, PathBuf)> {
    let mut programs = Vec::new();
    for mpi in [Mpi::OpenMpi, Mpi::Mpich].into_iter().filter(|mpi| mpi.is_there()) {
        for interface in ["MPIF_H", "MPI", "MPI_F08"] {
            let options = ["-fallow-argument-mismatch", &format!("-DKILTER_{interface}")];
            let program = mpi.built("mpif90", "fortran.F90", &options, &format!("fortran_{interface}"));
            programs.push((format!("{interface} on {mpi:?}"), mpi, program));
        }
    }
    programs
}

fn fortran_of_every_kind_is_counted_once() {
    for (case, mpi, program) in fortran_programs() {
        let (output, profile) = traced(mpi, &[&program], 2, &[], &[]);
        assert!(output.ok && output.stdout.ends_with("OK\n"), "{case}: {output:?}");
        let expected = Counts::from([
            (("world", "MPI_Allreduce"), (20, 20 * 64)),
            (("world", "MPI_Bcast"), (10, 10 * 64)),
            (("world", "MPI_Gather"), (6, 6 * 128)),
        ]);
        assert_eq!(counts(&profile), expected, "{case}");
    }
}

/// The program checks what it is given.
fn python_is_counted_and_traced_once() {
    const PYTHON: &str = "/usr/bin/python3";
    let import = Command::new(PYTHON).args(["-c", "import mpi4py"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        left_out(format!("{PYTHON} has no mpi4py; get it with `scripts/setup`"));
        return;
    }
    let source = crate::dropin::job::source("tests/tracer/calls.py");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display().to_string();
    let variables = [(kilter_protocol::trace::DIRECTORY_VARIABLE, path.as_str())];
    let (output, profile) = traced(Mpi::OpenMpi, &[Path::new(PYTHON), &source], 2, &[], &variables);
    assert!(output.ok && output.stdout == "OK\n", "{output:?}");
    let counts = counts(&profile);
    let trace = kilter_tracing::gather::gather(directory.path()).unwrap();
    let expected = [
        ("MPI_Allreduce", (8, 8 * 80)),
        ("MPI_Bcast", (6, 6 * 8)),
        ("MPI_Barrier", (2, 0)),
    ];
    for (function, expected) in expected {
        assert_eq!(
            counts.get(&("world", function)),
            Some(&expected),
            "{function}: {counts:?}"
        );
        let events = trace.ranks.iter().flat_map(|rank| &rank.events);
        let traced = events.filter(|event| trace.function(event) == function).count();
        assert_eq!(traced as u64, expected.0, "{function}");
    }
}

fn threads_lose_no_call() {
    for mpi in Mpi::installed() {
        let program = mpi.built("mpicc", "threads.c", &["-std=c11", "-O1", "-pthread"], "threads");
        let (output, profile) = traced(mpi, &[&program], 2, &[], &[]);
        assert!(output.ok, "{mpi:?}: {output:?}");
        if output.stdout.contains("NO THREADS") {
            left_out("this library has no MPI_THREAD_MULTIPLE");
            continue;
        }
        let of = |function: &str, ranks: u32| {
            let is = |number: Option<usize>| number.is_some_and(|number| profile.communicators[number].ranks == ranks);
            let all = profile
                .calls
                .iter()
                .filter(|calls| calls.function == function && is(calls.communicator));
            all.map(|calls| calls.calls).sum::<u64>()
        };
        // 4 threads, 25 rounds, 8 calls on 2 ranks.
        assert_eq!((of("MPI_Allreduce", 2), of("MPI_Bcast", 2)), (1600, 1600), "{mpi:?}");
        assert_eq!(of("MPI_Allreduce", 1), 200, "{mpi:?}");
    }
}

/// The algorithms' own messages are not the program's, nor is what the libraries send in `MPI_Init`.
fn the_drop_in_and_the_progress_thread_change_no_count() {
    for mpi in Mpi::installed() {
        let rules = vec![
            rule("allreduce", 4, 1..=u64::MAX, "allreduce.recursive_doubling"),
            rule("gather", 4, 1..=u64::MAX, "gather.binomial"),
        ];
        let deployed = Deployed::for_library(mpi, rules);
        let path = deployed.path.display().to_string();
        let variables = [
            ("KILTER_PROFILE", path.as_str()),
            ("KILTER_LOG", "1"),
            ("KILTER_PRIVATE_AFTER", "0"),
            ("KILTER_PROGRESS", "force"),
        ];
        for further in [
            &["libkilter.so"][..],
            &["libkilter_progress.so"],
            &["libkilter.so", "libkilter_progress.so"],
        ] {
            let (output, profile) = traced(mpi, &[&calls(mpi)], 4, further, &variables);
            let case = format!("{mpi:?}, {further:?}");
            assert!(output.ok && output.stdout == "OK\n", "{case}: {output:?}");
            assert_eq!(counts(&profile), expected(), "{case}: {}", output.stderr);
            if further.contains(&"libkilter.so") {
                // The drop-in counts the call that Pcontrol keeps from the tracer no more than the tracer does: it is a barrier.
                assert_eq!(
                    output.calls()["allreduce.recursive_doubling"],
                    15,
                    "{case}: {}",
                    output.stderr
                );
            }
            matrix(&profile);
        }
    }
}

fn a_program_that_exits_without_finalizing_leaves_its_counts() {
    let mpi = Mpi::OpenMpi;
    let (output, profile) = traced(mpi, &[&calls(mpi), Path::new("exit")], 1, &[], &[]);
    assert!(!output.ok && output.stdout == "OK\n", "{output:?}");
    assert!(!profile.ranks[0].finalized);
    assert_eq!(counts(&profile)[&("self", "MPI_Allreduce")].0, 15);
}

fn a_wrong_variable_is_named_and_the_program_runs() {
    let mpi = Mpi::OpenMpi;
    let tracer = mpi.library(LIBRARY).display().to_string();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display().to_string();
    for (variables, parts) in [
        (vec![], [DIRECTORY_VARIABLE, "kilter profile"]),
        (
            vec![(DIRECTORY_VARIABLE, path.as_str()), (MEMORY_VARIABLE, "0")],
            [MEMORY_VARIABLE, "1 to 4096"],
        ),
    ] {
        let mut all = vec![("LD_PRELOAD", tracer.as_str())];
        all.extend(variables);
        let output = mpi.run(&[&calls(mpi)], 2, &all);
        assert!(output.ok && output.stdout == "OK\n", "{output:?}");
        let said = output.lines("kilter: warning: profile: ");
        assert!(
            said.len() == 1 && parts.iter().all(|part| said[0].contains(part)),
            "{said:?}"
        );
    }
}

/// `kilter profile` in a folder.
fn kilter(folder: &Path, words: &[&str]) -> std::process::Output {
    let mut command = Command::new(program("kilter"));
    command.current_dir(folder).arg("profile").args(words);
    for name in ["KILTER_MPIRUN", "KILTER_LIBEXEC", "LD_PRELOAD"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn launch(mpi: Mpi, ranks: &'static str) -> Vec<&'static str> {
    match mpi {
        Mpi::OpenMpi => vec!["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks],
        _ => vec!["mpirun.mpich", "-n", ranks],
    }
}

fn the_command_keeps_the_status_and_shows_what_was_counted() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        if !mpi.is_there() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| {
            let output = kilter(folder.path(), words);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let program = calls(mpi);
        let program = program.to_str().unwrap();
        let mut words = vec!["--out", "p.db", "--format", "json", "--"];
        words.extend(launch(mpi, "4"));
        words.push(program);
        let (code, stdout, stderr) = run(&words);
        assert_eq!(code, Some(0), "{mpi:?}: {stderr}");
        let json = stdout.strip_prefix("OK\n").unwrap_or_else(|| panic!("{stdout}"));
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let functions = json["functions"].as_array().unwrap();
        let allreduce = functions.iter().find(|one| one["function"] == "MPI_Allreduce").unwrap();
        assert_eq!(
            (&allreduce["calls"], &allreduce["bytes"]),
            (&60.into(), &12800.into()),
            "{mpi:?}"
        );
        assert_eq!(json["sampling"]["interval"], 8, "{mpi:?}");
        assert_eq!(json["sampling"]["unmatched"], 0, "{mpi:?}");
        assert!(
            allreduce["sampled"].as_u64() >= Some(4),
            "{mpi:?}: the first call of a communicator is always sampled"
        );
        assert!(!folder.path().join("p.db.ranks").exists());

        let (code, _, stderr) = run(&words);
        assert!(code == Some(2) && stderr.contains("is there already"), "{stderr}");
        let (code, text, stderr) = run(&["show", "p.db"]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(
            text.contains("parallel efficiency") && text.contains("MPI_Allreduce"),
            "{text}"
        );
        let (_, listing, _) = run(&["show", "p.db", "--format", "listing"]);
        assert!(listing.contains("activity on process rank 3\n"), "{listing}");
        let (code, _, stderr) = run(&["show", "p.db", "--html", "profile.html"]);
        assert_eq!(code, Some(0), "{stderr}");
        let page = std::fs::read_to_string(folder.path().join("profile.html")).unwrap();
        assert!(
            page.contains("<h1>Parallel efficiency ") && page.contains("MPI_Allreduce"),
            "{mpi:?}"
        );
        let (code, _, stderr) = run(&["show", "p.db", "--mix", "mix.toml"]);
        assert_eq!(code, Some(0), "{stderr}");
        let mix = kilter_model::config::mix::Mix::load(&folder.path().join("mix.toml")).unwrap();
        // As the file has them: which of them hold too little to be tuned follows from their times.
        let counts = |function: &str| {
            let its = mix
                .on(4, None)
                .filter(|calls| calls.function == function && calls.seconds.is_some());
            its.map(|calls| (calls.bytes.1, calls.count)).collect::<Vec<_>>()
        };
        assert_eq!(counts("allreduce"), [(64, 10.0), (512, 5.0)]);
        assert_eq!(counts("gather"), [(256, 3.0)]);
    }
}

fn a_command_that_fails_or_has_nothing_to_count_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let program = calls(Mpi::OpenMpi);
    let mut words = vec!["--out", "exit.db", "--"];
    words.extend(launch(Mpi::OpenMpi, "1"));
    words.extend([program.to_str().unwrap(), "exit"]);
    let output = kilter(folder.path(), &words);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("ended without MPI_Finalize: 1 rank (0)"), "{text}");
    assert!(text.contains("the command ended with status 3"), "{text}");

    let output = kilter(folder.path(), &["--out", "true.db", "--", "true"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("no rank left its counts"),
        "{said}"
    );
    assert!(!folder.path().join("true.db").exists());
}

kilter_tests::cases![
    every_call_of_a_c_program_is_counted_once,
    fortran_of_every_kind_is_counted_once,
    python_is_counted_and_traced_once,
    threads_lose_no_call,
    the_drop_in_and_the_progress_thread_change_no_count,
    a_program_that_exits_without_finalizing_leaves_its_counts,
    a_wrong_variable_is_named_and_the_program_runs,
    the_command_keeps_the_status_and_shows_what_was_counted,
    a_command_that_fails_or_has_nothing_to_count_says_so,
];
