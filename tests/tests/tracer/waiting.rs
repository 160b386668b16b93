//! Waiting and transfer of sampled collectives under ranks that come late by a known time, on one clock and on clocks that are hours apart.
//!
//! A late rank sleeps for 30 ms before each call. How long the others then wait is also a matter of who else uses the processors. So the program
//! itself keeps when its ranks began and ended each call, and what the tracer says is held against that.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_profiling::profile::{Calls, Profile};
use kilter_protocol::sampling;
use kilter_tests::left_out;

use super::traced;
use crate::dropin::job::{Mpi, Output};

const CALLS: u64 = 6;

/// Seconds by which the tracer's sum may differ from the program's, and the part of it: between the two readings of a clock the system may take the
/// processor, and clocks of several hosts are one but for the time of a message.
const APART_SECONDS: f64 = 0.02;
const APART_PART: f64 = 0.02;

/// Clocks of hosts that are hours apart are compared to within this, whoever else uses the processors.
const MOST_BOUND_NS: u64 = 50_000_000;

/// `late.c`.
fn late(mpi: Mpi) -> PathBuf {
    mpi.built("mpicc", "../tracer/late.c", &["-std=c11", "-O1", "-g"], "tracer_late")
}

/// The program's word on a function's calls on a rank: seconds of waiting, and the number of calls to which it came last.
type Said = BTreeMap<(String, u32), (f64, u64)>;

fn said(output: &Output) -> Said {
    let lines = output.stdout.strip_prefix("OK\n").unwrap_or_default().lines();
    let one = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [function, rank, "waiting", seconds, "last", last] = words[..] else {
            panic!("{line}");
        };
        let key = (function.to_owned(), rank.parse().unwrap());
        (key, (seconds.parse().unwrap(), last.parse().unwrap()))
    };
    lines.map(one).collect()
}

/// Runs it behind a wrapper, with one call in `interval` sampled.
fn profile(mpi: Mpi, wrapper: Option<&Path>, interval: &str) -> (Said, Profile) {
    let program = late(mpi);
    let words: Vec<&Path> = wrapper.into_iter().chain([program.as_path()]).collect();
    let (output, profile) = traced(mpi, &words, 4, &[], &[(sampling::VARIABLE, interval)]);
    assert!(output.ok && output.stdout.starts_with("OK\n"), "{mpi:?}: {output:?}");
    (said(&output), profile)
}

/// Calls of a function on a communicator by a rank.
fn of<'p>(profile: &'p Profile, function: &str, communicator: &str, rank: u32) -> &'p Calls {
    let is = |calls: &&Calls| {
        let on = calls
            .communicator
            .map(|number| profile.communicators[number].name.as_str());
        calls.rank == rank && calls.function == function && on == Some(communicator)
    };
    let found = profile.calls.iter().find(is);
    found.unwrap_or_else(|| panic!("no {function} of rank {rank} on {communicator}"))
}

/// Runs in which the system may have taken a processor between the readings of the tracer and of the program: one of them has to agree in all calls.
const RUNS: usize = 3;

/// Asserts that tracer and program agree in one of a few runs.
fn assert_agrees(case: &str, run: &dyn Fn() -> (Said, Profile)) {
    let differs: Vec<String> = (0..RUNS).map_while(|_| agree(case, &run()).err()).collect();
    assert!(differs.len() < RUNS, "{differs:#?}");
}

/// Compares the tracer's word with the program's; an error where times differ, which says how.
fn agree(case: &str, (said, profile): &(Said, Profile)) -> Result<(), String> {
    assert_eq!(
        (profile.sampling.interval, profile.sampling.unmatched),
        (1, 0),
        "{case}"
    );
    assert_eq!(said.len(), 16, "{case}: {said:?}");
    let of_clocks = CALLS as f64 * profile.sampling.bound_ns as f64 * 1e-9;
    for ((function, rank), (waiting, last)) in said {
        let communicator = match (function.as_str(), rank % 2) {
            ("MPI_Allgather", 0) => "0-2:2",
            ("MPI_Allgather", _) => "1-3:2",
            _ => "world",
        };
        let measured = of(profile, function, communicator, *rank).measured;
        let case = format!(
            "{case}, {function}, rank {rank}: {measured:?}, the program waited {waiting} s and came last {last} times"
        );
        assert_eq!(measured.calls, CALLS, "{case}: every call is sampled");
        let apart = (measured.waiting - waiting).abs();
        // The last rank is not known where it is last by less than the clocks are apart.
        let is_last = of_clocks > 0.0 || measured.last == *last;
        if apart >= of_clocks + APART_SECONDS + APART_PART * waiting || !is_last {
            return Err(case);
        }
    }
    // The rank that comes last is the one that causes the waiting.
    let all = profile.calls.iter().map(|calls| calls.measured);
    let (caused, waited) = all.fold((0.0, 0.0), |sums, one| (sums.0 + one.caused, sums.1 + one.waiting));
    assert!(
        caused > 0.0 && caused < waited + APART_SECONDS,
        "{case}: {caused} of {waited}"
    );
    Ok(())
}

fn who_comes_last_is_waited_for() {
    for mpi in Mpi::installed() {
        assert_agrees(&format!("{mpi:?}"), &|| {
            let profile = profile(mpi, None, "1");
            let sampling = &profile.1.sampling;
            assert_eq!((sampling.clocks, sampling.bound_ns), (1, 0), "{mpi:?}");
            profile
        });
    }
}

fn all_ranks_sample_the_same_calls() {
    for mpi in Mpi::installed() {
        let (_, some) = profile(mpi, None, "3");
        assert_eq!((some.sampling.interval, some.sampling.unmatched), (3, 0), "{mpi:?}");
        let sampled = of(&some, "MPI_Allreduce", "world", 0).measured.calls;
        let chosen = (0..CALLS)
            .filter(|number| sampling::Choice::new(3, 0).has(*number))
            .count();
        assert_eq!(
            sampled, chosen as u64,
            "{mpi:?}: allreduces are the world's first calls"
        );
        let (_, none) = profile(mpi, None, "0");
        assert_eq!(none.sampling.interval, 0, "{mpi:?}");
        assert!(none.calls.iter().all(|calls| calls.measured.calls == 0), "{mpi:?}");
    }
}

/// A program that starts a rank: ranks 2 and 3 get namespaces of times of their own, whose clocks are 2000 and 3000 seconds ahead: other hosts to the
/// tracer. None where that cannot be had, which is said.
pub(super) fn three_clocks(folder: &Path) -> Option<PathBuf> {
    const UNSHARE: &str = "unshare --time --fork --kill-child --monotonic";
    let tried = Command::new("sh")
        .args(["-c", &format!("{UNSHARE} 1000 true")])
        .output();
    if !tried.is_ok_and(|output| output.status.success()) {
        left_out("no namespaces of times here: `unshare --time` of util-linux needs root and Linux 5.6");
        return None;
    }
    let wrapper = folder.join("clocks");
    let script = format!(
        "#!/bin/sh\nrank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\nif [ \"$rank\" -ge 2 ]; then exec {UNSHARE} \"${{rank}}000\" \"$@\"; fi\nexec \"$@\"\n"
    );
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    Some(wrapper)
}

fn clocks_that_differ_are_made_one() {
    let folder = tempfile::tempdir().unwrap();
    let Some(wrapper) = three_clocks(folder.path()) else {
        return;
    };
    for mpi in [Mpi::OpenMpi, Mpi::Mpich].into_iter().filter(|mpi| mpi.is_there()) {
        let case = format!("{mpi:?}, three clocks");
        assert_agrees(&case, &|| {
            let profile = profile(mpi, Some(&wrapper), "1");
            let sampling = &profile.1.sampling;
            assert_eq!(sampling.clocks, 3, "{case}");
            let bound = sampling.bound_ns;
            assert!(bound > 0 && bound < MOST_BOUND_NS, "{case}: {bound} ns");
            profile
        });
    }
}

/// Rank 3 runs without the tracer, as in another program of the same command.
fn ranks_without_the_tracer_are_named_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let wrapper = folder.path().join("without");
    let script = "#!/bin/sh\nrank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\nif [ \"$rank\" = 3 ]; then unset LD_PRELOAD; fi\nexec \"$@\"\n";
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    for mpi in [Mpi::OpenMpi, Mpi::Mpich].into_iter().filter(|mpi| mpi.is_there()) {
        let program = late(mpi);
        let variables = [(sampling::VARIABLE, "1"), ("KILTER_INIT_WAIT", "2")];
        let (output, profile) = traced(mpi, &[&wrapper, &program], 4, &[], &variables);
        assert!(output.ok && output.stdout.starts_with("OK\n"), "{mpi:?}: {output:?}");
        let named = "rank 3 did not load libkilter_tracer.so, or came too late";
        assert!(output.stderr.contains(named), "{mpi:?}: {output:?}");
        let calls = of(&profile, "MPI_Allreduce", "world", 0);
        assert_eq!((calls.calls, calls.measured.calls), (CALLS, 0), "{mpi:?}");
        assert_eq!(profile.ranks.len(), 3, "{mpi:?}");
    }
}

kilter_tests::cases![
    who_comes_last_is_waited_for,
    ranks_without_the_tracer_are_named_and_not_waited_for,
    all_ranks_sample_the_same_calls,
    clocks_that_differ_are_made_one,
];
