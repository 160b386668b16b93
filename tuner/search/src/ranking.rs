//! Ranks candidates for the walk along their ordered knobs and for a final. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::deployment::Selection;
use kilter_model::report::FixKind;

use crate::space;

/// Families of each kind whose knobs are walked at most.
const REFINED: usize = 2;
/// A candidate that takes so many times as long as the best of its kind is not refined: segments of the wrong length cost about as
/// much as that, and no more.
const REFINABLE: f64 = 2.5;

/// Candidates by their time over the default's, fastest first.
#[must_use]
pub fn ranked(ratios: &BTreeMap<Selection, f64>) -> Vec<(Selection, f64)> {
    let mut ranked: Vec<(Selection, f64)> = ratios
        .iter()
        .filter(|(_, ratio)| ratio.is_finite())
        .map(|(selection, ratio)| (selection.clone(), *ratio))
        .collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    ranked
}

/// The fastest `number` of each kind, families apart.
#[must_use]
pub fn best_of_kinds(ranked: &[(Selection, f64)], number: usize) -> Vec<Selection> {
    let mut front: Vec<Selection> = Vec::new();
    for kind in [FixKind::Parameter, FixKind::Mockup, FixKind::Algorithm] {
        let mut families = Vec::new();
        for (selection, _) in ranked.iter().filter(|(selection, _)| selection.kind() == kind) {
            let family = space::family(selection);
            if families.len() < number && !families.contains(&family) {
                families.push(family);
                front.push(selection.clone());
            }
        }
    }
    front
}

/// The candidates of a kind whose knobs are walked, each family once and with its best values so far. A candidate without knobs takes no place.
#[must_use]
pub fn to_refine(
    ratios: &BTreeMap<Selection, f64>,
    kind: FixKind,
    has_knobs: &dyn Fn(&Selection) -> bool,
) -> Vec<(Selection, f64)> {
    let mut best = ranked(ratios);
    best.retain(|(selection, _)| selection.kind() == kind);
    let limit = best.first().map_or(0.0, |(_, ratio)| REFINABLE * ratio);
    let mut families = BTreeSet::new();
    best.retain(|(selection, ratio)| {
        *ratio <= limit && has_knobs(selection) && families.insert(space::family(selection))
    });
    best.truncate(REFINED);
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, segment: &[u64]) -> Selection {
        Selection::Algorithm(id.to_owned(), segment.to_vec())
    }

    /// Reduce of 8 MiB on MPICH over eight hosts: two rows without knobs came first in the screening, and the chain, whose segments
    /// were too short, is the best of all once they are not.
    #[test]
    fn what_has_no_knobs_takes_nobodys_place() {
        let chain = |bytes| row("reduce.pipelined_chain", &[bytes]);
        let ratios = BTreeMap::from([
            (row("reduce.ring", &[]), 0.76),
            (row("reduce.direct", &[]), 0.78),
            (row("reduce.binary", &[16384]), 0.90),
            (chain(65536), 0.94),
            (chain(16384), 0.95),
            (row("reduce.two_tree", &[16384]), 1.75),
            (row("reduce.hopeless", &[16384]), 2.0),
            (Selection::Mockup("reduce.as_allreduce".to_owned(), Vec::new()), 0.1),
        ]);
        let has_knobs = |one: &Selection| matches!(one, Selection::Algorithm(_, values) if !values.is_empty());
        let refined = to_refine(&ratios, FixKind::Algorithm, &has_knobs);
        assert_eq!(refined, [(row("reduce.binary", &[16384]), 0.90), (chain(65536), 0.94)]);
        let best = |number| best_of_kinds(&ranked(&ratios), number);
        assert_eq!(
            best(1),
            [
                Selection::Mockup("reduce.as_allreduce".to_owned(), Vec::new()),
                row("reduce.ring", &[])
            ]
        );
        assert_eq!(to_refine(&BTreeMap::new(), FixKind::Algorithm, &has_knobs), []);
    }

    #[test]
    fn what_is_far_behind_is_not_refined() {
        let ratios = BTreeMap::from([(row("a", &[1]), 0.1), (row("b", &[1]), 0.26)]);
        let refined = to_refine(&ratios, FixKind::Algorithm, &|_| true);
        assert_eq!(refined, [(row("a", &[1]), 0.1)]);
    }
}
