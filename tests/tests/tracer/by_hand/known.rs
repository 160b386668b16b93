//! Errors of the detector on these patterns, with the reason.

use kilter_detect::model::finding::Collective::{self, *};

use super::Language;

/// Errors of one kind on one pattern.
pub(super) struct Errors {
    pub(super) language: Language,
    pub(super) pattern: &'static str,
    pub(super) collective: Collective,
    /// Ranks, as in `3 of 7`.
    pub(super) on: &'static [&'static str],
}

const ALL: &[&str] = &["4", "7", "4 of 7", "3 of 7"];

const fn on(on: &'static [&'static str], pattern: &'static str, collective: Collective) -> Errors {
    Errors {
        language: Language::C,
        pattern,
        collective,
        on,
    }
}

/// Collectives that are not found.
pub(super) const MISSED: &[Errors] = &[
    // The rank between two messages may only pass on the data.
    on(&["4", "4 of 7"], "bcast_most", Broadcast),
    // Chunks are told one by one. Blocks have few, and those at the borders of messages differ.
    on(&["7"], "alltoall_bruck", Alltoall),
    // Waiting for neighbours, or for a token, brings all through some time, too.
    on(ALL, "barrier_ring", Barrier),
    // Nothing shows the sum at the root, or the parts of the ranks between.
    on(ALL, "reduce_linear", Reduce),
    on(ALL, "reduce_ring", Reduce),
    on(&["3 of 7"], "reduce_binomial", Reduce),
    on(&["3 of 7"], "reduce_max", Reduce),
    on(ALL, "allreduce_linear", Allreduce),
    on(ALL, "allreduce_tree", Allreduce),
    on(ALL, "allreduce_ring", Allreduce),
    on(ALL, "scan_ring", Scan),
    on(&["3 of 7"], "scan_doubling", Scan),
];

/// Findings that are right as far as they go: a part of a collective that is missed.
pub(super) const PARTS: &[Errors] = &[
    // Three of four occurrences.
    on(&["7"], "alltoall_bruck", Alltoall),
    // The sums go to all.
    on(ALL, "allreduce_linear", Broadcast),
    on(ALL, "allreduce_tree", Broadcast),
    on(ALL, "allreduce_ring", Allgather),
    // The first of three ranks sends the others its part.
    on(&["3 of 7"], "scan_doubling", Broadcast),
];

/// Findings that are none.
pub(super) const WRONG: &[Errors] = &[
    // One of three ranks has both others as neighbours.
    on(&["3 of 7"], "halo_grid", Gather),
    on(&["3 of 7"], "halo_grid", Scatter),
];

/// A collective in words.
pub(super) fn name(collective: Collective) -> &'static str {
    match collective {
        Broadcast => "broadcast",
        Gather => "gather",
        Scatter => "scatter",
        Allgather => "allgather",
        Alltoall => "all-to-all",
        Barrier => "barrier",
        Reduce => "reduce",
        Allreduce => "allreduce",
        Scan => "scan",
    }
}
