//! One verification: all cells are screened in a cheap pass, those that can be violated are confirmed in fresh launches, the dearest
//! first, until all are decided or the seconds end.
//!
//! The method is [`kilter_stats::verdict`]'s. [`mod@first_pass`] makes the launches that are not judged, [`mod@second_launch`] says what needs two of
//! them, [`learnt`] draws costs and repetitions
//! from them, [`screened`] finds the cells that need no more launches, [`admission`] chooses the next cells, [`together`] says which sizes share a block, [`weights`] shares alpha among
//! them, [`pacing`] plans the number of launches, [`launches`] makes a launch, [`cells`] maps between the plan's cells and the judged families,
//! [`confirming`] goes from look to look, [`under_way`] leaves a part of that to launches of a proof, [`telling`] warns, [`found`] is the result,
//! [`side_by_side`] proves the deployment, as far as [`within_reach`] says, [`in_turn`] looks once more at what seems slower there, [`mod@other_type`] adds calls with another type to it, [`mod@apart`] measures ranks that arrive apart, and [`mod@shown`] launches files without judging.

mod admission;
mod allowance;
mod apart;
mod cells;
mod confirming;
mod first_pass;
mod found;
mod in_turn;
mod launches;
mod learnt;
mod one_mode;
mod other_type;
mod pacing;
mod screened;
mod second_launch;
mod shown;
mod side_by_side;
mod telling;
mod together;
mod under_way;
mod weights;
mod within_reach;

use std::collections::BTreeSet;

use kilter_bench::prediction;
use kilter_model::plan::{self, Plan, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Repetitions};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Stability;

use crate::repetition::FEWEST;
use admission::Waiting;
pub use allowance::Allowance;
use allowance::Limit;
pub use apart::{OwnSeconds, TimedApart, measure_apart, verify_apart};
use cells::Cells;
use first_pass::FirstPass;
pub use found::{InTurn, JudgedCell, Medians, Verification, take_over};
pub use in_turn::measure_in_turn;
pub use launches::OfTheUntouchedLibrary;
use launches::{Timed, launch};
pub use one_mode::in_one_mode;
pub use other_type::{id as id_of_type, other_type, type_in};
use screened::Screening;
pub use shown::show;
use side_by_side::Beside;
pub use side_by_side::{Reached, is_within_reach, prove};
pub use under_way::{Verifying, verify};

use crate::context::Jobs;

/// Repetitions in a verification, per item: enough for a stable median in a launch, little enough that the budget goes into
/// launches, between which times differ most.
pub const REPETITIONS: Repetitions = Repetitions::until(8, 60, 0.02, 0.25);

/// State that the launches of a verification share.
struct Work<'a, 'b> {
    jobs: &'a Jobs<'b>,
    plan: &'a Plan,
    label: String,
    setup: Setup,
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
    /// True once the seconds reach for no further launch.
    is_out_of_time: bool,
    /// Launches that a cell may have.
    most_launches: usize,
    /// Launches without which no cell to confirm can be violated.
    needed_launches: usize,
    /// Time of each launch over the expected time.
    paces: Vec<f64>,
    /// All admitted subjects.
    order: Vec<Waiting<()>>,
    /// The untouched library's launches that follow each launch in a proof.
    beside: Option<Beside<'a, 'b>>,
}

impl std::fmt::Debug for Work<'_, '_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Work")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

impl<'a, 'b> Work<'a, 'b> {
    fn new(
        jobs: &'a Jobs<'b>,
        plan: &'a Plan,
        (label, setup): (&str, &Setup),
        mut verification: Verification,
        mut pass: FirstPass,
        limit: Limit,
    ) -> Work<'a, 'b> {
        let noise = std::mem::take(&mut pass.noise);
        verification.noise_seconds = noise_of(&noise);
        Work {
            jobs,
            plan,
            label: label.to_owned(),
            setup: setup.clone(),
            verification,
            pass,
            screening: Screening::default(),
            timed: Timed::default(),
            noise,
            keys: Vec::new(),
            cells: Cells::default(),
            limit,
            is_out_of_time: false,
            most_launches: jobs.site.options.launches,
            needed_launches: 0,
            paces: Vec::new(),
            order: Vec::new(),
            beside: None,
        }
    }

    fn findings(&self) -> Verification {
        let mut medians = self.pass.timed.medians();
        // Confirmed cells are known from their own launches.
        medians.extend(self.timed.medians());
        Verification {
            medians,
            ..self.verification.clone()
        }
    }

    /// Makes one launch of these subjects; returns its cost in seconds.
    fn launch(&mut self, subjects: &BTreeSet<Subject>) -> anyhow::Result<f64> {
        let number = self.verification.launches;
        // The cells to measure may follow from the clock: a run that is resumed and takes another decision asks for another launch.
        let name = format!("{}/{number}{}", self.label, suffix(subjects, &self.pass.timed));
        let blocks = self.blocks(subjects, &name);
        let noise = Some(&mut self.noise);
        let launched = launch(self.jobs, &name, &self.setup, blocks, &mut self.verification, noise)?;
        let failed = &mut self.verification.failed;
        self.timed.collect(number, &launched.blocks, &launched.outcomes, failed);
        if let Some(beside) = &mut self.beside {
            other_type::collect(
                &mut beside.of_other_type.0,
                number,
                &launched.blocks,
                &launched.outcomes,
            );
        }
        self.verification.reference.push(launched.reference);
        self.verification.launches += 1;
        self.keys.push(name);
        self.verification.noise_seconds = noise_of(&self.noise);
        Ok(launched.seconds + self.launch_untouched(number, subjects)?)
    }

    /// The blocks of a launch, repeated as the first pass says. Splits that a screening has not seen have blocks of their own, unless they are interleaved
    /// with what they are compared with: each of their repetitions is many calls, and few of them are enough.
    fn blocks(&self, subjects: &BTreeSet<Subject>, name: &str) -> Vec<Block> {
        let (seed, rule) = (self.jobs.run.seed, self.jobs.site.options.repetitions);
        let is_seen = |one: &&Subject| !self.pass.screened || self.pass.learnt.has_seen(one);
        let (seen, splits): (BTreeSet<Subject>, BTreeSet<Subject>) =
            subjects.iter().cloned().partition(|one| is_seen(&one));
        let blocks = plan::blocks(&seen, seed, name, rule);
        let mut blocks = prediction::measuring_blocks(blocks, &self.pass.repetitions, rule.seconds);
        let of_splits = plan::blocks(&splits, seed, &format!("{name}/splits"), rule).into_iter();
        blocks.extend(of_splits.map(|block| {
            let id = format!("{}{OF_SPLITS}", block.id);
            let count = self.pass.repetitions.get(&id).copied().unwrap_or(FEWEST).min(rule.max);
            Block {
                id,
                repetitions: Repetitions::fixed(count, block.repetitions.seconds),
                ..block
            }
        }));
        let others = match &self.beside {
            Some(Beside {
                left,
                other_type: Some(operand),
                ..
            }) => other_type::blocks(&blocks, left, (self.jobs.site.options, *operand)),
            _ => Vec::new(),
        };
        let is_mixed = !splits.is_empty() || !others.is_empty();
        blocks.extend(others);
        if is_mixed {
            // Among the others, not behind them.
            blocks.sort_by_key(|block| block.seed);
        }
        plan::joined(blocks, &self.together(subjects))
    }

    /// Ids of blocks that are measured as one. A proof measures the untouched library's blocks beside these, which have to be the same.
    fn together(&self, measured: &BTreeSet<Subject>) -> Vec<Vec<String>> {
        if !self.pass.screened || self.beside.is_some() {
            return Vec::new();
        }
        let in_parts = |one: &Subject| !self.pass.learnt.has_seen(one);
        together::groups(self.plan, measured, in_parts, &self.pass.timed)
    }

    fn left_seconds(&self) -> f64 {
        self.limit.left(self.jobs.budget.spent_seconds())
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
}

/// Spread of the empty operation, by its spreads in launches, in seconds.
fn noise_of(spreads: &[f64]) -> f64 {
    Sample::new(spreads.to_vec()).map_or(0.0, |spreads| spreads.median())
}

/// Suffix of the ids of blocks of splits.
const OF_SPLITS: &str = " in parts";

/// Suffix of a launch's name that tells its subjects apart; empty if it times all that can be timed.
fn suffix(subjects: &BTreeSet<Subject>, all: &Timed) -> String {
    if subjects.len() == all.len() {
        return String::new();
    }
    format!(" of {:08x}", number_of(subjects))
}

/// A number that tells subjects apart, of 32 bits.
fn number_of(subjects: &BTreeSet<Subject>) -> u64 {
    let names: Vec<String> = subjects
        .iter()
        .map(|one| format!("{} {}", one.task, one.item_id()))
        .collect();
    plan::derived_seed(0, &names.join(";")) >> 32
}

#[cfg(test)]
mod tests;
