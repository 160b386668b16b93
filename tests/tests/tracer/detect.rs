//! Collectives written by hand in C, traced on real ranks: found as what they are, on communicators of three and four ranks, with their call sites; and a
//! halo exchange, which is none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kilter_detect::Detection;
use kilter_detect::model::finding::{Collective, Confidence, Root};
use kilter_detect::model::trace::Trace;
use kilter_profiling::places;
use kilter_protocol::trace::DIRECTORY_VARIABLE;
use kilter_tracing::detectable;
use kilter_tracing::gather::gather;

use crate::dropin::job::Mpi;

/// Bytes of a block of `by_hand.c`.
const BLOCK: u64 = 1200 * 8;

fn by_hand(mpi: Mpi) -> PathBuf {
    mpi.built(
        "mpicc",
        "../tracer/by_hand.c",
        &["-std=c11", "-O1", "-g"],
        "tracer_by_hand",
    )
}

/// The findings in a run of a pattern on seven ranks, the even and the odd ones apart.
fn detected(mpi: Mpi, pattern: &str) -> (Trace, Detection) {
    let directory = tempfile::tempdir().unwrap();
    let tracer = mpi.library("libkilter_tracer.so").display().to_string();
    let path = directory.path().display().to_string();
    let variables = [("LD_PRELOAD", tracer.as_str()), (DIRECTORY_VARIABLE, path.as_str())];
    let program = by_hand(mpi);
    let words = [program.as_path(), Path::new(pattern), Path::new("half")];
    let output = mpi.run(&words, 7, &variables);
    assert!(output.ok, "{pattern} on {mpi:?}: {output:?}");
    let mut trace =
        gather(directory.path()).unwrap_or_else(|error| panic!("{pattern} on {mpi:?}: {error}\n{output:?}"));
    places::resolve(&mut trace.sites);
    let trace = detectable::of(&trace);
    let detection = kilter_detect::detect(&trace);
    (trace, detection)
}

fn patterns_are_found_as_what_they_are_with_their_call_sites() {
    let root = Root::One(0);
    for (pattern, collective, root, bytes, function) in [
        ("bcast_linear", Collective::Broadcast, &root, BLOCK, "bcast_linear"),
        ("bcast_ring", Collective::Broadcast, &root, BLOCK, "bcast_ring"),
        ("bcast_binomial", Collective::Broadcast, &root, BLOCK, "bcast_binomial"),
        ("scatter_linear", Collective::Scatter, &root, BLOCK, "scatter_linear"),
        ("gather_linear", Collective::Gather, &root, BLOCK, "gather_linear"),
        (
            "allgather_ring",
            Collective::Allgather,
            &Root::None,
            BLOCK,
            "allgather_ring",
        ),
        (
            "alltoall_pairwise",
            Collective::Alltoall,
            &Root::None,
            BLOCK,
            "alltoall_pairwise",
        ),
        (
            "barrier_dissemination",
            Collective::Barrier,
            &Root::None,
            0,
            "barrier_dissemination",
        ),
    ] {
        // MPICH shows that nothing rests on one library.
        let mpi = if pattern == "bcast_ring" {
            Mpi::Mpich
        } else {
            Mpi::OpenMpi
        };
        let (trace, detection) = detected(mpi, pattern);
        assert_eq!(detection.findings.len(), 2, "{pattern}: {:#?}", detection.findings);
        let mut on = BTreeSet::new();
        for finding in &detection.findings {
            let communicator = &trace.communicators[finding.communicator as usize];
            on.insert(communicator.name.as_str());
            assert_eq!(finding.collective, collective, "{pattern}");
            assert_eq!(finding.ranks.len(), communicator.members.len(), "{pattern}");
            assert!(
                !finding.is_subset && finding.missing.is_empty(),
                "{pattern}: {finding:#?}"
            );
            assert_eq!(
                (&finding.root, finding.bytes, finding.instances.len()),
                (root, bytes, 6),
                "{pattern}"
            );
            assert!(finding.confidence >= Confidence::Likely, "{pattern}: {finding:#?}");
            // `to` and `from` may be inlined, and then their lines are those of the pattern.
            let functions = finding
                .sites
                .iter()
                .map(|site| trace.sites[*site as usize].function.as_str());
            let functions: BTreeSet<&str> = functions.collect();
            let of_program = [function, "to", "from"];
            assert!(
                functions.iter().all(|one| of_program.contains(one)),
                "{pattern}: {functions:?}"
            );
        }
        assert_eq!(on, BTreeSet::from(["0-6:2", "1-5:2"]), "{pattern}");
        assert_eq!(detection.doubts.data_differ, 0, "{pattern}");
    }
}

fn a_halo_exchange_is_no_collective() {
    let (_, detection) = detected(Mpi::OpenMpi, "halo");
    assert!(detection.findings.is_empty(), "{:#?}", detection.findings);
    assert!(detection.doubts.matched > 0, "{:?}", detection.doubts);
}

kilter_tests::cases![
    patterns_are_found_as_what_they_are_with_their_call_sites,
    a_halo_exchange_is_no_collective,
];
