//! The progress thread under unmodified programs: what arrives by it, what it counts, when it rests, where it does not start, how it
//! ends.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use kilter_tests::left_out;

use crate::dropin::job::{self, Deployed, Mpi, Output, rule};

const LIBRARY: &str = "libkilter_progress.so";
const FORCED: (&str, &str) = ("KILTER_PROGRESS", "force");

fn libraries() -> impl Iterator<Item = Mpi> {
    [Mpi::OpenMpi, Mpi::Mpich].into_iter().filter(|mpi| mpi.is_there())
}

/// A program of this folder.
fn built(mpi: Mpi, file: &str) -> PathBuf {
    let include = format!("-I{}", job::source("../plugins/progress/include").display());
    let name = format!("progress_{}", file.trim_end_matches(".c"));
    mpi.built(
        "mpicc",
        &format!("../progress/{file}"),
        &["-std=c11", "-O1", &include],
        &name,
    )
}

/// Runs a program with the thread's library preloaded.
fn run(mpi: Mpi, program: &[&Path], ranks: usize, variables: &[(&str, &str)]) -> Output {
    let preload = mpi.library(LIBRARY).display().to_string();
    let mut all = vec![("LD_PRELOAD", preload.as_str())];
    all.retain(|(name, _)| variables.iter().all(|(given, _)| given != name));
    all.extend(variables);
    mpi.run(program, ranks, &all)
}

/// The lines that the thread's library said.
fn said(output: &Output) -> Vec<&str> {
    output.lines("kilter: ")
}

/// The receiver makes no call of MPI, so that nothing but the thread can have carried out the receive.
fn a_message_arrives_while_the_receiver_computes() {
    for mpi in libraries() {
        let program = built(mpi, "arrives.c");
        let with = run(mpi, &[&program, Path::new("20")], 2, &[FORCED]);
        assert!(with.ok && with.stdout == "ARRIVED\n", "{mpi:?}: {with:?}");
        let without = match mpi {
            Mpi::OpenMpi => ("LD_PRELOAD", ""),
            Mpi::Mpich | Mpi::Brought(_) => ("KILTER_PROGRESS", "off"),
        };
        let output = run(mpi, &[&program, Path::new("0.3")], 2, &[without]);
        assert!(output.ok && output.stdout == "NOT ARRIVED\n", "{mpi:?}: {output:?}");
        assert!(said(&output).is_empty(), "{}", output.stderr);
    }
}

fn every_operation_is_counted_once_and_the_thread_rests_without_any() {
    for mpi in libraries() {
        let variables = [FORCED, ("KILTER_PROGRESS_REPORT", "1")];
        let output = run(mpi, &[&built(mpi, "ways.c")], 2, &variables);
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
        let lines = said(&output);
        assert_eq!(lines.len(), 2, "{}", output.stderr);
        assert!(
            lines[0].contains("as it was forced") && lines[0].contains("MPI_THREAD_MULTIPLE"),
            "{lines:?}"
        );
        assert!(
            lines[1].starts_with("kilter: progress: rank 0: ") && lines[1].contains(" probes, awake "),
            "{lines:?}"
        );
    }
}

/// On a full node the library says so in one line, and the program runs without its thread.
fn it_does_not_start_where_no_core_is_free() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let full = cores.div_ceil(2).to_string();
    let mpi = Mpi::OpenMpi;
    let program = built(mpi, "arrives.c");
    let variables = [("OMP_NUM_THREADS", full.as_str()), ("KILTER_TEST_LEVEL", "1")];
    let output = run(mpi, &[&program, Path::new("0.1")], 2, &variables);
    assert!(output.ok && output.stdout == "NOT ARRIVED\n", "{output:?}");
    assert!(output.stderr.contains("NOT RAISED\n"), "{}", output.stderr);
    let lines = said(&output);
    assert_eq!(lines.len(), 1, "{}", output.stderr);
    assert!(
        lines[0].starts_with("kilter: progress: no core is free for it: 2 ranks ")
            && lines[0].contains(&format!(" on {cores} cores"))
            && lines[0].contains("KILTER_PROGRESS=force"),
        "{lines:?}"
    );
}

fn with_a_free_core_it_is_bound_there() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        left_out("one core alone");
        return;
    }
    let mpi = Mpi::OpenMpi;
    let program = built(mpi, "endings.c");
    let variables = [("KILTER_PROGRESS_REPORT", "all")];
    let output = run(mpi, &[&program], 1, &variables);
    assert!(output.ok && output.stdout.ends_with("OK\n"), "{output:?}");
    let lines = said(&output);
    assert_eq!(lines.len(), 2, "{}", output.stderr);
    assert!(lines[0].contains(", bound to CPU "), "{lines:?}");
    let probes = lines[1].split(", ").find_map(|part| part.strip_suffix(" probes"));
    assert!(probes.unwrap().parse::<u64>().unwrap() > 0, "{lines:?}");
    // A core that this machine does not have.
    let output = run(mpi, &[&program], 1, &[("KILTER_PROGRESS_CPU", "1023")]);
    assert!(output.ok && output.stdout.ends_with("OK\n"), "{output:?}");
    let lines = said(&output);
    assert!(
        lines.len() == 1 && lines[0].contains("no thread on CPU 1023") && lines[0].starts_with("kilter: warning: "),
        "{lines:?}"
    );
}

/// The first and the last CPU that this process may run on, as the kernel lists them: `0-1`, `2,5-7`.
fn outermost_cpus() -> [String; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap()
        .trim();
    let mut numbers = list.split([',', '-']);
    let first = numbers.next().unwrap();
    [first.to_owned(), numbers.next_back().unwrap_or(first).to_owned()]
}

fn on_a_core_that_is_named_it_runs_there() {
    let [first, last] = outermost_cpus();
    if first == last {
        left_out("one core alone");
        return;
    }
    let mpi = Mpi::OpenMpi;
    let program = built(mpi, "endings.c");
    // The launcher may have given the first one to the rank, so that it has to be forced there; the last one is free for it.
    for (cpu, mode) in [(&last, "on"), (&first, "force")] {
        let variables = [("KILTER_PROGRESS_CPU", cpu.as_str()), ("KILTER_PROGRESS", mode)];
        let output = run(mpi, &[&program, Path::new("where")], 1, &variables);
        assert!(output.ok, "{output:?}");
        // Alone, and by the kernel's account.
        let bound = format!("CPUS {cpu}\n");
        assert!(output.stdout.starts_with(&bound), "{mode} on {cpu}: {output:?}");
        let lines = said(&output);
        assert!(
            lines.len() == 1 && lines[0].contains(&format!(", bound to CPU {cpu};")),
            "{lines:?}"
        );
    }
}

/// The progress library reports a fault once, and the program runs as if the library were not there.
fn what_is_wrong_is_said_once() {
    let mpi = Mpi::OpenMpi;
    let program = built(mpi, "endings.c");
    let options = ["-std=c11", "-shared", "-fPIC"];
    let faulty = mpi.built("mpicc", "../progress/faulty.c", &options, "progress_faulty");
    let preload = format!("{}:{}", mpi.library(LIBRARY).display(), faulty.display());
    let cases: [(&[(&str, &str)], &str); 3] = [
        (
            &[("KILTER_PROGRESS", "maybe")],
            "KILTER_PROGRESS is `maybe`; allowed: on, off, force",
        ),
        (&[FORCED, ("FAULT", "level")], "does not provide MPI_THREAD_MULTIPLE"),
        (&[FORCED, ("FAULT", "test")], "PMPI_Test failed"),
    ];
    for (variables, words) in cases {
        let mut variables = variables.to_vec();
        variables.push(("LD_PRELOAD", &preload));
        let output = run(mpi, &[&program], 1, &variables);
        assert!(output.ok && output.stdout.ends_with("OK\n"), "{words}: {output:?}");
        let warnings = output.lines("kilter: warning: ");
        assert!(
            warnings.len() == 1 && warnings[0].contains(words),
            "{words}: {}",
            output.stderr
        );
    }
}

fn a_program_may_end_in_any_way() {
    for mpi in libraries() {
        let program = built(mpi, "endings.c");
        for (ending, ok, stdout) in [
            ("finalize", true, "CHILD 0\nCHILD 0\nOK\n"),
            ("abort", false, ""),
            ("exit", false, ""),
        ] {
            // Open MPI's launcher takes seconds for it.
            if mpi == Mpi::OpenMpi && ending == "exit" {
                continue;
            }
            let begin = Instant::now();
            let output = run(mpi, &[&program, Path::new(ending)], 1, &[FORCED]);
            assert!(
                output.ok == ok && output.stdout == stdout,
                "{ending} on {mpi:?}: {output:?}"
            );
            assert!(
                !output.stderr.contains("Segmentation"),
                "{ending} on {mpi:?}: {output:?}"
            );
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "{ending} on {mpi:?} took long"
            );
        }
    }
}

/// Names of the dynamic symbols that a file defines.
fn exports(file: &Path) -> BTreeSet<String> {
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .filter_map(|line| line.split(' ').nth(2))
        .map(str::to_owned)
        .collect()
}

/// Functions that a new release of a library adds must not be forgotten.
fn no_function_that_begins_or_completes_an_operation_is_missing() {
    // Excluded: functions whose names only look alike, functions that are left alone on purpose, and queries.
    let others = [
        "Improbe",
        "Intercomm_",
        "Info_",
        "Init",
        "Iprobe",
        "Is_thread_main",
        "Test_cancelled",
    ];
    for mpi in libraries() {
        let own = mpi.library(LIBRARY);
        let ours = exports(&own);
        let needed = Command::new("ldd").arg(&own).output().unwrap();
        let needed = String::from_utf8(needed.stdout).unwrap();
        let library = needed
            .lines()
            .find_map(|line| line.trim().strip_prefix("libmpi")?.split(' ').nth(2))
            .unwrap();
        let (mut missing, mut found) = (Vec::new(), 0);
        for name in exports(Path::new(library)) {
            let Some(function) = name.strip_prefix("PMPI_").or(name.strip_prefix("MPI_")) else {
                continue;
            };
            let concerns = ["I", "Wait", "Test", "Start"]
                .iter()
                .any(|begin| function.starts_with(begin));
            if concerns && !others.iter().any(|other| function.starts_with(other)) {
                found += 1;
                missing.extend((!ours.contains(&name)).then_some(name));
            }
        }
        assert!(found > 70 && missing.is_empty(), "{mpi:?}: {missing:?} of {found}");
    }
}

fn fortran_is_counted() {
    for mpi in libraries() {
        // Open MPI's interfaces all call `PMPI_X` of C, MPICH's newest calls `MPI_X` and `PMPI_X`.
        let interface = if mpi == Mpi::OpenMpi { "MPIF_H" } else { "MPI_F08" };
        let option = format!("-DKILTER_{interface}");
        let name = format!("progress_fortran_{interface}");
        let program = mpi.built("mpif90", "../progress/fortran.F90", &[&option], &name);
        let output = run(mpi, &[&program], 2, &[FORCED, ("KILTER_PROGRESS_REPORT", "all")]);
        assert!(output.ok && output.stdout == "OK\n", "{output:?}");
        for rank in 0..2 {
            let begin = format!("kilter: progress: rank {rank}: 17 operations, ");
            assert_eq!(output.lines(&begin).len(), 1, "{mpi:?}: {}", output.stderr);
        }
    }
}

fn beside_the_drop_in_both_do_their_work() {
    let mpi = Mpi::OpenMpi;
    let (progress, dropin) = (mpi.library(LIBRARY), mpi.library("libkilter.so"));
    let (progress, dropin) = (progress.display(), dropin.display());
    // Barriers, which the program makes between its operations.
    let deployed = Deployed::for_library(mpi, vec![rule("barrier", 2, 0..=u64::MAX, "barrier.dissemination")]);
    for preload in [format!("{progress}:{dropin}"), format!("{dropin}:{progress}")] {
        let variables = [FORCED, ("LD_PRELOAD", preload.as_str())];
        let output = deployed.run(mpi, &[&built(mpi, "ways.c"), Path::new("counts")], 2, &variables);
        assert!(output.ok && output.stdout == "OK\n", "{preload}: {output:?}");
        assert!(
            output.calls()["barrier.dissemination"] > 8,
            "{preload}: {}",
            output.stderr
        );
    }
}

/// Ranks that have not loaded it could never answer.
fn ranks_without_it_are_named_and_not_waited_for() {
    for mpi in libraries() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("start.sh");
        let text = format!(
            "#!/bin/sh\n[ \"${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}\" = 1 ] && unset LD_PRELOAD\nexec {} 0.3\n",
            built(mpi, "arrives.c").display()
        );
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let output = run(mpi, &[&script], 2, &[FORCED, ("KILTER_INIT_WAIT", "1")]);
        assert!(output.ok && output.stdout == "NOT ARRIVED\n", "{mpi:?}: {output:?}");
        let lines = said(&output);
        assert!(
            lines.len() == 1 && lines[0].contains("rank 1 did not load libkilter_progress.so"),
            "{lines:?}"
        );
    }
}

kilter_tests::cases![
    a_message_arrives_while_the_receiver_computes,
    every_operation_is_counted_once_and_the_thread_rests_without_any,
    it_does_not_start_where_no_core_is_free,
    with_a_free_core_it_is_bound_there,
    on_a_core_that_is_named_it_runs_there,
    what_is_wrong_is_said_once,
    a_program_may_end_in_any_way,
    no_function_that_begins_or_completes_an_operation_is_missing,
    fortran_is_counted,
    beside_the_drop_in_both_do_their_work,
    ranks_without_it_are_named_and_not_waited_for,
];
