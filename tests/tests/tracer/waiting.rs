//! Waiting and transfer of sampled collectives under ranks that come late by a known time, on one clock and on clocks that are hours apart.
//!
//! A late rank sleeps for [`LATE_MS`] before each call, so that those who wait for it do so for at least as long, less what the system makes them late
//! themselves. The bounds leave most of it for that: ranks that spin share processors. How long a transfer takes there says nothing.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_profiling::profile::{Calls, Profile};
use kilter_protocol::sampling;
use kilter_tests::left_out;

use super::traced;
use crate::dropin::job::Mpi;

const LATE_MS: f64 = 100.0;
const CALLS: u64 = 6;

/// Others may wait for so small a part of a late rank's time as one by this: ranks that spin share processors, and come late themselves.
const LEFT_FOR_OTHERS: f64 = 10.0;

/// `late.c`.
fn late(mpi: Mpi) -> PathBuf {
    mpi.built("mpicc", "../tracer/late.c", &["-std=c11", "-O1", "-g"], "tracer_late")
}

/// Runs it behind a wrapper, with one call in `interval` sampled.
fn profile(mpi: Mpi, wrapper: Option<&Path>, interval: &str) -> Profile {
    let program = late(mpi);
    let words: Vec<&Path> = wrapper.into_iter().chain([program.as_path()]).collect();
    let (output, profile) = traced(mpi, &words, 4, &[], &[(sampling::VARIABLE, interval)]);
    assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
    profile
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

/// Asserts who comes last, and who waits for it.
fn assert_waits(case: &str, profile: &Profile, (function, communicator): (&str, &str), last: u32, waiting: &[u32]) {
    let least = CALLS as f64 * LATE_MS * 1e-3 / LEFT_FOR_OTHERS;
    let late = of(profile, function, communicator, last).measured;
    let case = format!("{case}, {function} on {communicator}");
    assert_eq!(late.calls, CALLS, "{case}: every call is sampled");
    assert!(late.last > CALLS / 2, "{case}: {late:?}");
    let caused = least * waiting.len() as f64;
    assert!(late.caused > caused, "{case}: {late:?} above {caused}");
    for rank in waiting {
        let waits = of(profile, function, communicator, *rank).measured;
        assert!(
            waits.waiting > least && waits.waiting > late.waiting,
            "{case}, rank {rank}: {waits:?}"
        );
    }
}

fn assert_all(case: &str, profile: &Profile) {
    assert_eq!(
        (profile.sampling.interval, profile.sampling.unmatched),
        (1, 0),
        "{case}"
    );
    assert_waits(case, profile, ("MPI_Allreduce", "world"), 3, &[0, 1, 2]);
    assert_waits(case, profile, ("MPI_Bcast", "world"), 0, &[1, 2, 3]);
    assert_waits(case, profile, ("MPI_Reduce", "world"), 1, &[0]);
    assert_waits(case, profile, ("MPI_Allgather", "0-2:2"), 0, &[2]);
    assert_waits(case, profile, ("MPI_Allgather", "1-3:2"), 1, &[3]);
    // Ranks that are no root of a reduction leave it when their data is gone.
    let root = of(profile, "MPI_Reduce", "world", 0).measured.waiting;
    for rank in [2, 3] {
        let waits = of(profile, "MPI_Reduce", "world", rank).measured;
        assert!(
            waits.waiting < root / 2.0,
            "{case}, rank {rank}: {waits:?}, root {root}"
        );
    }
}

fn who_comes_last_is_waited_for() {
    for mpi in Mpi::installed() {
        let profile = profile(mpi, None, "1");
        assert_eq!((profile.sampling.clocks, profile.sampling.bound_ns), (1, 0), "{mpi:?}");
        assert_all(&format!("{mpi:?}"), &profile);
    }
}

fn all_ranks_sample_the_same_calls() {
    for mpi in Mpi::installed() {
        let some = profile(mpi, None, "3");
        assert_eq!((some.sampling.interval, some.sampling.unmatched), (3, 0), "{mpi:?}");
        let sampled = of(&some, "MPI_Allreduce", "world", 0).measured.calls;
        let chosen = (0..CALLS)
            .filter(|number| sampling::Choice::new(3, 0).has(*number))
            .count();
        assert_eq!(
            sampled, chosen as u64,
            "{mpi:?}: allreduces are the world's first calls"
        );
        let none = profile(mpi, None, "0");
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
        let profile = profile(mpi, Some(&wrapper), "1");
        let case = format!("{mpi:?}, three clocks");
        assert_eq!(profile.sampling.clocks, 3, "{case}");
        let bound = profile.sampling.bound_ns;
        assert!(bound > 0 && bound < (LATE_MS * 1e6) as u64 / 2, "{case}: {bound} ns");
        assert_all(&case, &profile);
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
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
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
