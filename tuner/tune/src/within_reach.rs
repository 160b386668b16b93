//! What was chosen, as far as the budget has the seconds to prove it.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::change::Cell;
use kilter_model::ledger::Ledger;
use kilter_model::plan::{Plan, Stakes, Subject};
use kilter_search::context::{Facts, Jobs};
use kilter_search::verification::{Reached, is_within_reach};

use super::Tuned;
use super::taking_back::close_silently;

/// Takes back what was chosen for whole collectives until the proof of the others has its seconds: nothing is deployed after a proof that was cut, and a part
/// that is proven is worth more. The collective in which an application spends least goes first, or the one with the fewest sizes.
pub(super) fn keep_within_reach((jobs, plan, facts): (&Jobs<'_>, &Plan, &Facts), ledger: &mut Ledger, tuned: &Tuned) {
    let stakes = Stakes::of(plan);
    let mut left_out = Vec::new();
    loop {
        let deployed = ledger.deployment();
        let library = &jobs.site.library;
        let reached = Reached {
            touched: &|subject| deployed.touches(subject, library),
            first: &|cell| tuned.is_first(&deployed, cell),
            changed: None,
        };
        let mut at_stake: BTreeMap<Collective, f64> = BTreeMap::new();
        for (collective, bytes) in deployed.selections.keys() {
            *at_stake.entry(*collective).or_default() += stakes.most([&Subject::library(*collective, *bytes)]);
        }
        let least = at_stake.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(one, _)| *one);
        let Some(least) = least.filter(|_| at_stake.len() > 1) else {
            break;
        };
        if is_within_reach(jobs, plan, facts, reached) {
            break;
        }
        let cells: Vec<Cell> = deployed
            .selections
            .keys()
            .filter(|cell| cell.0 == least)
            .copied()
            .collect();
        for cell in cells {
            close_silently(
                ledger,
                cell,
                "the budget has not the seconds to prove it",
                &tuned.before,
            );
        }
        left_out.push(least.mpi_name());
    }
    if !left_out.is_empty() {
        jobs.progress.warn(&format!(
            "the budget has not the seconds to prove what was chosen for {}, so that it stays as it is there; raise --budget",
            left_out.join(", ")
        ));
    }
}
