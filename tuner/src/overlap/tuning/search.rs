//! Which settings meet a target that is missed: each is tried in a launch, the most promising are confirmed in several.

use std::collections::BTreeSet;

use super::gain::{objection, shortfall};
use super::{Goals, side_effects};
use crate::context::{Context, Setup};
use crate::deployment::{Assignment, PROGRESS_VARIABLE};
use crate::overlap::model::Survey;
use crate::overlap::targets;
use crate::overlap::targets::looks::FIRST_LAUNCHES as LAUNCHES;
use crate::search::necessity::id;
use crate::search::space;

/// Candidates that are confirmed at most.
const FINALISTS: usize = 2;
/// A candidate that takes this share of the shortfall away in one launch is worth more launches.
const PROMISING: f64 = 0.2;
/// What `KILTER_PROGRESS` and what else is tried, by name and value.
const PROGRESS: [&[(&str, &str)]; 2] = [
    &[(PROGRESS_VARIABLE, "on")],
    &[(PROGRESS_VARIABLE, "on"), ("KILTER_PROGRESS_NAP_US", "50")],
];

impl Goals {
    /// Searches from `launch`, what is deployed so far; gives what to deploy in addition. `banned` settings are not proposed.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn search(
        &mut self,
        context: &Context<'_>,
        label: &str,
        launch: &Setup,
        banned: &BTreeSet<Assignment>,
    ) -> anyhow::Result<Vec<Assignment>> {
        self.searched = true;
        let mut promising = std::mem::take(&mut self.promising);
        if promising.is_empty() {
            promising = self.screen(context, label, launch, banned)?;
        }
        promising.retain(|assignments| !assignments.iter().any(|one| banned.contains(one)));
        let finalists: Vec<Vec<Assignment>> = promising.iter().take(FINALISTS).cloned().collect();
        let found = self.confirm(context, label, launch, &finalists)?;
        if !found.is_empty() {
            // In case that the proof speaks against it.
            promising.retain(|assignments| *assignments != found);
            self.promising = promising;
        }
        Ok(found)
    }

    /// A launch of each candidate; those that are worth more, the best first.
    fn screen(
        &mut self,
        context: &Context<'_>,
        label: &str,
        launch: &Setup,
        banned: &BTreeSet<Assignment>,
    ) -> anyhow::Result<Vec<Vec<Assignment>>> {
        self.was_cut_short = false;
        let rule = context.rule(context.noise_seconds());
        let judge = |now: &[Survey]| targets::judge_all(&self.targets, &self.base, now, &rule);
        let candidates = self.candidates(context, banned);
        let key = |what: &str| format!("{label}/targets/{what}");
        let Some(present) = self.candidate(context, &key("present"), launch, &[])? else {
            return Ok(Vec::new());
        };
        let missing = shortfall(self.now(), &judge(std::slice::from_ref(&present)));
        let mut scored = Vec::new();
        for assignments in candidates {
            if context.budget.search_exhausted(0.0) {
                self.was_cut_short = true;
                context
                    .progress
                    .warn("the budget ended before every setting was tried for overlap; raise --budget");
                break;
            }
            let found = self.candidate(context, &key(&id(&assignments)), launch, &assignments)?;
            if let Some(survey) = found {
                let left = shortfall(self.now(), &judge(&[survey]));
                context.progress.note(&format!(
                    "overlap: {}: shortfall {missing:.2} -> {left:.2}",
                    id(&assignments)
                ));
                if left < (1.0 - PROMISING) * missing {
                    scored.push((left, assignments));
                }
            }
        }
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(scored.into_iter().map(|(_, assignments)| assignments).collect())
    }

    /// Several launches of each finalist, in turn; the first that keeps its promise.
    fn confirm(
        &mut self,
        context: &Context<'_>,
        label: &str,
        launch: &Setup,
        finalists: &[Vec<Assignment>],
    ) -> anyhow::Result<Vec<Assignment>> {
        let mut launches: Vec<Vec<Survey>> = vec![Vec::new(); finalists.len()];
        for launched in 0..LAUNCHES {
            for (assignments, surveys) in finalists.iter().zip(&mut launches) {
                let key = format!("{label}/targets/confirm/{launched}/{}", id(assignments));
                surveys.extend(self.candidate(context, &key, launch, assignments)?);
            }
        }
        let rule = context.rule(context.noise_seconds());
        for (assignments, surveys) in finalists.iter().zip(launches) {
            if surveys.len() < LAUNCHES {
                continue;
            }
            let judged = targets::judge_all(&self.targets, &self.base, &surveys, &rule);
            if let Some(why) = objection(self.now(), &judged) {
                self.refused.push(format!("`{}` {why}", id(assignments)));
                continue;
            }
            if let Some(why) = side_effects::refusal(context, label, launch, assignments)? {
                self.refused.push(format!("`{}` {why}", id(assignments)));
                continue;
            }
            self.searched = false;
            self.proposed.clone_from(assignments);
            return Ok(assignments.clone());
        }
        Ok(Vec::new())
    }

    /// What can be tried: first what was made for it, in case that the budget ends.
    fn candidates(&self, context: &Context<'_>, banned: &BTreeSet<Assignment>) -> Vec<Vec<Assignment>> {
        let mut all: Vec<Vec<Assignment>> = Vec::new();
        if context.programs.progress().is_ok() {
            let variable = |(name, value): &(&str, &str)| Assignment {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
                environment: true,
            };
            all.extend(PROGRESS.iter().map(|pairs| pairs.iter().map(variable).collect()));
        }
        let of_library = space::overlap_candidates(&context.library, &context.transports(), self.spare.as_deref());
        all.extend(of_library.into_iter().map(|one| one.assignments));
        all.retain(|assignments| !assignments.iter().any(|one| banned.contains(one)));
        all
    }
}
