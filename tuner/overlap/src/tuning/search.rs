//! Searches settings that meet a missed target. Each is tried in a launch. Those that look better are confirmed in
//! launches in turn with the library as it is.
//!
//! A single launch is no evidence: among a dozen settings one looks better by chance. A candidate that removes the
//! shortfall is therefore confirmed at once, alone, and ends the search if it keeps its promise. Candidates that only
//! came nearer wait until all were tried; the best is confirmed first. Candidates that looked better and are not
//! deployed are kept with their reasons.

use std::collections::BTreeSet;

use kilter_model::change::id;
use kilter_model::config::target::Target;
use kilter_model::deployment::{Assignment, PROGRESS_VARIABLE};
use kilter_model::not_deployed::{Measure, NotDeployed, Step};
use kilter_model::setup::Setup;
use kilter_model::survey::Survey;
use kilter_search::context::{Facts, Jobs, LaunchSearch};
use kilter_search::space;
use kilter_stats::verdict::Rule;

use super::Goals;
use super::bench::{Bench, OnMachine};
use super::gain::{Objection, Told, objection, shortfall};
use super::in_turn::{InTurn, at_speed_of};
use super::tried::Tried;
use crate::targets::looks::FIRST_LAUNCHES as LAUNCHES;
use crate::targets::{self, Judgement};

/// Most candidates that are confirmed in a round.
const FINALISTS: usize = 3;
/// Launches of each side if the first few do not decide. Wilcoxon's signed ranks of so many pairs reach 1/64.
const MOST_LAUNCHES: usize = 2 * LAUNCHES;
/// Share of the shortfall that a candidate must take away in one launch to be worth more launches.
const PROMISING: f64 = 0.2;
/// Shortfall within the noise of one launch, which leaves nothing to mend.
const MET: f64 = 0.02;
/// Tried variables of the progress library, by name and value.
const PROGRESS: [&[(&str, &str)]; 2] = [
    &[(PROGRESS_VARIABLE, "on")],
    &[(PROGRESS_VARIABLE, "on"), ("KILTER_PROGRESS_NAP_US", "50")],
];

impl Goals {
    /// Searches from `launch`, the deployed state; returns the settings to deploy in addition. `banned` settings are
    /// not proposed.
    pub fn search(
        &mut self,
        parts: LaunchSearch<'_, '_>,
        label: &str,
        launch: &Setup,
        banned: &BTreeSet<Assignment>,
    ) -> anyhow::Result<Vec<Assignment>> {
        self.searched = true;
        let mut waiting = std::mem::take(&mut self.promising);
        for one in waiting.extract_if(.., |one| one.has_any_of(banned)) {
            self.tried.push(one.refused(NotDeployed::Banned));
        }
        let candidates = if waiting.is_empty() {
            self.candidates(parts.jobs, parts.facts, banned)
        } else {
            Vec::new()
        };
        let rule = parts.jobs.site.rule(parts.facts.noise_seconds());
        let mut bench = OnMachine::new(self, parts, label, launch);
        let mut search = Search {
            targets: &self.targets,
            base: &self.base,
            present: self.now(),
            rule: &rule,
            bench: &mut bench,
            found: Found {
                waiting,
                ..Found::default()
            },
        };
        search.run(candidates)?;
        let found = search.found;
        self.was_cut_short |= found.was_cut_short;
        let told = found.tried.iter().filter_map(Tried::told);
        self.refused.extend(told);
        self.tried.extend(found.tried);
        // They are kept in case the proof speaks against the chosen setting.
        self.promising = found.waiting;
        let Some(chosen) = found.chosen else {
            return Ok(Vec::new());
        };
        self.searched = false;
        self.proposed.clone_from(&chosen);
        Ok(chosen)
    }

    /// Candidates. Those that were made for overlap come first, because the budget may end.
    fn candidates(&self, jobs: &Jobs<'_>, facts: &Facts, banned: &BTreeSet<Assignment>) -> Vec<Vec<Assignment>> {
        let mut all: Vec<Vec<Assignment>> = Vec::new();
        if jobs.programs.progress().is_ok() {
            let variable = |(name, value): &(&str, &str)| Assignment {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
                environment: true,
            };
            all.extend(PROGRESS.iter().map(|pairs| pairs.iter().map(variable).collect()));
        }
        let of_library = space::overlap_candidates(
            &jobs.site.library,
            &facts.transports(),
            &facts.heard(),
            self.spare.as_deref(),
        );
        all.extend(of_library.into_iter().map(|one| one.assignments));
        all.retain(|assignments| !assignments.iter().any(|one| banned.contains(one)));
        all
    }
}

/// Result of a search.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Assignments to deploy.
    pub(super) chosen: Option<Vec<Assignment>>,
    /// Candidates that looked better and are not confirmed yet, the best first.
    pub(super) waiting: Vec<Tried>,
    /// The choice, and the candidates that looked better and were refused.
    pub(super) tried: Vec<Tried>,
    /// True if the budget ended before every setting was tried.
    pub(super) was_cut_short: bool,
}

/// One round of searching.
pub(super) struct Search<'s, B> {
    pub(super) targets: &'s [Target],
    /// Launches of the untouched library, made before.
    pub(super) base: &'s [Survey],
    /// Judgements of the targets with the deployed settings.
    pub(super) present: &'s [Judgement],
    pub(super) rule: &'s Rule,
    pub(super) bench: &'s mut B,
    pub(super) found: Found,
}

impl<B: Bench> Search<'_, B> {
    /// Tries each candidate, and confirms those that look better.
    pub(super) fn run(&mut self, candidates: Vec<Vec<Assignment>>) -> anyhow::Result<()> {
        let mut confirmed = 0;
        if !candidates.is_empty() {
            self.screen(candidates, &mut confirmed)?;
        }
        self.found.waiting.sort_by(|a, b| a.left.total_cmp(&b.left));
        while self.found.chosen.is_none() && confirmed < FINALISTS && !self.found.waiting.is_empty() {
            let next = self.found.waiting.remove(0);
            confirmed += 1;
            self.confirm(next)?;
        }
        if self.found.chosen.is_none() {
            // Another round of the same would show nothing new.
            for one in std::mem::take(&mut self.found.waiting) {
                self.refuse(one, NotDeployed::NotAmongFinalists { finalists: FINALISTS });
            }
        }
        Ok(())
    }

    /// Makes a launch of each candidate. One that meets every target in it is confirmed at once.
    fn screen(&mut self, candidates: Vec<Vec<Assignment>>, confirmed: &mut usize) -> anyhow::Result<()> {
        let Some(present) = self.bench.candidate("present", &[])? else {
            return Ok(());
        };
        let missing = self.shortfall(&present);
        for assignments in candidates {
            if !self.bench.affords(1) {
                self.found.was_cut_short = true;
                self.bench
                    .warn("the budget ended before every setting was tried for overlap; raise --budget");
                break;
            }
            let id = id(&assignments);
            let Some(survey) = self.bench.candidate(&id, &assignments)? else {
                continue;
            };
            let left = self.shortfall(&survey);
            self.bench
                .note(&format!("overlap: {id}: shortfall {missing:.2} -> {left:.2}"));
            if left >= (1.0 - PROMISING) * missing {
                continue;
            }
            let tried = Tried::looking_better(assignments, missing, left);
            if left <= MET && *confirmed < FINALISTS {
                *confirmed += 1;
                self.confirm(tried)?;
                if self.found.chosen.is_some() {
                    break;
                }
            } else {
                self.found.waiting.push(tried);
            }
        }
        Ok(())
    }

    fn shortfall(&self, survey: &Survey) -> f64 {
        // The untouched library was measured minutes ago.
        let survey = at_speed_of(self.base, survey.clone());
        let judged = targets::judge_all(self.targets, self.base, &[survey], self.rule);
        shortfall(self.present, &judged)
    }

    /// Makes launches of a candidate in turn with the library as it is, then of the functions that it may slow; keeps
    /// it, or the reason against it.
    fn confirm(&mut self, tried: Tried) -> anyhow::Result<()> {
        match self.objection(&tried)? {
            None => {
                self.bench.note(&format!("overlap: {} is confirmed", tried.id()));
                self.found.chosen = Some(tried.assignments.clone());
                self.found.tried.push(tried);
            }
            Some(why) => self.refuse(tried, why),
        }
        Ok(())
    }

    fn refuse(&mut self, tried: Tried, why: NotDeployed) {
        let refused = tried.refused(why);
        if let Some(told) = refused.told() {
            self.bench.note(&format!("overlap: {told}"));
        }
        self.found.tried.push(refused);
    }

    fn objection(&mut self, tried: &Tried) -> anyhow::Result<Option<NotDeployed>> {
        let id = tried.id();
        let (mut untouched, mut present, mut now) = (Vec::new(), Vec::new(), Vec::new());
        // A case that the first launches leave open is worth as many more.
        for total in [LAUNCHES, MOST_LAUNCHES] {
            let further = total - now.len();
            if !self.bench.affords(further * self.sides()) {
                let is_first = now.is_empty();
                let late = NotDeployed::BudgetEnded {
                    before: Step::Confirmation,
                };
                return Ok(Some(if is_first {
                    late
                } else {
                    self.not_confirmed(tried, &untouched, &present, &now)
                }));
            }
            for launch in now.len()..total {
                let key = |which: &str| format!("confirm/{id}/{launch}/{which}");
                untouched.push(self.bench.untouched(&key("untouched"))?);
                if self.bench.is_changed() {
                    let survey = self.bench.candidate(&key("present"), &[])?;
                    present.extend(survey);
                }
                let Some(survey) = self.bench.candidate(&key("candidate"), &tried.assignments)? else {
                    let what = self.bench.failure(&tried.assignments);
                    return Ok(Some(NotDeployed::Failed { what }));
                };
                now.push(survey);
            }
            let judged = targets::judge_all(self.targets, &untouched, &now, self.rule);
            let in_turn = InTurn {
                targets: self.targets,
                untouched: &untouched,
                present: if present.is_empty() { &untouched } else { &present },
                now: &now,
                rule: self.rule,
            };
            match objection(self.present, &judged, Told::InTurn(&in_turn)) {
                None => return self.side_effects(tried),
                Some(Objection::Misses(targets)) => return Ok(Some(NotDeployed::MissesTargets { targets })),
                Some(Objection::MeetsNone) => {}
            }
        }
        Ok(Some(self.not_confirmed(tried, &untouched, &present, &now)))
    }

    fn side_effects(&mut self, tried: &Tried) -> anyhow::Result<Option<NotDeployed>> {
        if !self.bench.affords(0) {
            return Ok(Some(NotDeployed::BudgetEnded {
                before: Step::SideEffects,
            }));
        }
        self.bench.side_effects(&tried.assignments)
    }

    /// Number of launches of a pair.
    fn sides(&self) -> usize {
        2 + usize::from(self.bench.is_changed())
    }

    fn not_confirmed(&self, tried: &Tried, untouched: &[Survey], present: &[Survey], now: &[Survey]) -> NotDeployed {
        let of = |surveys: &[Survey]| {
            shortfall(
                self.present,
                &targets::judge_all(self.targets, untouched, surveys, self.rule),
            )
        };
        NotDeployed::NotConfirmed {
            measure: Measure::Shortfall,
            launches: now.len(),
            before: of(if present.is_empty() { untouched } else { present }),
            screened: tried.left,
            confirmed: of(now),
        }
    }
}

#[cfg(test)]
mod tests;
