//! Overlap targets in the loop of `kilter tune`: measured before, fixed like violations, and measured again with the
//! deployed settings.
//!
//! A candidate is a setting of a whole launch: a transport or protocol, threads of the library, Kilter's progress thread. It must meet a
//! missed target, by the times of the untouched library (see [`targets`]), in several launches in turn with it. It must neither miss a target
//! that was met, nor slow a collective or a small message down.
//!
//! [`points`] has the cells of a target and [`launches`] measures them once. [`search`] tries settings on a [`mod@bench`]; [`gain`] tells if
//! one comes nearer, by launches [`in_turn`], and [`side_effects`] tells its cost. [`tried`] keeps the fate of each, [`picture`] draws maps of
//! the change, and [`account`] makes the report.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::change::id;
use kilter_model::config::target::Target;
use kilter_model::deployment::Assignment;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::setup::Setup;
use kilter_model::survey::Survey;
use kilter_protocol::overlap::{Benchmark, Model};
use kilter_search::context::{Facts, Jobs, Site};

use super::grid::Point;
use super::options::Suite;
use super::targets::looks::{self, FIRST_LAUNCHES as LAUNCHES, Launches};
use super::targets::{self, Judgement};

mod account;
mod bench;
mod gain;
mod in_turn;
mod launches;
mod picture;
mod points;
mod search;
mod side_effects;
mod tried;

use gain::{Told, is_open};
use in_turn::InTurn;
use picture::Picture;
use tried::Tried;

/// Share of the search's budget that deciding the untouched library's targets may take beyond the first launches.
const DECIDING_SHARE: f64 = 0.2;

/// Overlap targets of a run, and how far they are met.
#[derive(Debug)]
pub struct Goals {
    targets: Vec<Target>,
    suite: Suite,
    points: BTreeMap<Benchmark, Vec<Point>>,
    /// A free processing unit for each rank of rank 0's host, if there are enough.
    spare: Option<Vec<usize>>,
    /// Launches of the untouched library.
    base: Vec<Survey>,
    before: Vec<Judgement>,
    after: Option<Vec<Judgement>>,
    /// Value of `after` before the last deployment was judged.
    after_before: Option<Vec<Judgement>>,
    /// Launches of the deployed settings, in turn with the untouched library, by which `after` was judged.
    deployed: Option<Launches>,
    picture: Option<Picture>,
    /// Settings that the launches which prove a deployment have confirmed, proposal by proposal.
    chosen: Vec<Vec<Assignment>>,
    /// Settings that the search found last, not yet proven by such launches.
    proposed: Vec<Assignment>,
    /// Settings that came near the targets in a launch each and were not looked at further, the best first.
    promising: Vec<Tried>,
    /// Candidates that looked better in a launch, with the fate of each.
    tried: Vec<Tried>,
    refused: Vec<String>,
    searched: bool,
    /// True if the budget ended before every setting was tried.
    was_cut_short: bool,
}

/// Settings that were deployed for overlap and must be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disproved {
    /// The settings.
    pub assignments: Vec<Assignment>,
    /// The observation, for people.
    pub because: String,
}

impl Goals {
    /// Goals without any measurement.
    fn of(wanted: &[Target], model: Model) -> Goals {
        Goals {
            targets: wanted.to_vec(),
            suite: points::suite(wanted, model),
            points: BTreeMap::new(),
            spare: None,
            base: Vec::new(),
            before: Vec::new(),
            after: None,
            after_before: None,
            deployed: None,
            picture: None,
            chosen: Vec::new(),
            proposed: Vec::new(),
            promising: Vec::new(),
            tried: Vec::new(),
            refused: Vec::new(),
            searched: false,
            was_cut_short: false,
        }
    }

    /// Measures the untouched library; does nothing without a target.
    pub fn begin(jobs: &Jobs<'_>, facts: &Facts, wanted: &[Target], model: Model) -> anyhow::Result<Goals> {
        let mut goals = Goals::of(wanted, model);
        if wanted.is_empty() {
            return Ok(goals);
        }
        goals.find_points(jobs)?;
        let (mut launches, mut seconds) = goals.first_look(jobs, "targets/before")?;
        if goals.are_lost_in_noise(&jobs.site, facts, &launches) && goals.affords_more_precision(jobs, seconds) {
            goals.look_more_precisely();
            jobs.progress
                .note("overlap: a target cannot be told from noise; measuring again, with more repetitions");
            (launches, seconds) = goals.first_look(jobs, "targets/before/precisely")?;
        }
        // The proof takes as many launches, and as many of the untouched library in turn with them.
        jobs.budget.reserve(2.0 * seconds);
        let before = looks::judge_in_looks(
            (&goals.targets, &jobs.site.rule(facts.noise_seconds())),
            &mut launches,
            |further| {
                let seconds = seconds / LAUNCHES as f64 * further as f64;
                jobs.budget
                    .with_share(DECIDING_SHARE, || !jobs.budget.search_exhausted(seconds))
            },
            // Missed targets are searched for, which needs the budget.
            |judged| !judged.iter().any(is_open) && looks::is_nearly_met(judged),
            |launches, launch| goals.base_launch(jobs, "targets/before", launches, launch),
        )?;
        (goals.base, goals.before) = (launches.base, before);
        for judgement in &goals.before {
            jobs.progress.note(&format!(
                "{}: {}",
                judgement.target,
                judgement
                    .remark()
                    .unwrap_or_else(|| judgement.standing().name().to_owned())
            ));
        }
        Ok(goals)
    }

    /// First launches of the untouched library, and their seconds of measuring.
    fn first_look(&self, jobs: &Jobs<'_>, label: &str) -> anyhow::Result<(Launches, f64)> {
        let before = jobs.budget.spent_seconds();
        let mut launches = Launches::default();
        for launch in 0..LAUNCHES {
            self.base_launch(jobs, label, &mut launches, launch)?;
        }
        Ok((launches, jobs.budget.spent_seconds() - before))
    }

    /// Adds the launch of this number of the untouched library.
    fn base_launch(&self, jobs: &Jobs<'_>, label: &str, launches: &mut Launches, launch: usize) -> anyhow::Result<()> {
        let survey = self.survey(jobs, &format!("{label}/{launch}"), &Setup::default())?;
        launches.base.push(survey);
        Ok(())
    }

    /// True if some target cannot be judged because what could be hidden is near the noise in all of its cells.
    fn are_lost_in_noise(&self, site: &Site<'_>, facts: &Facts, launches: &Launches) -> bool {
        let rule = site.rule(facts.noise_seconds());
        let judged = targets::judge_all(&self.targets, &launches.base, &launches.base, &rule);
        judged.iter().any(Judgement::is_lost_in_noise)
    }

    /// True if a target is missed for which no search has been made in vain.
    #[must_use]
    pub fn are_missed(&self) -> bool {
        !self.searched && self.now().iter().any(is_open)
    }

    fn now(&self) -> &[Judgement] {
        self.after.as_ref().unwrap_or(&self.before)
    }

    /// Judges the deployed settings in launches in turn with the untouched library, by its new times. Returns the
    /// search's proposal if these launches do not confirm it: it was chosen in a few launches among many settings, one
    /// of which sometimes looks better by chance alone.
    pub fn judge_deployed(
        &mut self,
        jobs: &Jobs<'_>,
        facts: &Facts,
        label: &str,
        staged: &Setup,
    ) -> anyhow::Result<Option<Disproved>> {
        if self.targets.is_empty() {
            return Ok(None);
        }
        let mut launches = Launches {
            base: Vec::new(),
            now: Some(Vec::new()),
        };
        let measure = |launches: &mut Launches, launch: usize| -> anyhow::Result<()> {
            let key = |which: &str| format!("{label}/targets/{launch}/{which}");
            launches
                .base
                .push(self.survey(jobs, &key("before"), &Setup::default())?);
            let now = self.survey(jobs, &key("after"), staged)?;
            launches.now.get_or_insert_default().push(now);
            Ok(())
        };
        let spent_before = jobs.budget.spent_seconds();
        for launch in 0..LAUNCHES {
            measure(&mut launches, launch)?;
        }
        let spent = jobs.budget.spent_seconds();
        let rule = jobs.site.rule(facts.noise_seconds());
        let judged = looks::judge_in_looks(
            (&self.targets, &rule),
            &mut launches,
            |further| {
                let seconds = (spent - spent_before) / LAUNCHES as f64 * further as f64;
                spent + seconds <= jobs.budget.total_seconds()
            },
            looks::is_nearly_met,
            measure,
        )?;
        let untouched = targets::judge_all(&self.targets, &launches.base, &launches.base, &rule);
        let found = {
            // Earlier deployments for overlap were judged in other launches. Without any, the untouched library stands
            // for the present state.
            let in_turn = InTurn {
                targets: &self.targets.clone(),
                untouched: &launches.base,
                present: &launches.base,
                now: launches.now.as_deref().unwrap_or_default(),
                rule: &rule,
            };
            let told = if !self.chosen.is_empty() {
                Told::ByIntervals
            } else {
                Told::InTurn(&in_turn)
            };
            self.settle(untouched, judged, told)
        };
        self.deployed = Some(launches);
        self.picture = None;
        Ok(found)
    }

    /// Records the deployed settings with their judgement beside the untouched library.
    fn settle(&mut self, untouched: Vec<Judgement>, judged: Vec<Judgement>, told: Told<'_>) -> Option<Disproved> {
        // The earlier deployment may have come nearer already.
        self.after_before = self.after.replace(judged);
        let present = self.after_before.clone().unwrap_or(untouched);
        let proposed = std::mem::take(&mut self.proposed);
        if proposed.is_empty() {
            return None;
        }
        let Some(why) = gain::objection(&present, self.now(), told) else {
            for chosen in &mut self.chosen {
                chosen.retain(|one| !proposed.iter().any(|new| new.name == one.name));
            }
            self.chosen.retain(|chosen| !chosen.is_empty());
            let by = id(&proposed);
            self.chosen.push(proposed);
            // The others that came near were measured without it.
            let met_before = |one: Tried| one.refused(NotDeployed::MetBefore { by: by.clone() });
            self.tried.extend(self.promising.drain(..).map(met_before));
            return None;
        };
        let seen = format!("{why} in the launches under the deployed files");
        self.take_back(&proposed, &seen);
        let because = format!("`{}` {seen}", id(&proposed));
        self.refused.push(because.clone());
        // The next round tries what else came near, and nothing where nothing did.
        self.searched = self.promising.is_empty();
        Some(Disproved {
            assignments: proposed,
            because,
        })
    }

    /// Marks tried candidates with these settings as taken back.
    fn take_back(&mut self, assignments: &[Assignment], because: &str) {
        let mut tried = self.tried.iter_mut();
        if let Some(one) = tried.find(|one| one.assignments == assignments && one.not_deployed.is_none()) {
            one.not_deployed = Some(NotDeployed::TakenBack {
                because: because.to_owned(),
            });
        }
    }

    /// Takes back the last deployment. The earlier one keeps the judgement that it had.
    pub fn judged_as_before(&mut self) {
        self.after = self.after_before.take();
        self.deployed = None;
        self.picture = None;
    }

    /// Forgets the judgement, because nothing is deployed after all.
    pub fn nothing_deployed(&mut self) {
        self.after = None;
        self.deployed = None;
        self.picture = None;
    }

    /// Takes back chosen settings that are not deployed after all; `because` has the reason for each of them
    /// (`name=value`).
    pub fn keep_only<'w>(&mut self, deployed: &[Assignment], because: impl Iterator<Item = (&'w str, String)>) {
        let mut gone: Vec<Vec<Assignment>> = Vec::new();
        let mut left: BTreeSet<String> = BTreeSet::new();
        // Another value of a name is on trial, and the one before comes back if it fails.
        let is_tried = |one: &Assignment| {
            let mut tried = self.proposed.iter();
            tried.any(|new| new.name == one.name && deployed.contains(new))
        };
        let stands = |one: &Assignment| deployed.contains(one) || is_tried(one);
        let (standing, fallen): (Vec<_>, Vec<_>) = std::mem::take(&mut self.chosen)
            .into_iter()
            .partition(|chosen| chosen.iter().all(stands));
        gone.extend(fallen.iter().cloned());
        left.extend(fallen.into_iter().flatten().map(|one| id(&[one])));
        self.chosen = standing;
        if !self.proposed.iter().all(|one| deployed.contains(one)) {
            gone.push(self.proposed.clone());
            left.extend(self.proposed.drain(..).map(|one| id(&[one])));
        }
        let of_left = because.filter(|(what, _)| left.contains(*what));
        let lines: Vec<String> = of_left.map(|(_, line)| line).collect();
        for assignments in &gone {
            self.take_back(assignments, &lines.join("; "));
        }
        self.refused.extend(lines);
    }

    /// The chosen settings, confirmed or not.
    pub fn chosen(&self) -> impl Iterator<Item = &Assignment> {
        self.chosen.iter().flatten().chain(&self.proposed)
    }
}

#[cfg(test)]
mod tests;
