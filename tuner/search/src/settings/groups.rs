//! Group tests: several settings in one launch, to find the few that act.
//!
//! Few settings act on a call, and a launch costs more than what it measures. So settings of different parameters are tried together, and those of a
//! group that makes a target faster, or which fails, each alone. Dorfman 1943 (doi:10.1214/aoms/1177731363). Halving such a group would take as many
//! launches where one of ten acts, each part being launched twice, and twice as many where several do. A group that only slows a target is halved: the
//! half without the setting that does so needs one launch.

use std::collections::{BTreeSet, VecDeque};

use kilter_model::deployment::Assignment;
use kilter_model::plan::Subject;
use kilter_stats::sample::Sample;

use super::Search;
use super::finalists::agree;
use crate::shared_launches::each_once;
use crate::space::LaunchCandidate;
use crate::target::Target;
use crate::trials::{CONFIRMING, Times};

/// Settings of one launch at most.
const MOST: usize = 10;

/// A target that takes so much less in one launch may be what a setting does.
pub(super) const FASTER: f64 = 1.25;

/// A target that takes so much longer may hide what another setting of the group does.
const SLOWER: f64 = 1.5;

/// A launch in another mode of the machine takes so many times as long at most, all calls alike.
const MODE: f64 = 2.6;

impl Search<'_, '_> {
    /// What a group does, by two launches where one shows something: one launch is chance.
    fn effect_of(&mut self, all: &[Assignment], present: &Times) -> anyhow::Result<Effect> {
        let is_exact = self.trials.parts.jobs.site.options.is_exact();
        let Ok(times) = self.trials.measure(all)? else {
            return Ok(Effect::OfSome);
        };
        let first = changes(self.trials.targets, &times, present, is_exact);
        if is_exact || first == Changes::default() {
            return Ok(first.effect());
        }
        let Ok(times) = self.trials.measure(all)? else {
            return Ok(Effect::OfSome);
        };
        let second = changes(self.trials.targets, &times, present, is_exact);
        Ok(first.and(&second).effect())
    }

    /// Groups of candidates that a launch can have together, in their order; what a contest that was asked for always measures is alone.
    pub(super) fn packed(&self, candidates: Vec<LaunchCandidate>) -> VecDeque<Vec<LaunchCandidate>> {
        let library = &self.trials.parts.jobs.site.library;
        let asked_for = self.trials.targets.iter().any(|target| target.asked_for);
        let mut groups: VecDeque<Vec<LaunchCandidate>> = VecDeque::new();
        let is_alone = |candidate: &LaunchCandidate| candidate.confirm_always && asked_for;
        for candidate in candidates {
            let fits = |group: &&mut Vec<LaunchCandidate>| {
                let is_set = |other: &LaunchCandidate| {
                    let names = other.assignments.iter().map(|one| &one.name);
                    names
                        .into_iter()
                        .any(|name| candidate.assignments.iter().any(|own| own.name == *name))
                };
                group.len() < MOST
                    && !is_alone(&candidate)
                    && !group.iter().any(|other| is_set(other) || is_alone(other))
                    && agree(library, &self.situation, group.iter().chain([&candidate]))
            };
            match groups.iter_mut().find(fits) {
                Some(group) => group.push(candidate),
                None => groups.push_back(vec![candidate]),
            }
        }
        groups
    }

    /// Measures the groups, and in the end each candidate that acts alone, as long as the budget has room to confirm the best. The candidates that were
    /// left in a group which changes nothing are not among the results. True at the end if the seconds ended first.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub(super) fn test_groups(
        &mut self,
        mut waiting: VecDeque<Vec<LaunchCandidate>>,
        present: &Times,
    ) -> anyhow::Result<(Vec<(LaunchCandidate, Times)>, bool)> {
        let jobs = self.trials.parts.jobs;
        let mut acting = Vec::new();
        while let Some(mut group) = waiting.pop_front() {
            let confirming = self.trials.trial_seconds() * 2.0 * CONFIRMING as f64;
            if jobs.budget.search_exhausted(confirming) {
                return Ok((acting, true));
            }
            jobs.progress.step(1);
            group.retain(|one| !self.trials.is_put_away(&one.assignments));
            if let [alone] = group.as_slice() {
                let times = self.trials.launch(&alone.assignments)?;
                acting.extend(times.map(|times| (alone.clone(), times)));
                continue;
            }
            if group.is_empty() {
                continue;
            }
            let all = each_once(group.iter().flat_map(|one| one.assignments.iter().cloned()));
            match self.effect_of(&all, present)? {
                Effect::Nothing => {}
                Effect::OfSome => group
                    .into_iter()
                    .rev()
                    .for_each(|alone| waiting.push_front(vec![alone])),
                // What one of them hides would have to be as large.
                Effect::Slower if group.len() <= FEW => {}
                Effect::Slower => {
                    let second = group.split_off(group.len() / 2);
                    waiting.push_front(second);
                    waiting.push_front(group);
                }
            }
        }
        Ok((acting, false))
    }
}

/// A group of so many that slows a target is not divided for that alone.
const FEW: usize = 4;

/// What the settings of a group do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// None of them changes a target.
    Nothing,
    /// They make a target faster, or fail: each is tried alone.
    OfSome,
    /// A target takes so much longer that it may hide what another setting does: one of them is in the way of the others.
    Slower,
}

/// Fewest calls whose common change may be one of the machine's: the change of one call alone is its own.
const FEWEST_CALLS: usize = 3;

/// Changes of targets in one launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Changes {
    /// Places of the targets whose calls take less time than their best ways at present.
    faster: BTreeSet<usize>,
    /// True if a call takes so much longer that it may hide what another setting does.
    hides: bool,
}

impl Changes {
    /// What both launches show.
    fn and(&self, other: &Changes) -> Changes {
        Changes {
            faster: self.faster.intersection(&other.faster).copied().collect(),
            hides: self.hides && other.hides,
        }
    }

    fn effect(&self) -> Effect {
        match (self.faster.is_empty(), self.hides) {
            (false, _) => Effect::OfSome,
            (true, true) => Effect::Slower,
            (true, false) => Effect::Nothing,
        }
    }
}

/// Changes of targets in one launch. A change of all calls alike that a mode of the machine explains is none.
fn changes(targets: &[Target], times: &Times, present: &Times, is_exact: bool) -> Changes {
    let log_ratio = |subject: &Subject| Some((times.get(subject)? / present.get(subject)?).ln());
    let all: Vec<f64> = times.keys().filter_map(log_ratio).collect();
    let tells_modes = !is_exact && all.len() >= FEWEST_CALLS;
    let shift = Sample::new(all).map_or(0.0, |all| all.median());
    let shift = if !tells_modes || shift.abs() > MODE.ln() {
        0.0
    } else {
        shift
    };
    let faster = if is_exact { 1.01 } else { FASTER };
    let mut found = Changes::default();
    for (place, target) in targets.iter().enumerate() {
        let Some(ratio) = log_ratio(&target.left) else { continue };
        if ratio - shift < target.best_ratio.ln() - f64::ln(faster) {
            found.faster.insert(place);
        }
        found.hides |= ratio - shift > SLOWER.ln();
    }
    found
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    fn times(of: &[f64]) -> Times {
        let all = [Collective::Bcast, Collective::Gather, Collective::Reduce];
        let subjects = all.map(|one| Subject::library(one, 8));
        subjects.into_iter().zip(of.iter().copied()).collect()
    }

    #[test]
    fn a_mode_of_the_machine_is_no_effect_and_one_call_that_changes_is() {
        let targets = [Target::unbounded(Collective::Reduce, 8)];
        let of = |now: &[f64], is_exact| changes(&targets, &times(now), &times(&[1.0, 2.0, 3.0]), is_exact);
        let acts = |now: &[f64], is_exact| !of(now, is_exact).faster.is_empty();
        assert!(!acts(&[1.0, 2.0, 3.0], false));
        assert!(!acts(&[2.0, 4.0, 6.0], false), "all in the slow mode");
        assert!(!acts(&[0.5, 1.0, 1.5], false), "all in the fast mode");
        assert!(acts(&[1.0, 2.0, 2.0], false));
        assert!(acts(&[2.0, 4.0, 4.0], false), "less slow than all others");
        assert!(acts(&[0.1, 0.2, 0.3], false), "no mode does that");
        assert!(of(&[1.0, 2.0, 9.0], false).hides, "it may hide another");
        assert_eq!(of(&[9.0, 2.0, 3.0], false), Changes::default(), "no target");
        assert!(acts(&[1.0, 2.0, 2.9], true) && !acts(&[1.0, 2.0, 2.9], false));
        let one = |seconds: f64| times(&[seconds]);
        let alone = [Target::unbounded(Collective::Bcast, 8)];
        assert!(
            !changes(&alone, &one(0.5), &one(1.0), false).faster.is_empty(),
            "nothing tells a mode"
        );
        let beside_a_row = [Target {
            best_ratio: 0.5,
            ..Target::unbounded(Collective::Reduce, 8)
        }];
        let acts = |now: &[f64]| {
            let found = changes(&beside_a_row, &times(now), &times(&[1.0, 2.0, 3.0]), false);
            !found.faster.is_empty()
        };
        assert!(
            !acts(&[1.0, 2.0, 1.5]) && acts(&[1.0, 2.0, 1.1]),
            "as fast as the row, and faster"
        );
    }
}
