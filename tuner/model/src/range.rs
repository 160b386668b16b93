//! Range of message sizes for which a decision made at one measured volume is deployed.

use std::collections::BTreeMap;

use crate::plan::Plan;

/// Range of volumes for which the measured volume `bytes` stands: up to the geometric mean with its measured
/// neighbours. It never goes beyond the smallest and largest measured volume, because nothing is known there. Both ends
/// are inclusive.
#[must_use]
pub fn around(volumes: &[u64], bytes: u64) -> (u64, u64) {
    let below = volumes.iter().copied().filter(|volume| *volume < bytes).max();
    let above = volumes.iter().copied().filter(|volume| *volume > bytes).min();
    let middle = |a: u64, b: u64| (a as f64 * b as f64).sqrt().floor() as u64;
    let low = below.map_or(bytes, |volume| middle(volume, bytes) + 1);
    let high = above.map_or(bytes, |volume| middle(bytes, volume));
    (low.min(bytes), high.max(bytes))
}

/// Volumes at which the plan has calls that combine data. Each comes with the volumes for which a decision there is
/// deployed: itself, and the ends of its range.
#[must_use]
pub fn combining_volumes(plan: &Plan) -> Vec<(u64, Vec<u64>)> {
    let mut at: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let subjects = plan.library_subjects();
    let combining = subjects
        .iter()
        .filter_map(|subject| Some((subject.collective()?, subject.bytes)));
    for (collective, bytes) in combining.filter(|(collective, _)| collective.has_operator()) {
        let (low, high) = around(&plan.volumes_of(collective), bytes);
        let volumes = at.entry(bytes).or_default();
        volumes.extend([low, bytes, high]);
        volumes.sort_unstable();
        volumes.dedup();
    }
    at.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_meet_at_the_geometric_mean_without_gap_or_overlap() {
        let volumes = [8, 1024, 32768, 262_144];
        assert_eq!(around(&volumes, 8), (8, 90));
        assert_eq!(around(&volumes, 1024), (91, 5792));
        assert_eq!(around(&volumes, 32768), (5793, 92681));
        assert_eq!(around(&volumes, 262_144), (92682, 262_144));
    }

    #[test]
    fn adjacent_integers_keep_their_own_volume() {
        assert_eq!(around(&[1, 2, 3], 2), (2, 2));
        assert_eq!(around(&[5], 5), (5, 5));
    }
}
