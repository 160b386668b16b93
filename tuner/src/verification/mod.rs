//! One verification: how often to repeat is predicted, launches are made, medians per launch judged over all cells together,
//! and cells that are not decided get more launches until all are or the seconds end.
//!
//! The method is [`crate::verdict`]'s; the launches themselves are in [`launches`], the way between the plan's cells and the
//! judged families in [`cells`].

mod cells;
mod launches;

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::plan::Repetitions;
use kilter_protocol::report::Synchronised;

use crate::context::{Context, Setup};
use crate::plan::{self, PlannedCell, Subject};
use crate::prediction;
use crate::report::model::{Comparison, Outcome};
use crate::stats::sample::Sample;
use crate::verdict::sequential::{CellIndex, NextLook};
use crate::verdict::{self, Sequential, Stability};
use cells::Cells;
use launches::{Timed, launch, pilot};

/// Medians of one subject, one per launch, in seconds.
pub type Medians = BTreeMap<Subject, Vec<f64>>;

/// A judged cell.
#[derive(Debug, Clone)]
pub struct JudgedCell {
    /// Which.
    pub cell: PlannedCell,
    /// With what evidence.
    pub comparison: Comparison,
    /// What else is to be known about the verdict: why it is unstable.
    pub note: Option<String>,
}

/// What a verification found.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Every cell that could be judged.
    pub cells: Vec<JudgedCell>,
    /// Everything that was timed.
    pub medians: Medians,
    /// Subjects that failed, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Spread of the empty operation in seconds (interquartile range, median over launches).
    pub noise_seconds: f64,
    /// Smallest step of the clock in seconds.
    pub clock_tick_seconds: f64,
    /// Cost of one reading of the clock in seconds.
    pub clock_read_seconds: f64,
    /// What rank 0 measures for an empty repetition by itself, in seconds.
    pub loop_overhead_seconds: f64,
    /// How repetitions were started, and how well where it was worst.
    pub sync: Option<Synchronised>,
    /// How often the drop-in ran each implementation, over all launches.
    pub dropin_calls: BTreeMap<String, u64>,
    /// The last launch as a command line.
    pub command_line: String,
    /// The library's version string and the hosts.
    pub library_string: String,
    /// Hosts, each once.
    pub hosts: Vec<String>,
    /// Launches that were made, the predicting one not among them.
    pub launches: usize,
    /// Medians of the reference cell, launch by launch, in seconds.
    pub reference: Vec<Vec<f64>>,
}

impl Verification {
    /// The violated cells.
    pub fn violated(&self) -> impl Iterator<Item = &JudgedCell> {
        self.cells
            .iter()
            .filter(|judged| judged.comparison.verdict == Outcome::Violated)
    }

    /// Keeps the worst of what the launches found out about their common time.
    fn heed(&mut self, found: Option<Synchronised>) {
        let Some(found) = found else { return };
        let worst = self.sync.get_or_insert(found);
        if found.residual_seconds + found.bound_seconds > worst.residual_seconds + worst.bound_seconds {
            *worst = found;
        }
    }
}

/// Repetitions in a verification, per item: enough for a stable median in a launch, little enough that the budget goes into
/// launches, between which times differ most.
pub const REPETITIONS: Repetitions = Repetitions::until(8, 60, 0.02, 0.25);

/// Launches that prove a deployment, unless fewer are asked for.
const PROOF_LAUNCHES: usize = 10;

/// Fewer launches than this decide nothing.
const MIN_LAUNCHES: usize = 3;

/// What the launches of a verification share.
struct Work<'a, 'b> {
    context: &'a Context<'b>,
    label: &'a str,
    setup: &'a Setup,
    repetitions: BTreeMap<String, u32>,
    verification: Verification,
    timed: Timed,
    noise: Vec<f64>,
    cells: Cells,
    /// What the predicting launch found where times are exact: another one would find the same.
    known: Option<Timed>,
    /// Seconds spent by the whole command at which the launches end.
    limit_seconds: f64,
}

/// Runs and judges. `label` names it in launch keys; `setup` is what is in force. With `untouched`, every launch is followed by
/// one of the library as it is, left sides only, so that both see the same minutes of the machine; its medians come back too;
/// and neither verdicts nor the budget cut it short, because what is deployed is proven or not deployed. Else it spends at most
/// `seconds`, and at most what is left of the budget.
///
/// # Errors
/// A launch that failed although nothing but the untouched or verified library ran in it.
pub fn verify(
    context: &Context<'_>,
    label: &str,
    setup: &Setup,
    untouched: bool,
    seconds: f64,
) -> anyhow::Result<(Verification, Medians)> {
    let mut verification = Verification::default();
    let limit_seconds = (context.budget.spent_seconds() + seconds).min(context.options.budget_seconds);
    let subjects = context.plan.subjects();
    let (repetitions, pilot) = pilot(context, label, setup, &subjects, &mut verification)?;
    let cells = Cells::new(&context.plan, &pilot, context.options.effect_floor);
    let mut work = Work {
        context,
        label,
        setup,
        repetitions,
        verification,
        timed: Timed::default(),
        noise: Vec::new(),
        cells,
        known: context.options.is_exact().then_some(pilot),
        limit_seconds,
    };
    work.warn_of_few_launches();
    let reference = if untouched {
        work.fixed()?
    } else {
        work.sequential()?;
        Medians::new()
    };
    let mut verification = work.verification;
    verification.medians = work.timed.medians();
    Ok((verification, reference))
}

impl Work<'_, '_> {
    fn warn_of_few_launches(&self) {
        let (options, cells) = (self.context.options, self.cells.hypotheses());
        if options.is_exact() {
            return;
        }
        let needed = verdict::launches_needed(cells, options.alpha, options.test);
        if options.launches < needed {
            self.context.progress.warn(&format!(
                "{} launches cannot show a violation among {cells} hypotheses, however clear it is; use --launches {needed} or \
                 more, or fewer cells",
                options.launches
            ));
        }
    }

    /// One launch of these subjects; returns what it cost in seconds.
    fn launch(&mut self, subjects: &BTreeSet<Subject>) -> anyhow::Result<f64> {
        let has_all = |known: &Timed| subjects.iter().all(|subject| known.of(subject).is_some());
        if let Some(known) = self.known.take().filter(has_all) {
            self.timed = known;
            self.verification.launches += 1;
            return Ok(0.0);
        }
        let number = self.verification.launches;
        let name = format!("{}/{number}", self.label);
        let seconds = self.context.options.repetitions.seconds;
        let blocks = plan::blocks(subjects, self.context.run.seed, &name, self.context.options.repetitions);
        let blocks = prediction::measuring_blocks(blocks, &self.repetitions, seconds);
        let noise = Some(&mut self.noise);
        let launched = launch(self.context, &name, self.setup, blocks, &mut self.verification, noise)?;
        let failed = &mut self.verification.failed;
        self.timed.collect(number, &launched.blocks, &launched.outcomes, failed);
        self.verification.reference.push(launched.reference);
        self.verification.launches += 1;
        let noise = Sample::new(self.noise.clone());
        self.verification.noise_seconds = noise.map_or(0.0, |noise| noise.median());
        Ok(launched.seconds)
    }

    fn is_spent(&self) -> bool {
        self.context.budget.spent_seconds() >= self.limit_seconds
    }

    fn stability(&self) -> Option<Stability> {
        let rule = self.context.rule(self.verification.noise_seconds);
        let measured = self.verification.reference.iter().all(|medians| !medians.is_empty());
        measured
            .then(|| Stability::of(&self.verification.reference, &rule).ok())
            .flatten()
    }

    /// Launches until every cell is decided, the launches are used up, or the seconds are.
    fn sequential(&mut self) -> anyhow::Result<()> {
        let (context, options) = (self.context, self.context.options);
        let mut design: Option<Sequential> = None;
        let mut subjects = self.cells.subjects();
        // What one more launch costs: known from the last one, scaled by how much of it is still wanted.
        let (mut seconds_per_launch, mut timed_subjects) = (0.0, subjects.len().max(1));
        loop {
            let left = (self.limit_seconds - context.budget.spent_seconds()).max(0.0);
            let scaled = seconds_per_launch * subjects.len() as f64 / timed_subjects as f64;
            let next = match &design {
                _ if options.fixed => (self.verification.launches == 0).then_some(NextLook {
                    launches: options.launches,
                    last: true,
                }),
                Some(design) => design.next_launches(scaled, left),
                None => Sequential::new(context.rule(0.0), options.launches).next_launches(0.0, left),
            };
            let Some(next) = next else { break };
            let missing = next.launches.saturating_sub(self.verification.launches);
            context.progress.phase(
                &format!(
                    "{}: {} of at most {} launches",
                    self.label, next.launches, options.launches
                ),
                (missing * subjects.len()) as u64,
            );
            let mut last = next.last;
            for _ in 0..missing {
                seconds_per_launch = self.launch(&subjects)?;
                timed_subjects = subjects.len().max(1);
                // Seconds end a look early: because of the clock, not because of what was measured.
                if !options.fixed && self.is_spent() && self.verification.launches >= MIN_LAUNCHES {
                    last = true;
                    break;
                }
            }
            let design = design.get_or_insert_with(|| {
                self.cells.retain_timed(&self.timed);
                let rule = context.rule(self.verification.noise_seconds);
                Sequential::new(rule, options.launches)
            });
            let judged = design.look(&self.cells.families(&self.timed)?, last);
            for index in self.finish(judged)? {
                // The machine does not let the verdict stand: more launches may.
                design.reopen(index);
            }
            let wanted = design.wanted();
            if last || wanted.is_empty() {
                break;
            }
            subjects = self.cells.subjects_of(&wanted);
        }
        self.report_stability();
        let undecided = |judged: &&JudgedCell| judged.comparison.verdict == Outcome::Undecided;
        let open = self.verification.cells.iter().filter(undecided).count();
        if open > 0 && self.is_spent() {
            context.progress.warn(&format!(
                "{:.0} s of the budget were spent after {} launches with {open} cells undecided; raise --budget for surer verdicts",
                context.budget.spent_seconds(),
                self.verification.launches
            ));
        }
        Ok(())
    }

    /// A fixed number of launches of everything, each followed by one of the untouched library; one look.
    fn fixed(&mut self) -> anyhow::Result<Medians> {
        let (context, options) = (self.context, self.context.options);
        let launches = options.launches.min(PROOF_LAUNCHES);
        let subjects: BTreeSet<Subject> = self
            .cells
            .subjects()
            .union(&context.plan.library_subjects())
            .cloned()
            .collect();
        let left = context.plan.library_subjects();
        let mut untouched = Timed::default();
        context.progress.phase(
            &format!(
                "{}: {launches} launches, and as many of the untouched library",
                self.label
            ),
            (launches * (subjects.len() + left.len())) as u64,
        );
        for number in 0..launches {
            self.launch(&subjects)?;
            let name = format!("{}/{number}/untouched", self.label);
            let blocks = plan::blocks(&left, context.run.seed, &name, options.repetitions);
            let blocks = prediction::measuring_blocks(blocks, &self.repetitions, options.repetitions.seconds);
            let mut unused = Verification::default();
            let launched = launch(context, &name, &Setup::default(), blocks, &mut unused, None)?;
            let failed = &mut self.verification.failed;
            untouched.collect(number, &launched.blocks, &launched.outcomes, failed);
        }
        self.cells.retain_timed(&self.timed);
        let mut design = Sequential::new(context.rule(self.verification.noise_seconds), launches);
        let judged = design.look(&self.cells.families(&self.timed)?, true);
        self.finish(judged)?;
        self.report_stability();
        Ok(untouched.medians())
    }

    /// Takes over the verdicts of a look, marks those that the machine does not let stand, and returns these.
    fn finish(&mut self, judged: Vec<Vec<verdict::Judged>>) -> anyhow::Result<Vec<CellIndex>> {
        let stability = self.stability();
        let rule = self.context.rule(self.verification.noise_seconds);
        let mut fallen = Vec::new();
        self.verification.cells.clear();
        for (index, mut cell, launches) in self.cells.judged(&self.timed, judged) {
            if let Some(stability) = stability.as_ref().filter(|stability| !stability.is_stable()) {
                cell.note = stability.apply(&mut cell.comparison, &launches, &rule);
                if cell.note.is_some() {
                    fallen.push(index);
                } else {
                    cell.note = stability.one_mode(&launches);
                }
            }
            self.verification.cells.push(cell);
        }
        Ok(fallen)
    }

    fn report_stability(&self) {
        if let Some(stability) = self.stability() {
            for warning in stability.warnings() {
                self.context.progress.warn(&warning);
            }
        }
    }
}
