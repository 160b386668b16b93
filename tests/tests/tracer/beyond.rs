//! The tracer under one-sided communication, files and persistent collectives: what is counted on which communicator, and what a trace has of it.

use std::collections::BTreeMap;

use super::trace::traced_with;
use super::{Counts, counts, traced};
use crate::dropin::job::Mpi;

fn program(mpi: Mpi) -> std::path::PathBuf {
    mpi.built(
        "mpicc",
        "../tracer/beyond.c",
        &["-std=c11", "-O1", "-g"],
        "tracer_beyond",
    )
}

/// The calls of `beyond.c` on four ranks.
fn expected(persistent: bool) -> Counts<'static> {
    let mut all = Counts::from([
        (("world", "MPI_Comm_split"), (4, 0)),
        (("world", "MPI_Barrier"), (4 * 3, 0)),
        (("world", "MPI_File_open"), (4, 0)),
        (("world", "MPI_File_set_size"), (4, 0)),
        (("world", "MPI_File_write_at_all"), (4, 4 * 32)),
        (("world", "MPI_File_sync"), (4, 0)),
        (("world", "MPI_File_read_at"), (4 * 2, 4 * (48 + 16))),
        (("world", "MPI_File_iwrite_at"), (4, 4 * 8)),
        (("world", "MPI_File_close"), (4, 0)),
        (("", "MPI_Wait"), (4, 4)),
    ]);
    for (communicator, ranks) in [("world", 4), ("0-1", 2), ("2-3", 2)] {
        for (function, calls, bytes) in [
            ("MPI_Win_allocate", 1, 0),
            ("MPI_Win_fence", 3, 0),
            ("MPI_Put", 1, 32),
            ("MPI_Win_lock", 3, 0),
            ("MPI_Get", 3, 3 * 16),
            ("MPI_Win_flush", 3, 0),
            ("MPI_Accumulate", 3, 3 * 8),
            ("MPI_Win_unlock", 3, 0),
            ("MPI_Win_lock_all", 1, 0),
            ("MPI_Fetch_and_op", 1, 8),
            ("MPI_Win_flush_all", 1, 0),
            ("MPI_Win_unlock_all", 1, 0),
            ("MPI_Win_free", 1, 0),
        ] {
            all.insert((communicator, function), (ranks * calls, ranks * bytes));
        }
        if communicator != "world" {
            all.insert((communicator, "MPI_Comm_free"), (ranks, 0));
            if persistent {
                all.insert((communicator, "MPI_Allreduce_init"), (ranks, ranks * 64));
            }
        }
    }
    if persistent {
        all.insert(("", "MPI_Start"), (4 * 3, 4 * 3));
        all.insert(("", "MPI_Wait"), (4 * 4, 4 * 4));
    }
    all
}

fn windows_files_and_persistent_collectives_are_counted_on_their_communicators() {
    for mpi in Mpi::installed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let (output, profile) = traced(mpi, &[&program(mpi), &file], 4, &[], &[]);
        assert!(output.ok && output.stdout.ends_with("OK\n"), "{mpi:?}: {output:?}");
        let persistent = output.stdout.contains("PERSISTENT");
        assert_eq!(counts(&profile), expected(persistent), "{mpi:?}");
        for calls in &profile.calls {
            match calls.function.as_str() {
                "MPI_Put" => assert_eq!(calls.datatype, "integer", "{mpi:?}"),
                "MPI_Accumulate" => assert_eq!(calls.operator, "MPI_SUM", "{mpi:?}"),
                _ => {}
            }
        }
        assert!(
            profile.messages.is_empty(),
            "an access is no message: {:?}",
            profile.messages
        );
    }
}

/// Every call is an event of its rank, on the same communicator; completions end none of the operations that are not followed.
fn a_trace_has_these_calls_as_events() {
    for mpi in Mpi::installed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let (output, trace) = traced_with(mpi, &[&program(mpi), &file], 4, &[], &[]);
        assert!(output.ok && output.stdout.ends_with("OK\n"), "{mpi:?}: {output:?}");
        let mut calls: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for event in trace.ranks.iter().flat_map(|rank| &rank.events) {
            let on = event
                .communicator
                .map_or("", |at| trace.communicators[at].name.as_str());
            *calls.entry((on, trace.function(event))).or_default() += 1;
            let followed = event.parts.iter().any(|part| part.plain.bytes > 0);
            assert!(!followed, "{mpi:?}: {event:?}");
        }
        let persistent = output.stdout.contains("PERSISTENT");
        let expected = expected(persistent).into_iter().map(|(key, (calls, _))| (key, calls));
        let mut expected: BTreeMap<(&str, &str), u64> = expected.collect();
        if persistent {
            // Traced alone.
            expected.insert(("", "MPI_Request_free"), 4);
        }
        assert_eq!(calls, expected, "{mpi:?}");
    }
}

kilter_tests::cases![
    windows_files_and_persistent_collectives_are_counted_on_their_communicators,
    a_trace_has_these_calls_as_events,
];
