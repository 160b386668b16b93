//! Costs of a setting by one launch: the distance of the targets from their bounds, and the damage elsewhere.

use std::collections::BTreeSet;

use kilter_model::change::id;
use kilter_model::plan::Subject;

use super::Search;
use crate::DAMAGE_FLOOR;
use crate::findings::Findings;
use crate::space::LaunchCandidate;
use crate::target::Target;
use crate::trials::{Times, is_library};

/// A slowdown of a cell that counts as damage in a single launch, as a ratio: well above the difference of launches.
const DAMAGE: f64 = 1.3;

/// A gain that counts in a single launch, as a ratio: of many targets some seem to be faster by chance.
const BEYOND: f64 = 1.15;

impl Search<'_, '_> {
    /// Distance of the targets from their bounds, less what they gain over the best ways that are known, plus the damage done elsewhere: a sum of natural
    /// logarithms of ratios. Smaller is better.
    pub(super) fn cost(&self, times: &Times, base: &Times) -> f64 {
        let floor = (1.0 + self.trials.parts.jobs.site.options.effect_floor).ln();
        let mut cost = 0.0;
        for target in self.trials.targets {
            let left = times.get(&target.left);
            let excess = target
                .bounds
                .iter()
                .map(|bound| log_ratio(left, times.get(bound)))
                .fold(0.0_f64, f64::max)
                - floor;
            cost += self.weight(&target.left, base) * (excess.max(0.0) + gain(target, times, base));
        }
        // Damage that exact times show in one launch needs no further ones.
        let exact = self.trials.parts.jobs.site.options.is_exact();
        let tolerated = if exact { 1.0 + DAMAGE_FLOOR } else { DAMAGE };
        for (subject, time) in times.iter().filter(|(subject, _)| is_library(subject)) {
            let slower = log_ratio(Some(time), base.get(subject));
            if slower > tolerated.ln() {
                cost += if exact {
                    f64::INFINITY
                } else {
                    self.weight(subject, base) * slower
                };
            }
        }
        cost
    }

    /// Keeps which targets a candidate made faster in a launch of the screening: these are what launches that confirm have to show again.
    pub(super) fn note_promises(&mut self, candidate: &LaunchCandidate, times: &Times, base: &Times) {
        let faster = self
            .trials
            .targets
            .iter()
            .filter(|target| gain(target, times, base) < 0.0);
        let names = faster.map(Target::name).collect();
        self.promising.insert(id(&candidate.assignments), names);
    }

    /// Weight of a left side: 1, or with a call mix the time that the application spends in it over the mean of the targets.
    fn weight(&self, left: &Subject, base: &Times) -> f64 {
        let plan = self.trials.parts.plan;
        if plan.calls.is_empty() {
            return 1.0;
        }
        let spent = |left: &Subject| plan.calls_of(left) * base.get(left).copied().unwrap_or(0.0);
        let all: f64 = self.trials.targets.iter().map(|target| spent(&target.left)).sum();
        let mean = all / self.trials.targets.len().max(1) as f64;
        if mean > 0.0 { spent(left) / mean } else { 1.0 }
    }

    /// Records why a candidate that fixes something is not taken; only where times are exact.
    pub(super) fn refuse(&self, candidate: &LaunchCandidate, times: &Times, present: &Times, findings: &mut Findings) {
        let slowed = times
            .iter()
            .filter(|(subject, _)| is_library(subject))
            .filter_map(|(subject, time)| Some((subject, time / present.get(subject)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((slowed, ratio)) = slowed.filter(|(_, ratio)| *ratio > 1.0 + DAMAGE_FLOOR) else {
            return;
        };
        if self.trials.parts.jobs.site.options.is_exact() {
            let reason = format!(
                "`{}` would fix it, but {} would take {ratio:.2} times as long",
                id(&candidate.assignments),
                slowed.item_id()
            );
            let fixed = self.fixed(|subject| times.get(subject).copied());
            // A bound that became slower mends nothing.
            let is_faster = |target: &&Target| times.get(&target.left) < present.get(&target.left);
            for target in self.trials.targets.iter().filter(is_faster).map(Target::name) {
                if fixed.contains(&target) {
                    let evidence = findings.evidence.entry(target).or_default();
                    evidence.refused.get_or_insert_with(|| reason.clone());
                }
            }
        }
    }

    /// The targets whose bounds are met, by the times of subjects in seconds.
    pub(super) fn fixed(&self, time: impl Fn(&Subject) -> Option<f64>) -> BTreeSet<String> {
        let floor = 1.0 + self.trials.parts.jobs.site.options.effect_floor;
        self.trials
            .targets
            .iter()
            .filter(|target| !target.bounds.is_empty())
            .filter(|target| {
                let mut bounds = target.bounds.iter().filter_map(&time);
                time(&target.left).is_some_and(|left| bounds.all(|bound| left <= bound * floor))
            })
            .map(Target::name)
            .collect()
    }
}

/// Natural logarithm of a target's time over that of the best way that is known; 0 where it is no gain that counts.
fn gain(target: &Target, times: &Times, base: &Times) -> f64 {
    let gain = log_ratio(times.get(&target.left), base.get(&target.left)) - target.best_ratio.ln();
    if gain < -BEYOND.ln() { gain } else { 0.0 }
}

fn log_ratio(a: Option<&f64>, b: Option<&f64>) -> f64 {
    match (a, b) {
        (Some(a), Some(b)) => (a / b).ln(),
        _ => 0.0,
    }
}
