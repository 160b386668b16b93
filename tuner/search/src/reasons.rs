//! Reasons why candidates faster than the default are not deployed. Pure.

use std::collections::BTreeMap;

use kilter_model::change::Change;
use kilter_model::deployment::Selection;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::report::{Contestant, Screened};
use kilter_stats::verdict::Rule;

/// Facts that a final knows of its candidates beside their times.
pub struct Final<'a> {
    /// The default's median, in seconds.
    pub default: Option<f64>,
    /// The tightest bound, in seconds; `None` where nothing is violated.
    pub bound: Option<f64>,
    /// The chosen one: id, and median in seconds.
    pub chosen: Option<(&'a str, f64)>,
    /// The rule that compares times.
    pub rule: &'a Rule,
}

/// A candidate of a final.
#[derive(Debug, Clone)]
pub struct Finalist {
    /// Its median, in seconds.
    pub seconds: f64,
    /// True if it is statistically as good as the deployed one.
    pub as_good: bool,
    /// True if it meets the bound.
    pub fixes: bool,
    /// Reason against its deployment beside its times.
    pub objection: Option<NotDeployed>,
}

impl Final<'_> {
    /// The reason why a candidate was not chosen; `None` if it was no faster than the default.
    #[must_use]
    pub fn why_not(&self, one: Finalist) -> Option<NotDeployed> {
        let default = self.default?;
        if one.seconds >= default {
            return None;
        }
        let Some(bound) = self.bound else {
            return Some(NotDeployed::NothingToFix);
        };
        Some(if !self.rule.is_relevant(default, one.seconds) {
            NotDeployed::NoBetterThanDefault {
                ratio: one.seconds / default,
            }
        } else if !one.fixes {
            NotDeployed::MissesBound {
                ratio: one.seconds / bound,
            }
        } else if let Some(objection) = one.objection {
            objection
        } else {
            let (chosen, _) = self.chosen?;
            let chosen = chosen.to_owned();
            if one.as_good {
                NotDeployed::SimplerChosen { chosen }
            } else {
                NotDeployed::FasterChosen { chosen }
            }
        })
    }
}

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

    fn rule() -> Rule {
        Rule {
            effect_floor: 0.05,
            noise_seconds: 1e-7,
            ..Rule::default()
        }
    }

    fn finalist(microseconds: f64) -> Finalist {
        Finalist {
            seconds: microseconds * 1e-6,
            as_good: false,
            fixes: true,
            objection: None,
        }
    }

    #[test]
    fn every_candidate_that_was_faster_has_its_reason() {
        let rule = rule();
        let held = Final {
            default: Some(100e-6),
            bound: Some(60e-6),
            chosen: Some(("bcast.binomial", 50e-6)),
            rule: &rule,
        };
        assert_eq!(held.why_not(finalist(110.0)), None, "it did not look better");
        let near = held.why_not(finalist(98.0));
        assert!(
            matches!(near, Some(NotDeployed::NoBetterThanDefault { .. })),
            "{near:?}"
        );
        let slow = Finalist {
            fixes: false,
            ..finalist(80.0)
        };
        assert!(
            matches!(held.why_not(slow), Some(NotDeployed::MissesBound { ratio }) if (ratio - 4.0 / 3.0).abs() < 1e-9)
        );
        let as_good = Finalist {
            as_good: true,
            ..finalist(51.0)
        };
        let chosen = "bcast.binomial".to_owned();
        assert_eq!(
            held.why_not(as_good),
            Some(NotDeployed::SimplerChosen { chosen: chosen.clone() })
        );
        assert_eq!(held.why_not(finalist(55.0)), Some(NotDeployed::FasterChosen { chosen }));
        let refused = Finalist {
            objection: Some(NotDeployed::CannotBeDeployed),
            ..finalist(50.0)
        };
        assert_eq!(held.why_not(refused), Some(NotDeployed::CannotBeDeployed));
        let for_information = Final { bound: None, ..held };
        assert_eq!(for_information.why_not(finalist(50.0)), Some(NotDeployed::NothingToFix));
    }

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
