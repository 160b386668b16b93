//! Launches without settings that selections may make superfluous.
//!
//! Selections are compared under the settings that were confirmed before, and their bounds with them. A selection that meets its bounds there may miss
//! them without the settings, or take much longer than the settings alone: a transport's setting that halves every message is not replaced by an
//! algorithm that was compared under it. So a setting is superfluous only if launches without it show that.

use std::collections::BTreeSet;

use kilter_model::deployment::{Deployment, Selection};
use kilter_stats::verdict::Rule;

use crate::choose::{Measured, meets, tightest};
use crate::context::InJobSearch;
use crate::in_job_search::{Contests, Held};
use crate::target::Target;
use crate::trials::is_slower;

/// Launches with the settings, and as many without them.
const LAUNCHES: usize = 3;

/// Names of the targets whose selections, `without` the settings, meet the bounds and are no slower than the library's own call `with` them. Nothing
/// where the budget allows no launch: what is not shown is not so.
///
/// # Errors
/// A failure that no selection explains.
pub fn fixed(
    parts: InJobSearch<'_, '_>,
    label: &str,
    (with, without): (&Deployment, &Deployment),
    selections: Vec<(Target, Selection)>,
) -> anyhow::Result<BTreeSet<String>> {
    let label = format!("{label}/without");
    let label_with = format!("{label}/with");
    let contests = Contests::new(parts, without, &label).together();
    let with = Contests::new(parts, with, &label_with).together();
    let finals = selections
        .into_iter()
        .map(|(target, selection)| (target, vec![selection]));
    let held = contests.finals_in_turn(&with, finals.collect(), LAUNCHES)?;
    let rule = parts.jobs.site.rule(parts.facts.noise_seconds());
    let fixed = held.iter().filter(|(without, with)| is_fixed(without, with, &rule));
    Ok(fixed.map(|(without, _)| without.target.name()).collect())
}

/// True if the selection `without` the settings meets its bounds there, and is not slower in every launch than the library's own call `with` them.
fn is_fixed(without: &Held, with: &Held, rule: &Rule) -> bool {
    let of = |held: &Held, is_selected: bool| {
        let is_it = |one: &&Measured| one.selection.is_some() == is_selected;
        held.candidates.iter().find(is_it).map(|one| one.medians.clone())
    };
    let Some((selected, default)) = of(without, true).zip(of(with, false)) else {
        return false;
    };
    meets(&selected, tightest(&without.bounds), rule) && !is_slower(&default, &selected)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_stats::sample::Sample;

    use super::*;

    fn sample(microseconds: [f64; 3]) -> Sample {
        Sample::new(microseconds.map(|value| value * 1e-6).to_vec()).unwrap()
    }

    fn held(default: [f64; 3], selected: Option<[f64; 3]>, bound: [f64; 3]) -> Held {
        let selection = Selection::Algorithm("bcast.over_lanes".to_owned(), Vec::new());
        let mut candidates = vec![Measured {
            selection: None,
            medians: sample(default),
        }];
        candidates.extend(selected.map(|times| Measured {
            selection: Some(selection),
            medians: sample(times),
        }));
        Held {
            target: Target::unbounded(Collective::Bcast, 32_768),
            candidates,
            bounds: vec![sample(bound)],
            apart: Vec::new(),
        }
    }

    /// Times of a selection and its bound without the settings, beside 1 ms of the library with them.
    fn answer(selected: Option<[f64; 3]>, bound: [f64; 3]) -> bool {
        let without = held([2500.0, 2510.0, 2520.0], selected, bound);
        let with = held([1000.0, 1010.0, 1020.0], None, [1000.0, 1000.0, 1000.0]);
        is_fixed(&without, &with, &Rule::default())
    }

    #[test]
    fn a_selection_that_does_as_well_without_the_settings_makes_them_superfluous() {
        assert!(answer(Some([990.0, 1000.0, 1010.0]), [1200.0, 1200.0, 1200.0]));
        // Launches overlap.
        assert!(answer(Some([1015.0, 1300.0, 1300.0]), [1300.0, 1300.0, 1300.0]));
    }

    #[test]
    fn one_that_misses_its_bound_does_not() {
        assert!(!answer(Some([990.0, 1000.0, 1010.0]), [900.0, 900.0, 900.0]));
    }

    #[test]
    fn one_that_takes_longer_than_the_library_with_them_does_not_either() {
        assert!(!answer(Some([2400.0, 2400.0, 2400.0]), [2500.0, 2500.0, 2500.0]));
    }

    #[test]
    fn one_that_could_not_be_measured_shows_nothing() {
        assert!(!answer(None, [2500.0, 2500.0, 2500.0]));
    }
}
