//! Reasons why candidates faster than the default are not deployed. Pure.

use std::collections::BTreeMap;

use kilter_model::change::Change;
use kilter_model::deployment::Selection;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::{Contestant, Screened};

/// Candidates that a screening found faster than the default and sent to no final, fastest first.
#[must_use]
pub fn left_behind(ratios: &BTreeMap<Selection, f64>, front: &[Selection], finalists: usize) -> Vec<Screened> {
    let mut behind: Vec<(&Selection, f64)> = ratios
        .iter()
        .filter(|(selection, ratio)| **ratio < 1.0 && !front.contains(selection))
        .map(|(selection, ratio)| (selection, *ratio))
        .collect();
    behind.sort_by(|a, b| a.1.total_cmp(&b.1));
    let screened = behind.into_iter().map(|(selection, ratio)| Screened {
        id: selection.id(),
        ratio_to_default: ratio,
        not_deployed: NotDeployed::NotAmongFinalists { finalists },
    });
    screened.collect()
}

/// Says of a change of whole launches why it is not deployed, for each target where it was faster than the default.
pub fn explain(contestants: &mut [Contestant], change: &Change, why: &NotDeployed) {
    for one in contestants.iter_mut().filter(|one| one.change == *change) {
        one.chosen = false;
        if one.ratio_to_default < 1.0 {
            one.not_deployed = Some(why.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_screening_found_faster_and_no_final_saw_is_named() {
        let own = |id: &str| Selection::Algorithm(id.to_owned(), Vec::new());
        let ratios: BTreeMap<Selection, f64> = [("a", 0.5), ("b", 0.9), ("c", 0.8), ("d", 1.2)]
            .map(|(id, ratio)| (own(id), ratio))
            .into();
        let behind = left_behind(&ratios, &[own("a")], 5);
        let ids: Vec<&str> = behind.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["c", "b"]);
        assert_eq!(behind[0].not_deployed, NotDeployed::NotAmongFinalists { finalists: 5 });
    }
}
