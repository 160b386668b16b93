//! The launches before all others, whose times are not judged. They find out which items can run here, how often to repeat them, and which
//! splits to measure. If they are a screening, they also find out which cells can be violated at all.

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::prediction;
use kilter_model::plan::{self, Plan, Stakes, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Repetitions};
use kilter_stats::verdict;
use kilter_stats::verdict::screening::SCREENING_LAUNCHES;

use super::Verification;
use super::cells::Cells;
use super::launches::{Timed, launch};
use super::learnt::{Aim, Learnt};
use super::second_launch::{self, First};
use crate::context::{Facts, Jobs};

/// Repetitions where there is nothing to predict.
const FEW: u32 = 3;

/// Repetitions of the screening, and the seconds that they may take of each item: slow items get fewer.
const SCREENING: Repetitions = Repetitions::fixed(5, 0.025);

/// Launches that are added for what was not timed, and what each of them multiplies the seconds of an item by.
const FURTHER_LAUNCHES: usize = 3;
const MORE_SECONDS: f64 = 4.0;

/// Share of the seconds left to the verification that the first look at sides may take: where it reaches few of them, these are measured a second time
/// and decided, instead of all being looked at once.
const FIRST_LOOK_SHARE: f64 = 0.25;

/// Share of the seconds that the verification has when it begins: once they are spent, no further sides are looked at.
const LOOKING_SHARE: f64 = 0.5;

/// Findings of the first pass.
#[derive(Debug, Default)]
pub(super) struct FirstPass {
    /// Its times.
    pub(super) timed: Timed,
    /// Repetitions per launch of each block from now on, by its id.
    pub(super) repetitions: BTreeMap<String, u32>,
    /// Costs; empty where it was no screening.
    pub(super) learnt: Learnt,
    /// True if cells that it finds clear need no more launches.
    pub(super) screened: bool,
    /// Launches of the screening so far.
    launches: usize,
    /// The first of them.
    first: BTreeMap<Subject, First>,
    /// Seconds of the application in what is measured.
    stakes: Stakes,
    /// Spread of the empty operation in its first launch, in seconds.
    pub(super) noise: Vec<f64>,
}

/// The pass that fits the options: a screening of all subjects, unless predictors or a fixed design were asked for, or times are exact.
///
/// # Errors
/// As [`launch`].
pub(super) fn first_pass(
    jobs: &Jobs<'_>,
    facts: &Facts,
    (label, setup): (&str, &Setup),
    (plan, subjects): (&Plan, &BTreeSet<Subject>),
    (verification, limit_seconds): (&mut Verification, f64),
) -> anyhow::Result<FirstPass> {
    let options = jobs.site.options;
    if !options.screens() {
        return pilot(
            jobs,
            facts,
            (label, setup),
            (plan, subjects),
            (verification, limit_seconds),
        );
    }
    let mut pass = FirstPass {
        screened: true,
        stakes: Stakes::of(plan),
        ..FirstPass::default()
    };
    jobs.progress.phase(
        &format!("{label}: screening in {SCREENING_LAUNCHES} launches"),
        (SCREENING_LAUNCHES * subjects.len()) as u64,
    );
    let limited = (&mut *verification, limit_seconds);
    let looked_at = pass.screen_coarse_first(jobs, (label, setup), (plan, subjects), limited)?;
    let about = (label, plan, &looked_at);
    let limited = (verification, limit_seconds);
    pass.once_more(jobs, about, SCREENING.seconds, limited, |pass, more| {
        pass.screen(jobs, (label, setup), (more.subjects, more.seconds), more.verification)?;
        Ok(())
    })?;
    pass.repeat(jobs, &BTreeMap::new());
    facts.set_predicted(pass.repetitions.clone());
    facts.learn_costs(pass.learnt.costs(&pass.repetitions));
    Ok(pass)
}

/// The subjects, and those on the other sides of their cells.
fn with_partners(plan: &Plan, subjects: &BTreeSet<Subject>) -> BTreeSet<Subject> {
    let cells = plan
        .cells
        .iter()
        .filter(|cell| subjects.contains(&cell.left) || subjects.contains(&cell.right));
    let both = cells.flat_map(|cell| [&cell.left, &cell.right]);
    both.chain(subjects).cloned().collect()
}

/// A further launch for what has no valid repetition.
struct More<'m> {
    /// From 1 on.
    number: usize,
    subjects: &'m BTreeSet<Subject>,
    /// Seconds that an item may take.
    seconds: f64,
    verification: &'m mut Verification,
}

impl FirstPass {
    /// Makes launches for what was neither timed nor failed, with ever more seconds: on a busy machine all repetitions of an item may be void within
    /// its seconds. What a cell compares it with comes along. Without this its cells would be missing from all that follows.
    fn once_more(
        &mut self,
        jobs: &Jobs<'_>,
        (label, plan, subjects): (&str, &Plan, &BTreeSet<Subject>),
        mut seconds: f64,
        (verification, limit_seconds): (&mut Verification, f64),
        mut launch: impl FnMut(&mut FirstPass, More<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for number in 1..=FURTHER_LAUNCHES {
            let untimed = self.untimed(subjects, verification);
            if untimed.is_empty() || jobs.budget.spent_seconds() >= limit_seconds {
                break;
            }
            seconds *= MORE_SECONDS;
            let mut again = with_partners(plan, &untimed);
            again.retain(|one| subjects.contains(one));
            let text = format!(
                "{label}: {} items once more, for which no repetition was valid",
                untimed.len()
            );
            jobs.progress.phase(&text, again.len() as u64);
            let more = More {
                number,
                subjects: &again,
                seconds,
                verification,
            };
            launch(self, more)?;
        }
        Ok(())
    }

    /// Screens what the seconds reach for; returns what a launch came to. Sizes come in an order from coarse to fine, and what one launch reaches is
    /// measured a second time before another one looks at further sizes: a few sizes that are decided are worth more than all of them seen once.
    fn screen_coarse_first(
        &mut self,
        jobs: &Jobs<'_>,
        (label, setup): (&str, &Setup),
        (plan, subjects): (&Plan, &BTreeSet<Subject>),
        (verification, limit_seconds): (&mut Verification, f64),
    ) -> anyhow::Result<BTreeSet<Subject>> {
        let begin = jobs.budget.spent_seconds();
        let looking_end = begin + LOOKING_SHARE * (limit_seconds - begin);
        let mut looked_at = BTreeSet::new();
        let mut rest = subjects.clone();
        while !rest.is_empty() && (looked_at.is_empty() || jobs.budget.spent_seconds() < looking_end) {
            let spent = jobs.budget.spent_seconds();
            let end = spent + FIRST_LOOK_SHARE * (limit_seconds - spent).max(0.0);
            let look = || self.screen(jobs, (label, setup), (&rest, SCREENING.seconds), verification);
            let reached = jobs.budget.step_until(end, look)?;
            if reached.is_empty() {
                break;
            }
            rest.retain(|one| !reached.contains(one));
            if !rest.is_empty() {
                jobs.progress.note(&format!(
                    "{label}: {} of {} items were looked at so far, {}; the others follow if the time reaches them",
                    subjects.len() - rest.len(),
                    subjects.len(),
                    if plan.calls.is_empty() {
                        "coarse sizes first"
                    } else {
                        "those first in which the application spends most"
                    }
                ));
            }
            if jobs.budget.spent_seconds() < limit_seconds {
                let limited = (&mut *verification, limit_seconds);
                self.screen_again(jobs, (label, setup), (plan, &reached), limited)?;
            } else {
                jobs.progress.warn(&format!(
                    "the time of the {} ended before all cells were screened twice, so that violations cannot be told from noise; raise --budget",
                    jobs.budget.part()
                ));
            }
            looked_at.extend(reached);
        }
        Ok(looked_at)
    }

    /// The second launch of the screening: of what the first one leaves open ([`mod@second_launch`]), and one more of what seemed settled by it where
    /// launches turn out to vary too much for that.
    fn screen_again(
        &mut self,
        jobs: &Jobs<'_>,
        (label, setup): (&str, &Setup),
        (plan, subjects): (&Plan, &BTreeSet<Subject>),
        (verification, limit_seconds): (&mut Verification, f64),
    ) -> anyhow::Result<()> {
        let cells = |pass: &FirstPass| Cells::new(plan, &pass.timed, jobs.site.options.effect_floor);
        let second = second_launch::subjects(&cells(self), &self.first, subjects);
        let once = subjects.len() - second.len();
        if once > 0 {
            jobs.progress.lengthen((subjects.len() + second.len()) as u64);
            jobs.progress.note(&format!(
                "{label}: {once} of {} items need no second launch: each repetition of their cells takes half of the bound or less",
                subjects.len()
            ));
        }
        self.screen(jobs, (label, setup), (&second, SCREENING.seconds), verification)?;
        let open = second_launch::unsettled(&cells(self), &self.timed, subjects, &jobs.site.rule(0.0));
        if open.is_empty() || jobs.budget.spent_seconds() >= limit_seconds {
            return Ok(());
        }
        let text = format!("{label}: {} items once more, since launches vary much", open.len());
        jobs.progress.phase(&text, open.len() as u64);
        self.screen(jobs, (label, setup), (&open, SCREENING.seconds), verification)?;
        Ok(())
    }

    /// One launch of the screening, with so many seconds for the repetitions of an item; returns the subjects that it came to before its time was
    /// over.
    fn screen(
        &mut self,
        jobs: &Jobs<'_>,
        (label, setup): (&str, &Setup),
        (subjects, seconds): (&BTreeSet<Subject>, f64),
        verification: &mut Verification,
    ) -> anyhow::Result<BTreeSet<Subject>> {
        let number = self.launches;
        self.launches += 1;
        let name = format!("{label}/screen/{number}");
        let rule = Repetitions {
            seconds: seconds.min(jobs.site.options.repetitions.seconds),
            ..SCREENING
        };
        let blocks = plan::blocks_coarse_first(subjects, jobs.run.seed, &name, rule, &self.stakes);
        let noise = (number == 0).then_some(&mut self.noise);
        let launched = launch(jobs, &name, setup, blocks, verification, noise)?;
        self.timed
            .collect(number, &launched.blocks, &launched.outcomes, &mut verification.failed);
        for (block, outcome) in launched.blocks.iter().zip(&launched.outcomes) {
            self.learnt.add(block, outcome);
        }
        let items = launched.blocks.iter().zip(&launched.outcomes);
        let items = items.flat_map(|(block, outcome)| block.items.iter().map(move |item| (item, outcome)));
        let reached: BTreeMap<Subject, Option<&[f64]>> = items
            .filter_map(|(item, outcome)| {
                let samples = outcome.samples.get(&item.id);
                let is_reached = samples.is_some() || outcome.failed.contains_key(&item.id);
                let repetitions = samples.map(|samples| samples.seconds.as_slice());
                Some((Subject::of(item).filter(|_| is_reached)?, repetitions))
            })
            .collect();
        self.note_first(&reached);
        Ok(reached.into_keys().collect())
    }

    /// Keeps the repetitions of subjects that no launch came to before, with their costs.
    fn note_first(&mut self, reached: &BTreeMap<Subject, Option<&[f64]>>) {
        if reached.keys().all(|subject| self.first.contains_key(subject)) {
            return;
        }
        let costs = self.learnt.costs(&BTreeMap::new());
        for (subject, repetitions) in reached {
            if let Some((repetitions, costs)) = repetitions.zip(costs.get(subject)) {
                self.first.entry(subject.clone()).or_insert_with(|| First {
                    repetitions: repetitions.to_vec(),
                    cost_seconds: costs.screening_seconds,
                });
            }
        }
    }

    /// The subjects that were neither timed nor failed.
    fn untimed(&self, subjects: &BTreeSet<Subject>, verification: &Verification) -> BTreeSet<Subject> {
        let is_untimed =
            |one: &&Subject| self.timed.of(one).is_none() && !verification.failed.contains_key(&one.item_id());
        subjects.iter().filter(is_untimed).cloned().collect()
    }

    /// Repeats from now on as the screening says, to tell ratios from the floor that lie so far from it.
    pub(super) fn repeat(&mut self, jobs: &Jobs<'_>, distances: &BTreeMap<Subject, f64>) {
        let (options, rule) = (jobs.site.options, jobs.site.options.repetitions);
        self.repetitions = self.learnt.repetitions(&Aim {
            launch_seconds: jobs.launch_seconds(),
            launches: verdict::next_look(0, options.launches),
            margin: options.effect_floor.ln_1p(),
            distances,
            max: rule.max,
        });
        for count in self.repetitions.values_mut() {
            *count = (*count).max(rule.min);
        }
    }
}

/// One launch that finds out how often each item has to be repeated, three times independently, where a predictor was asked for and none
/// has run; else each item has a few repetitions.
///
/// # Errors
/// As [`launch`].
pub(super) fn pilot(
    jobs: &Jobs<'_>,
    facts: &Facts,
    (label, setup): (&str, &Setup),
    (plan, subjects): (&Plan, &BTreeSet<Subject>),
    (verification, limit_seconds): (&mut Verification, f64),
) -> anyhow::Result<FirstPass> {
    let name = format!("{label}/predict");
    let given = jobs.site.options.repetitions;
    let is_given = given.min == given.max;
    // A number that is given, or was predicted by an earlier verification, need not be predicted.
    let is_known = is_given || jobs.site.options.by_variance || !facts.predicted().is_empty();
    let mut blocks = plan::blocks(subjects, jobs.run.seed, &name, given);
    if is_known {
        for block in &mut blocks {
            let few = Repetitions::fixed(FEW, block.repetitions.seconds);
            block.repetitions = jobs.site.options.repetitions_or(few);
        }
    }
    let measured = if is_known {
        blocks.clone()
    } else {
        prediction::prediction_blocks(&blocks, given)
    };
    let what = if is_known { "first look" } else { "predict repetitions" };
    jobs.progress.phase(&format!("{label}: {what}"), measured.len() as u64);
    let launched = launch(jobs, &name, setup, measured, verification, None)?;
    let mut pass = FirstPass::default();
    pass.timed
        .collect(0, &launched.blocks, &launched.outcomes, &mut verification.failed);
    if is_given {
        let all = blocks.iter().map(|block| (block.id.clone(), given.max)).collect();
        facts.set_predicted(all);
    } else if !is_known {
        let outcomes: Vec<(Block, _)> = launched.blocks.into_iter().zip(launched.outcomes).collect();
        facts.set_predicted(prediction::predicted(&blocks, &outcomes));
    }
    pass.repetitions = facts.predicted();
    let about = (label, plan, subjects);
    pass.once_more(
        jobs,
        about,
        given.seconds,
        (verification, limit_seconds),
        |pass, more| {
            let few = Repetitions::fixed(FEW, more.seconds);
            let rule = jobs.site.options.repetitions_or(few);
            let name = format!("{name}/{}", more.number);
            let blocks = plan::blocks(more.subjects, jobs.run.seed, &name, rule);
            let launched = launch(jobs, &name, setup, blocks, more.verification, None)?;
            let failed = &mut more.verification.failed;
            pass.timed
                .collect(more.number, &launched.blocks, &launched.outcomes, failed);
            Ok(())
        },
    )?;
    Ok(pass)
}
