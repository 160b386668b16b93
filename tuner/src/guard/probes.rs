//! The calls that are timed every night: a fixed few, those that an application makes most, and what was deployed with its bounds.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::options::Options;
use kilter_model::plan::Subject;

use super::tuned::Tuned;

/// The fixed ones: volume in bytes. Small, middling and large messages; trees, exchanges and all-to-all traffic.
const PROBES: [(Collective, u64); 8] = [
    (Collective::Barrier, 0),
    (Collective::Bcast, 8),
    (Collective::Bcast, 1 << 20),
    (Collective::Allreduce, 8),
    (Collective::Allreduce, 256 << 10),
    (Collective::Reduce, 4 << 10),
    (Collective::Allgather, 64 << 10),
    (Collective::Alltoall, 8 << 10),
];

/// Most calls of an application.
const MOST_CALLED: usize = 6;

/// Everything that is timed.
#[must_use]
pub(super) fn watched(options: &Options, tuned: &Tuned) -> BTreeSet<Subject> {
    let place = options.place();
    let library = |(collective, bytes): (Collective, u64)| {
        // A barrier has no volume.
        let bytes = if bytes == 0 { 0 } else { place.volume(collective, bytes) };
        Subject::library(collective, bytes)
    };
    let fixed = tuned.fixed.iter();
    let deployed = fixed.flat_map(|fixed| [fixed.left.clone(), fixed.right.clone()]);
    PROBES
        .into_iter()
        .map(library)
        .chain(most_called(options).into_iter().map(library))
        .chain(tuned.run_by_dropin().map(library))
        .chain(deployed)
        .collect()
}

/// The calls that an application makes most often, by its call mix.
fn most_called(options: &Options) -> Vec<(Collective, u64)> {
    let Some(mix) = &options.mix else { return Vec::new() };
    let nodes = options.layout.map(|layout| layout.nodes);
    let mut counts: BTreeMap<(Collective, u64), f64> = BTreeMap::new();
    for calls in mix.on(options.ranks, nodes) {
        if let Ok(collective) = calls.function.parse::<Collective>() {
            *counts.entry((collective, calls.bytes.1)).or_default() += calls.count;
        }
    }
    let mut all: Vec<((Collective, u64), f64)> = counts.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all.into_iter().take(MOST_CALLED).map(|(cell, _)| cell).collect()
}
