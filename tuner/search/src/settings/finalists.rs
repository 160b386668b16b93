//! Finalists of the screening, each with the best value of its neighbourhood.

use std::collections::BTreeMap;

use kilter_model::change::id;
use kilter_model::config::library::Library;
use kilter_model::not_deployed::NotDeployed;

use super::Search;
use crate::ordered::{self, Axis, Costs, Space};
use crate::space::{self, LaunchCandidate, Situation};
use crate::trials::{CONFIRMING, Times};

/// Candidates that are confirmed at most.
const FINALISTS: usize = 3;
/// Values that argmin may measure for one parameter.
const EVALUATIONS: usize = 7;

impl Search<'_, '_> {
    /// One candidate per parameter, of candidates in the order of their costs. A candidate that does not beat the launch without settings is dropped,
    /// unless the user asked for a contest.
    pub(super) fn finalists(&self, scored: Vec<(f64, LaunchCandidate)>, neutral: f64) -> Vec<(f64, LaunchCandidate)> {
        let library = &self.trials.parts.jobs.site.library;
        let asked_for = self.trials.targets.iter().any(|target| target.asked_for);
        let mut finalists: Vec<(f64, LaunchCandidate)> = Vec::new();
        for (cost, candidate) in scored {
            let seen = finalists
                .iter()
                .any(|(_, other)| other.parameter == candidate.parameter);
            let is_promising = finalists.len() < FINALISTS && cost < neutral - 0.02;
            // Each could be accepted beside the others.
            let others = finalists.iter().map(|(_, other)| other);
            let agrees = agree(library, &self.situation, others.chain([&candidate]));
            if !seen && agrees && (is_promising || candidate.confirm_always && asked_for) {
                finalists.push((cost, candidate));
            }
        }
        finalists
    }

    /// Moves finalists with ordered values to the best value nearby, as far as the budget reaches.
    pub(super) fn refine(&mut self, finalists: &mut [(f64, LaunchCandidate)], present: &Times) -> anyhow::Result<()> {
        let library = &self.trials.parts.jobs.site.library;
        for (cost, candidate) in finalists {
            let Some((min, max, scale)) = candidate.ordered else {
                continue;
            };
            let start = space::number(library, candidate).unwrap_or(min);
            let axis = Axis {
                min: min.max(start / 4),
                max: max.min(start.saturating_mul(4)),
                start,
                scale,
            };
            let space = Space {
                axes: vec![axis],
                evaluations: EVALUATIONS,
            };
            let known = Costs::from([(vec![start], *cost)]);
            let found = ordered::minimise(&space, &known, &mut |values| {
                self.cost_of(candidate, values[0], present)
            })?;
            let with = |value| space::with_value(library, candidate, value, &self.situation);
            let refined = found.and_then(|found| Some((found.cost, with(found.values[0])?)));
            if let Some((refined_cost, refined)) = refined {
                candidate.assignments = refined.assignments;
                *cost = refined_cost;
            }
        }
        Ok(())
    }

    /// Cost of a launch with another value of the candidate's parameter; infinite where none is made.
    fn cost_of(&mut self, candidate: &LaunchCandidate, value: u64, present: &Times) -> anyhow::Result<f64> {
        let jobs = self.trials.parts.jobs;
        let confirming = self.trials.trial_seconds() * 2.0 * CONFIRMING as f64;
        if jobs.budget.search_exhausted(confirming) {
            return Ok(f64::INFINITY);
        }
        let other = space::with_value(&jobs.site.library, candidate, value, &self.situation);
        let Some(other) = other.filter(|other| !self.is_banned(other)) else {
            return Ok(f64::INFINITY);
        };
        let Some(times) = self.trials.launch(&other.assignments)? else {
            return Ok(f64::INFINITY);
        };
        self.note_promises(&other, &times, present);
        Ok(self.cost(&times, present))
    }

    /// The finalists, of so many, that the search has the seconds to launch beside the present state; one at least, for which they were kept.
    pub(super) fn confirmable(&self, finalists: usize) -> usize {
        let budget = &self.trials.parts.jobs.budget;
        let seconds = |finalists: usize| self.trials.trial_seconds() * (finalists + 1) as f64 * CONFIRMING as f64;
        let fits = |finalists: &usize| !budget.search_exhausted(seconds(*finalists));
        (2..=finalists).rev().find(fits).unwrap_or(1)
    }

    /// The candidates that looked better than doing nothing and are no finalists, by id.
    pub(super) fn left_behind(
        &self,
        screened: Vec<(f64, String)>,
        neutral: f64,
        finalists: &[(f64, LaunchCandidate)],
    ) -> Vec<(String, NotDeployed)> {
        let is_finalist = |name: &String| finalists.iter().any(|(_, one)| id(&one.assignments) == *name);
        let better = screened.into_iter().filter(|(cost, _)| *cost < neutral);
        better
            .filter(|(_, name)| !is_finalist(name))
            .map(|(cost, name)| {
                let why = NotDeployed::NotAmongFinalists { finalists: FINALISTS };
                self.trials.parts.jobs.progress.note(&format!(
                    "`{name}` looked better (cost {neutral:.2} -> {cost:.2}) and {why}"
                ));
                (name, why)
            })
            .collect()
    }
}

/// True if settings can be in force together: no name has two values, and no constraint is broken.
pub(super) fn agree<'c>(
    library: &Library,
    situation: &Situation,
    candidates: impl Iterator<Item = &'c LaunchCandidate>,
) -> bool {
    let mut all: BTreeMap<&str, &str> = BTreeMap::new();
    for one in candidates.flat_map(|candidate| &candidate.assignments) {
        if all
            .insert(&one.name, &one.value)
            .is_some_and(|other| other != one.value)
        {
            return false;
        }
    }
    let mut settings = situation.in_force.clone();
    settings.extend(all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    library.broken(&settings).is_none()
}
