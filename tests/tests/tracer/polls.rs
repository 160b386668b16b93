//! Polls are counted one by one, whatever they ask for and find, though few of them are timed.

use std::path::Path;

use kilter_tests::left_out;

use super::{counts, traced};
use crate::dropin::job::Mpi;

/// Runs `polls.c` on two ranks, and compares what it says of its calls with what was counted.
fn polled(mpi: Mpi, arguments: &[&Path]) {
    let program = mpi.built(
        "mpicc",
        "../tracer/polls.c",
        &["-std=c11", "-O1", "-pthread"],
        "tracer_polls",
    );
    let mut words = vec![program.as_path()];
    words.extend(arguments);
    let (output, profile) = traced(mpi, &words, 2, &[], &[]);
    let case = format!("{mpi:?} {arguments:?}");
    if output.stdout.contains("NO THREADS") {
        left_out("this library has no MPI_THREAD_MULTIPLE");
        return;
    }
    assert!(output.ok && output.stdout.ends_with("OK\n"), "{case}: {output:?}");
    let said: Vec<(u64, u64)> = output
        .stdout
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(calls, requests)| (calls.parse().unwrap(), requests.parse().unwrap()))
        .collect();
    let [test, testany, world, own, lonely, twin, failed] = said[..] else {
        panic!("{case}: {output:?}");
    };
    let counts = counts(&profile);
    let of = |communicator, function| counts.get(&(communicator, function)).copied().unwrap_or_default();
    assert_eq!(of("", "MPI_Test"), test, "{case}");
    for function in ["MPI_Testany", "MPI_Testall", "MPI_Testsome"] {
        assert_eq!(of("", function), testany, "{case} {function}");
    }
    for function in ["MPI_Iprobe", "MPI_Improbe"] {
        assert_eq!(of("world", function), world, "{case} {function}");
        // A communicator of one rank has the name of the rank's own.
        assert_eq!(of("self", function), (own.0 + lonely.0, 0), "{case} {function}");
        assert_eq!(of("world#2", function), twin, "{case} {function}: {counts:?}");
    }
    let missing = profile.ranks.iter().map(|rank| rank.missing.failed_calls);
    assert_eq!(missing.sum::<u64>(), failed.0, "{case}");
}

fn polls_are_counted_one_by_one() {
    for mpi in Mpi::installed() {
        polled(mpi, &[]);
    }
}

fn polls_of_threads_are_counted_one_by_one() {
    polled(Mpi::OpenMpi, &[Path::new("threads")]);
}

kilter_tests::cases![polls_are_counted_one_by_one, polls_of_threads_are_counted_one_by_one];
