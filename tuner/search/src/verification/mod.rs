//! One verification: all cells are screened in a cheap pass, those that can be violated are confirmed in fresh launches, the dearest
//! first, until all are decided or the seconds end.
//!
//! The method is [`kilter_stats::verdict`]'s. [`mod@first_pass`] makes the launches that are not judged, [`learnt`] draws costs and repetitions
//! from them, [`screened`] finds the cells that need no more launches, [`admission`] chooses the next cells, [`weights`] shares alpha among
//! them, [`pacing`] plans the number of launches, [`launches`] makes a launch, [`cells`] maps between the plan's cells and the judged families,
//! and [`side_by_side`] proves the deployment.

mod admission;
mod allowance;
mod cells;
mod first_pass;
mod launches;
mod learnt;
mod pacing;
mod screened;
mod side_by_side;
mod weights;

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::allocation;
use kilter_bench::prediction;
use kilter_model::plan::{self, Plan, PlannedCell, Subject};
use kilter_model::report::UNREACHED;
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Repetitions};
use kilter_protocol::report::Synchronised;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::dependence::{Dependence, Looks};
use kilter_stats::verdict::sequential::CellIndex;
use kilter_stats::verdict::{self, Sequential, Stability};
use kilter_stats::verdict::{Comparison, Outcome};

use admission::Waiting;
pub use allowance::Allowance;
use allowance::Limit;
use cells::Cells;
use first_pass::{FirstPass, first_pass};
use launches::{Timed, launch};
pub use learnt::FEWEST;
use screened::Screening;
use side_by_side::Beside;
pub use side_by_side::{UNTOUCHED, prove};
use weights::Weights;

use crate::context::{Facts, Jobs};

/// Medians of one subject, one per launch, in seconds.
pub type Medians = BTreeMap<Subject, Vec<f64>>;

/// A judged cell.
#[derive(Debug, Clone)]
pub struct JudgedCell {
    /// The cell.
    pub cell: PlannedCell,
    /// The evidence.
    pub comparison: Comparison,
    /// A remark on the verdict: why it is unstable.
    pub note: Option<String>,
}

/// The findings of a verification.
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
    /// Time of an empty repetition on rank 0, in seconds.
    pub loop_overhead_seconds: f64,
    /// The synchronisation of repetitions, and its quality in the worst launch.
    pub sync: Option<Synchronised>,
    /// Calls of each implementation by the drop-in, over all launches.
    pub dropin_calls: BTreeMap<String, u64>,
    /// The last launch as a command line.
    pub command_line: String,
    /// The library's version string and the hosts.
    pub library_string: String,
    /// Hosts, each once.
    pub hosts: Vec<String>,
    /// Seconds of its launches, those included that were taken over from an interrupted run.
    pub seconds: f64,
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

    /// Adds the cells of `before` that it did not measure: the deployed change does not act on them.
    #[must_use]
    pub fn beside(&self, before: &Verification) -> Verification {
        let known: BTreeSet<screened::Key> = self.cells.iter().map(|judged| screened::key(&judged.cell)).collect();
        let mut all = self.clone();
        let others = before.cells.iter();
        all.cells.extend(
            others
                .filter(|judged| !known.contains(&screened::key(&judged.cell)))
                .cloned(),
        );
        for (subject, medians) in &before.medians {
            all.medians.entry(subject.clone()).or_insert_with(|| medians.clone());
        }
        all
    }

    /// Keeps the worst finding of the launches on their common time.
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

/// Fewer launches than this decide nothing.
const MIN_LAUNCHES: usize = 3;

/// State that the launches of a verification share.
struct Work<'a, 'b> {
    jobs: &'a Jobs<'b>,
    plan: &'a Plan,
    label: &'a str,
    setup: &'a Setup,
    verification: Verification,
    /// Findings from before the launches that are judged.
    pass: FirstPass,
    screening: Screening,
    timed: Timed,
    noise: Vec<f64>,
    /// Names of the launches, in order.
    keys: Vec<String>,
    /// The judged cells, in the order of admission.
    cells: Cells,
    /// The time limit of the launches.
    limit: Limit,
    /// Launches that a cell may have.
    most_launches: usize,
    /// Launches without which no cell to confirm can be violated.
    needed_launches: usize,
    /// Time of each launch over the expected time.
    paces: Vec<f64>,
    /// All admitted subjects.
    order: Vec<Waiting<()>>,
    /// The untouched library's launches that follow each launch in a proof.
    beside: Option<Beside>,
}

/// Screens everything that is planned, confirms the cells that can be violated, and judges. `label` names the verification in launch keys;
/// `setup` is in force. It spends the `allowed` seconds, and at most the rest of the budget.
///
/// # Errors
/// A launch that failed although nothing but the verified library ran in it.
pub fn verify(
    jobs: &Jobs<'_>,
    plan: &Plan,
    facts: &Facts,
    label: &str,
    setup: &Setup,
    allowed: Allowance,
) -> anyhow::Result<Verification> {
    let mut verification = Verification::default();
    let limit = Limit::new(allowed, jobs.budget.spent_seconds(), jobs.site.options.budget_seconds);
    let subjects = plan.subjects();
    let limited = (&mut verification, limit.seconds);
    let pass = first_pass(jobs, facts, label, setup, &subjects, limited)?;
    let mut work = Work::new(jobs, plan, (label, setup), verification, pass, limit);
    let planned = Cells::new(plan, &work.pass.timed, jobs.site.options.effect_floor);
    work.confirm(&planned)?;
    let mut found = work.into_verification();
    note_unreached(&subjects, &mut found);
    Ok(found)
}

impl<'a, 'b> Work<'a, 'b> {
    fn new(
        jobs: &'a Jobs<'b>,
        plan: &'a Plan,
        (label, setup): (&'a str, &'a Setup),
        verification: Verification,
        pass: FirstPass,
        limit: Limit,
    ) -> Work<'a, 'b> {
        Work {
            jobs,
            plan,
            label,
            setup,
            verification,
            pass,
            screening: Screening::default(),
            timed: Timed::default(),
            noise: Vec::new(),
            keys: Vec::new(),
            cells: Cells::default(),
            limit,
            most_launches: jobs.site.options.launches,
            needed_launches: 0,
            paces: Vec::new(),
            order: Vec::new(),
            beside: None,
        }
    }

    fn into_verification(self) -> Verification {
        let mut medians = self.pass.timed.medians();
        // What was confirmed is known from its own launches.
        medians.extend(self.timed.medians());
        Verification {
            medians,
            ..self.verification
        }
    }

    fn warn_of_few_launches(&self, cells: usize) {
        let options = self.jobs.site.options;
        if options.is_exact() || cells == 0 {
            return;
        }
        let needed = self.needed_launches;
        if options.launches < needed {
            self.jobs.progress.warn(&format!(
                "{} launches cannot show a violation among {cells} hypotheses, however clear it is; use --launches {needed} or \
                 more, or fewer cells",
                options.launches
            ));
        }
    }

    /// Makes one launch of these subjects; returns its cost in seconds.
    fn launch(&mut self, subjects: &BTreeSet<Subject>) -> anyhow::Result<f64> {
        let number = self.verification.launches;
        // Who is measured may follow from the clock: a run that is resumed and takes another decision asks for another launch.
        let name = format!("{}/{number}{}", self.label, suffix(subjects, &self.pass.timed));
        let blocks = self.blocks(subjects, &name);
        let noise = Some(&mut self.noise);
        let launched = launch(self.jobs, &name, self.setup, blocks, &mut self.verification, noise)?;
        let failed = &mut self.verification.failed;
        self.timed.collect(number, &launched.blocks, &launched.outcomes, failed);
        self.verification.reference.push(launched.reference);
        self.verification.launches += 1;
        self.keys.push(name);
        let noise = Sample::new(self.noise.clone());
        self.verification.noise_seconds = noise.map_or(0.0, |noise| noise.median());
        Ok(launched.seconds + self.launch_untouched(number)?)
    }

    /// The blocks of a launch, repeated as the first pass says. Splits that a screening has not seen have blocks of their own: each of their
    /// repetitions is many calls, and few of them are enough.
    fn blocks(&self, subjects: &BTreeSet<Subject>, name: &str) -> Vec<Block> {
        let (seed, rule) = (self.jobs.run.seed, self.jobs.site.options.repetitions);
        let is_seen = |one: &&Subject| !self.pass.screened || self.pass.learnt.has_seen(one);
        let (seen, splits): (BTreeSet<Subject>, BTreeSet<Subject>) =
            subjects.iter().cloned().partition(|one| is_seen(&one));
        let blocks = plan::blocks(&seen, seed, name, rule);
        let mut blocks = prediction::measuring_blocks(blocks, &self.pass.repetitions, rule.seconds);
        let few = Repetitions::fixed(FEWEST.min(rule.max), rule.seconds);
        let of_splits = plan::blocks(&splits, seed, &format!("{name}/splits"), few).into_iter();
        blocks.extend(of_splits.map(|block| Block {
            id: format!("{}{OF_SPLITS}", block.id),
            ..block
        }));
        if !splits.is_empty() {
            // Among the others, not behind them.
            blocks.sort_by_key(|block| block.seed);
        }
        blocks
    }

    fn left_seconds(&self) -> f64 {
        self.limit.left(self.jobs.budget.spent_seconds())
    }

    /// True if it goes on with the seconds of the steps that would follow, for at least one launch of `launch_seconds`.
    fn goes_on_for(&mut self, launch_seconds: f64) -> bool {
        let (budget, is_violated) = (&self.jobs.budget, self.is_violated());
        let goes_on = self
            .limit
            .goes_on_for(budget.spent_seconds(), launch_seconds, is_violated);
        if goes_on {
            budget.prolong_part();
            self.jobs.progress.note(&format!(
                "{}: no violation so far, so the verification goes on with the search's time",
                self.label
            ));
        }
        goes_on
    }

    fn is_violated(&self) -> bool {
        self.verification.violated().next().is_some()
    }

    fn stability(&self) -> Option<Stability> {
        let rule = self.jobs.site.rule(self.verification.noise_seconds);
        let measured = self.verification.reference.iter().all(|medians| !medians.is_empty());
        measured
            .then(|| Stability::of(&self.verification.reference, &rule).ok())
            .flatten()
    }

    /// Confirms the cells that the first pass leaves open: the dearest first, as many as the seconds can decide. A cell with enough launches
    /// makes room for the next.
    fn confirm(&mut self, planned: &Cells) -> anyhow::Result<()> {
        let (jobs, options) = (self.jobs, self.jobs.site.options);
        let rule = jobs.site.rule(self.verification.noise_seconds);
        self.screening = Screening::of(planned, &self.pass.timed, &rule, self.pass.screened);
        let mut waiting = self.screening.open(planned, &|left| self.plan.calls_of(left));
        let hypotheses = waiting.iter().map(|one| one.what.hypotheses()).sum();
        self.needed_launches = verdict::launches_needed(hypotheses, options.alpha, options.test);
        self.plan_launches(hypotheses);
        if self.pass.screened && self.beside.is_none() {
            // Only here: a search compares others with these, and a proof all left sides with the untouched library's; those ratios nobody
            // knows yet.
            self.pass.repeat(jobs, &self.screening.distances(&rule));
        }
        let of_launches = |deviation| verdict::Reach::of(deviation, self.deciding_launches(), hypotheses, &rule);
        let reach = self.screening.deviation.map(of_launches);
        self.screening.expect(&mut waiting, reach);
        let weights = Weights::of(&waiting, self.pass.screened);
        // What the heaviest cell takes is known only now.
        self.needed_launches = verdict::launches_needed(weights.like_hypotheses(), options.alpha, options.test);
        self.warn_of_few_launches(hypotheses);
        if self.pass.screened {
            let cells = self.screening.complete(Vec::new());
            let clear = cells
                .iter()
                .filter(|judged| judged.comparison.verdict == Outcome::Holds)
                .count();
            jobs.progress.note(&format!(
                "{}: {} cells screened, {clear} clearly hold, {} to confirm",
                self.label,
                cells.len(),
                cells.len() - clear
            ));
        }
        if options.is_exact() {
            return self.judge_exact(waiting);
        }
        let mut admitted = self.admit(&mut waiting, &BTreeSet::new(), 0);
        self.limit_launches(admitted.iter().flat_map(|one| one.subjects.iter().cloned()).collect());
        let most = self.most_launches;
        let mut design = Looks::new(jobs.site.rule(0.0), most)
            .of_hypotheses(hypotheses)
            .of_weight(weights.total);
        let mut entered: BTreeSet<Subject> = BTreeSet::new();
        // Launches of the cell that has most of them.
        let mut had = 0;
        loop {
            let mut fresh = Cells::default();
            for one in admitted {
                entered.extend(one.subjects.iter().cloned());
                fresh.append(one.what);
            }
            if entered.is_empty() {
                break;
            }
            let Some(subjects) = self.launches_until_look(&entered, had)? else {
                break;
            };
            // Because of the clock, not because of what was measured.
            let further = self.pace() * self.launch_price(&subjects);
            let last = options.fixed || (self.left_seconds() < further && !self.goes_on_for(further));
            fresh.retain_timed(&self.timed);
            self.cells.append(fresh);
            design.weigh(weights.by_cell(&self.cells));
            design.set_rule(jobs.site.rule(self.verification.noise_seconds));
            let judged = self.look(&mut design, last)?;
            let fallen = self.finish(judged, Some(&design))?;
            self.limit.heed(self.is_violated());
            for index in fallen {
                // The machine does not let the verdict stand: more launches may.
                design.reopen(index);
            }
            if last {
                break;
            }
            let has_room = |index: &CellIndex| self.cells.launches_of(*index, &self.timed) < self.most_launches;
            let wanted: Vec<CellIndex> = design.wanted().into_iter().filter(has_room).collect();
            let launches_of = |index: &CellIndex| self.cells.launches_of(*index, &self.timed);
            had = wanted.iter().map(launches_of).max().unwrap_or(0);
            entered = self.cells.subjects_of(&wanted);
            admitted = self.admit(&mut waiting, &entered, had);
        }
        if self.verification.cells.is_empty() {
            self.verification.cells = self.screening.complete(Vec::new());
        }
        self.report_dependence(&design);
        self.report_stability();
        self.report_what_is_left();
        Ok(())
    }

    /// Makes the launches until the next look at cells that have `had` as many. Returns the subjects of the last launch; `None` if the seconds
    /// reach for none.
    fn launches_until_look(
        &mut self,
        entered: &BTreeSet<Subject>,
        had: usize,
    ) -> anyhow::Result<Option<BTreeSet<Subject>>> {
        let is_fixed = self.jobs.site.options.fixed;
        let step = if is_fixed {
            self.most_launches
        } else {
            verdict::next_look(had, self.most_launches) - had
        };
        let first = self.verification.launches + 1;
        let title = format!(
            "{}: launches {first} to {} of cells that may be violated",
            self.label,
            first + step - 1
        );
        self.jobs.progress.phase(&title, (step * entered.len()) as u64);
        let mut measured = None;
        for made in 0..step {
            let subjects = if is_fixed {
                entered.clone()
            } else {
                self.affordable(entered, had + made)
            };
            let price = self.pace() * self.launch_price(&subjects);
            // A first look needs its launches, whatever the estimate says.
            let needs_more = self.verification.launches < MIN_LAUNCHES && (made > 0 || self.left_seconds() > 0.0);
            if !is_fixed && !needs_more && self.left_seconds() < price {
                break;
            }
            let expected = self.launch_price(&subjects);
            let seconds = self.launch(&subjects)?;
            self.paces.push(seconds / expected);
            measured = Some(subjects);
        }
        Ok(measured)
    }

    /// A look at all that was admitted, on units of launches where these depend on each other.
    fn look(&self, design: &mut Looks, last: bool) -> anyhow::Result<Vec<Vec<verdict::Judged>>> {
        let jobs = self.jobs;
        let known = jobs.run.allocations(&self.keys)?;
        let numbers = allocation::numbered(&known);
        let units = allocation::as_units(numbers.as_deref(), jobs.site.options.allocations);
        let families = self.cells.families(&self.timed)?;
        Ok(design.look(&families, &self.cells.launches(&self.timed), units, last))
    }

    /// Takes the times of the first pass as they are: another launch would find the same.
    fn judge_exact(&mut self, waiting: Vec<Waiting<Cells>>) -> anyhow::Result<()> {
        waiting.into_iter().for_each(|one| self.cells.append(one.what));
        self.timed = self.pass.timed.clone();
        self.verification.launches += 1;
        let mut design = Sequential::new(self.jobs.site.rule(0.0), self.jobs.site.options.launches);
        let judged = design.look(&self.cells.families(&self.timed)?, true);
        self.finish(judged, None)?;
        Ok(())
    }

    fn report_what_is_left(&self) {
        let count = |verdict: Outcome| {
            let is = |judged: &&JudgedCell| judged.comparison.verdict == verdict;
            self.verification.cells.iter().filter(is).count()
        };
        let (screened, open) = (count(Outcome::Screened), count(Outcome::Undecided));
        if screened + open > 0 && self.left_seconds() <= 0.0 {
            self.jobs.progress.warn(&format!(
                "{:.0} s of the budget were spent after {} launches; {open} cells are undecided and {screened} were only screened; \
                 raise --budget for surer verdicts",
                self.jobs.budget.spent_seconds(),
                self.verification.launches
            ));
        }
    }

    /// Takes over the verdicts of a look, marks those that the machine does not let stand, and returns these.
    fn finish(&mut self, judged: Vec<Vec<verdict::Judged>>, design: Option<&Looks>) -> anyhow::Result<Vec<CellIndex>> {
        let stability = self.stability();
        let rule = self.jobs.site.rule(self.verification.noise_seconds);
        let mut fallen = Vec::new();
        let mut confirmed = Vec::new();
        let hypotheses = self.cells.hypotheses();
        for (index, mut cell, launches) in self.cells.judged(&self.timed, judged) {
            if cell.comparison.verdict == Outcome::Unstable {
                cell.note = design.and_then(|design| design.reason(&launches, hypotheses));
            } else if let Some(stability) = stability.as_ref().filter(|stability| !stability.is_stable()) {
                cell.note = stability.apply(&mut cell.comparison, &launches, &rule);
                if cell.note.is_some() {
                    fallen.push(index);
                } else {
                    cell.note = stability.one_mode(&launches);
                }
            }
            confirmed.push(cell);
        }
        let dependence = design.and_then(Looks::dependence);
        self.screening.is_doubtful = dependence.is_some_and(Dependence::is_found);
        self.verification.cells = self.screening.complete(confirmed);
        Ok(fallen)
    }

    fn report_dependence(&self, design: &Looks) {
        if let Some(warning) = design.dependence().and_then(Dependence::warning) {
            self.jobs.progress.warn(&warning);
        }
    }

    fn report_stability(&self) {
        if let Some(stability) = self.stability() {
            for warning in stability.warnings() {
                self.jobs.progress.warn(&warning);
            }
        }
    }
}

/// Suffix of the ids of blocks of splits.
pub const OF_SPLITS: &str = " in parts";

/// Reports subjects that were neither timed nor failed: their launches had to end before.
fn note_unreached(subjects: &BTreeSet<Subject>, found: &mut Verification) {
    for subject in subjects.iter().filter(|one| !found.medians.contains_key(one)) {
        let reason = || UNREACHED.to_owned();
        found.failed.entry(subject.item_id()).or_insert_with(reason);
    }
}

/// Suffix of a launch's name that tells its subjects apart; empty if it times all that can be timed.
fn suffix(subjects: &BTreeSet<Subject>, all: &Timed) -> String {
    if subjects.len() == all.len() {
        return String::new();
    }
    let names: Vec<String> = subjects
        .iter()
        .map(|one| format!("{} {}", one.task, one.item_id()))
        .collect();
    format!(" of {:08x}", plan::derived_seed(0, &names.join(";")) >> 32)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    #[test]
    fn what_no_launch_came_to_is_named_and_what_failed_keeps_its_reason() {
        let all: BTreeSet<Subject> = [1, 2, 4].map(|bytes| Subject::library(Collective::Bcast, bytes)).into();
        let name = |bytes| Subject::library(Collective::Bcast, bytes).item_id();
        let mut found = Verification::default();
        found.medians.insert(Subject::library(Collective::Bcast, 1), vec![1e-6]);
        found.failed.insert(name(2), "wrong data".to_owned());
        note_unreached(&all, &mut found);
        let expected = [(name(2), "wrong data".to_owned()), (name(4), UNREACHED.to_owned())];
        assert_eq!(found.failed, expected.into());
    }
}
