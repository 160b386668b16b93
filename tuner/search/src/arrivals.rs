//! Finalists of a contest when the ranks arrive apart: who is slower there than the default is not deployed. Pure.

use std::collections::BTreeMap;

use kilter_model::deployment::Selection;
use kilter_model::not_deployed::NotDeployed;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{self, Comparison, Outcome, Pair, Rule};

use crate::DAMAGE_FLOOR;
use crate::choose::Apart;

/// Compares one candidate's launch medians with the default's. The comparison stands alone: to correct it for all other candidates would let
/// those pass that are slower.
#[must_use]
pub fn compare(candidate: &Sample, default: &Sample, rule: &Rule) -> Option<Comparison> {
    let rule = Rule {
        effect_floor: rule.effect_floor.max(DAMAGE_FLOOR),
        ..*rule
    };
    let pair = Pair {
        left: candidate.clone(),
        right: default.clone(),
    };
    verdict::judge(&[pair], &rule).pop()
}

/// The finalists that are slower than the default under any of these patterns, each with the pattern in which it is slowest.
#[must_use]
pub fn slower(apart: &[Apart], rule: &Rule) -> BTreeMap<Selection, NotDeployed> {
    let mut worst: BTreeMap<Selection, (f64, NotDeployed)> = BTreeMap::new();
    for Apart { when, candidates } in apart {
        let default = candidates.iter().find(|one| one.selection.is_none());
        let Some(default) = default.map(|one| &one.medians) else {
            continue;
        };
        for one in candidates {
            let Some(selection) = &one.selection else { continue };
            let compared = compare(&one.medians, default, rule);
            let Some(compared) = compared.filter(|compared| compared.verdict == Outcome::Violated) else {
                continue;
            };
            if worst.get(selection).is_some_and(|(ratio, _)| *ratio >= compared.ratio) {
                continue;
            }
            let why = NotDeployed::SlowerApart {
                when: when.clone(),
                ratio: compared.ratio,
                ratio_ci: compared.ratio_ci,
            };
            worst.insert(selection.clone(), (compared.ratio, why));
        }
    }
    worst
        .into_iter()
        .map(|(selection, (_, why))| (selection, why))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::Measured;

    fn measured(id: Option<&str>, milliseconds: f64) -> Measured {
        let times = [0.99, 1.0, 1.01, 1.005, 0.995].map(|factor| factor * milliseconds * 1e-3);
        Measured {
            selection: id.map(|id| Selection::Algorithm(id.to_owned(), Vec::new())),
            medians: Sample::new(times.to_vec()).unwrap(),
        }
    }

    fn apart(when: &str, default: f64, others: &[(&str, f64)]) -> Apart {
        let others = others.iter().map(|(id, ms)| measured(Some(id), *ms));
        Apart {
            when: when.to_owned(),
            candidates: std::iter::once(measured(None, default)).chain(others).collect(),
        }
    }

    fn rule() -> Rule {
        Rule {
            effect_floor: 0.05,
            ..Rule::default()
        }
    }

    #[test]
    fn who_is_slower_in_any_pattern_is_named_with_the_worst_one() {
        let found = slower(
            &[
                apart("when a", 10.0, &[("good", 9.0), ("bad", 12.1), ("near", 10.6)]),
                apart("when b", 10.0, &[("good", 10.0), ("bad", 15.0), ("near", 10.6)]),
            ],
            &rule(),
        );
        let names: Vec<String> = found.keys().map(Selection::id).collect();
        assert_eq!(names, ["bad"], "7 % are within the floor of damage");
        let text = found.values().next().unwrap().to_string();
        assert!(
            text.starts_with("is slower than the library's own when b: 1.50 [1.4"),
            "{text}"
        );
    }

    #[test]
    fn without_the_default_nothing_is_said() {
        let mut alone = apart("when a", 10.0, &[("bad", 20.0)]);
        alone.candidates.remove(0);
        assert!(slower(&[alone], &rule()).is_empty());
    }
}
