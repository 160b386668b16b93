//! Overlap targets in the loop of `kilter tune`: measured before, fixed as violations are, measured again with what is deployed.
//!
//! A candidate is a setting of a whole launch: how messages travel, threads of the library's, Kilter's progress thread. It has to
//! meet a target that was missed, judged by the times of the untouched library (see [`targets`]), in several launches in turn with
//! it, and must neither miss a target that was not missed nor slow a collective or a small message.
//!
//! [`points`]: where a target is looked at; [`launches`]: one look; [`search`]: what is tried, [`gain`]: whether it comes nearer,
//! [`side_effects`]: what it costs; [`picture`]: a map of what changed; [`account`]: what is reported.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::overlap::Benchmark;

use super::grid::Point;
use super::model::Survey;
use super::options::Suite;
use super::targets::looks::{self, FIRST_LAUNCHES as LAUNCHES, Launches};
use super::targets::{self, Judgement};
use crate::config::target::Target;
use crate::context::{Context, Setup};
use crate::deployment::Assignment;
use crate::search::necessity::id;

mod account;
mod gain;
mod launches;
mod picture;
mod points;
mod search;
mod side_effects;

use gain::is_open;
use picture::Picture;

/// Share of the search's budget that deciding the untouched library's targets may take beyond the first launches.
const DECIDING_SHARE: f64 = 0.2;

/// What overlap shall reach, and how far it is.
#[derive(Debug)]
pub struct Goals {
    targets: Vec<Target>,
    suite: Suite,
    points: BTreeMap<Benchmark, Vec<Point>>,
    /// A free processing unit for each rank of rank 0's host, where there are enough.
    spare: Option<Vec<usize>>,
    /// Launches of the untouched library.
    base: Vec<Survey>,
    before: Vec<Judgement>,
    after: Option<Vec<Judgement>>,
    /// Launches of what is deployed, in turn with the untouched library, by which `after` was judged.
    deployed: Option<Launches>,
    picture: Option<Picture>,
    chosen: Vec<Assignment>,
    refused: Vec<String>,
    searched: bool,
}

impl Goals {
    /// Nothing measured.
    fn of(wanted: &[Target]) -> Goals {
        Goals {
            targets: wanted.to_vec(),
            suite: points::suite(wanted),
            points: BTreeMap::new(),
            spare: None,
            base: Vec::new(),
            before: Vec::new(),
            after: None,
            deployed: None,
            picture: None,
            chosen: Vec::new(),
            refused: Vec::new(),
            searched: false,
        }
    }

    /// Measures the untouched library; nothing where there is no target.
    ///
    /// # Errors
    /// A job that fails.
    pub fn begin(context: &Context<'_>, wanted: &[Target]) -> anyhow::Result<Goals> {
        let mut goals = Goals::of(wanted);
        if wanted.is_empty() {
            return Ok(goals);
        }
        goals.find_points(context)?;
        let (mut launches, mut seconds) = goals.first_look(context, "targets/before")?;
        if goals.are_lost_in_noise(context, &launches) && goals.affords_more_precision(context, seconds) {
            goals.look_more_precisely();
            context
                .progress
                .note("overlap: a target cannot be told from noise; measuring again, with more repetitions");
            (launches, seconds) = goals.first_look(context, "targets/before/precisely")?;
        }
        // The proof takes as many launches, and as many of the untouched library in turn with them.
        context.budget.reserve(2.0 * seconds);
        let before = looks::judge_in_looks(
            (&goals.targets, &context.rule(context.noise_seconds())),
            &mut launches,
            |further| {
                let seconds = seconds / LAUNCHES as f64 * further as f64;
                context
                    .budget
                    .with_share(DECIDING_SHARE, || !context.budget.search_exhausted(seconds))
            },
            // What is missed is searched for, which needs the budget.
            |judged| !judged.iter().any(is_open) && looks::is_nearly_met(judged),
            |launches, launch| goals.base_launch(context, "targets/before", launches, launch),
        )?;
        (goals.base, goals.before) = (launches.base, before);
        for judgement in &goals.before {
            context.progress.note(&format!(
                "{}: {}",
                judgement.target,
                judgement
                    .remark()
                    .unwrap_or_else(|| judgement.standing().name().to_owned())
            ));
        }
        Ok(goals)
    }

    /// The first launches of the untouched library, and the seconds of measuring that they took.
    fn first_look(&self, context: &Context<'_>, label: &str) -> anyhow::Result<(Launches, f64)> {
        let before = context.budget.spent_seconds();
        let mut launches = Launches::default();
        for launch in 0..LAUNCHES {
            self.base_launch(context, label, &mut launches, launch)?;
        }
        Ok((launches, context.budget.spent_seconds() - before))
    }

    /// Adds the launch of this number of the untouched library.
    fn base_launch(
        &self,
        context: &Context<'_>,
        label: &str,
        launches: &mut Launches,
        launch: usize,
    ) -> anyhow::Result<()> {
        let survey = self.survey(context, &format!("{label}/{launch}"), &Setup::default())?;
        launches.base.push(survey);
        Ok(())
    }

    /// Whether nothing can be said of some target, since what could be hidden is near the noise in all of its cells.
    fn are_lost_in_noise(&self, context: &Context<'_>, launches: &Launches) -> bool {
        let rule = context.rule(context.noise_seconds());
        let judged = targets::judge_all(&self.targets, &launches.base, &launches.base, &rule);
        judged.iter().any(Judgement::is_lost_in_noise)
    }

    /// Whether there is something to fix that has not been searched for in vain.
    #[must_use]
    pub fn are_missed(&self) -> bool {
        !self.searched && self.now().iter().any(is_open)
    }

    fn now(&self) -> &[Judgement] {
        self.after.as_ref().unwrap_or(&self.before)
    }

    /// Judges what is deployed, in launches in turn with the untouched library, by whose new times it is judged.
    ///
    /// # Errors
    /// A job that fails.
    pub fn judge_deployed(&mut self, context: &Context<'_>, label: &str, staged: &Setup) -> anyhow::Result<()> {
        if self.targets.is_empty() {
            return Ok(());
        }
        let mut launches = Launches {
            base: Vec::new(),
            now: Some(Vec::new()),
        };
        let measure = |launches: &mut Launches, launch: usize| -> anyhow::Result<()> {
            let key = |which: &str| format!("{label}/targets/{launch}/{which}");
            launches
                .base
                .push(self.survey(context, &key("before"), &Setup::default())?);
            let now = self.survey(context, &key("after"), staged)?;
            launches.now.get_or_insert_default().push(now);
            Ok(())
        };
        let spent_before = context.budget.spent_seconds();
        for launch in 0..LAUNCHES {
            measure(&mut launches, launch)?;
        }
        let spent = context.budget.spent_seconds();
        let judged = looks::judge_in_looks(
            (&self.targets, &context.rule(context.noise_seconds())),
            &mut launches,
            |further| {
                let seconds = (spent - spent_before) / LAUNCHES as f64 * further as f64;
                spent + seconds <= context.options.budget_seconds
            },
            looks::is_nearly_met,
            measure,
        )?;
        self.after = Some(judged);
        self.deployed = Some(launches);
        self.picture = None;
        Ok(())
    }

    /// Forgets what was judged: nothing is deployed after all.
    pub fn nothing_deployed(&mut self) {
        self.after = None;
        self.deployed = None;
        self.picture = None;
    }

    /// Takes back what was chosen, where not all of it is deployed after all; `because` says of settings (`name=value`) why they are not.
    pub fn keep_only<'w>(&mut self, deployed: &[Assignment], because: impl Iterator<Item = (&'w str, String)>) {
        if self.chosen.iter().all(|chosen| deployed.contains(chosen)) {
            return;
        }
        let chosen: BTreeSet<String> = self.chosen.drain(..).map(|one| id(&[one])).collect();
        let of_chosen = because.filter(|(what, _)| chosen.contains(*what));
        self.refused.extend(of_chosen.map(|(_, line)| line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_deployed_after_all_is_no_fix_and_says_why() {
        let setting = |name: &str| Assignment {
            name: name.to_owned(),
            value: "1".to_owned(),
            environment: true,
        };
        let because = || [("A=1", "A is left out".to_owned()), ("C=1", "C is left out".to_owned())].into_iter();
        let goals = || Goals {
            chosen: vec![setting("A"), setting("B")],
            ..Goals::of(&[])
        };
        let mut kept = goals();
        kept.keep_only(&[setting("B"), setting("A")], because());
        assert!(kept.chosen.len() == 2 && kept.refused.is_empty());
        let mut taken_back = goals();
        taken_back.keep_only(&[setting("B")], because());
        assert!(taken_back.chosen.is_empty());
        assert_eq!(taken_back.refused, ["A is left out"]);
    }
}
