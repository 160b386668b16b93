//! The proof of the deployment: its launches and those of the untouched library, in turn, so that both see the same minutes of the machine.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::plan::{Plan, PlannedCell, Stakes, Subject};
use kilter_model::setup::Setup;
use kilter_protocol::plan::{Block, Implementation, Item, Operand};
use kilter_stats::verdict::dependence::Looks;
use kilter_stats::verdict::screening::SCREENING_LAUNCHES;

use super::allowance::{Allowance, Limit};
use super::cells::Cells;
use super::first_pass::{first_pass, pilot};
use super::launches::{Timed, launch};
use super::under_way::{self, Verifying};
use super::within_reach::{self, Expected};
use super::{InTurn, Medians, Verification, Work, number_of, other_type};
use crate::context::{Cost, Facts, Jobs};
use crate::{FEWEST_OF_PROOF, PROOF_LAUNCHES};

/// Suffix of the keys of the untouched library's jobs.
pub(super) const UNTOUCHED: &str = "/untouched";

/// The untouched library beside the deployment.
#[derive(Debug, Default)]
pub(super) struct Beside<'a, 'b> {
    /// Its verification, of which the proof's launches decide a part.
    verifying: Option<Box<Verifying<'a, 'b>>>,
    /// Its collectives that are timed on both sides.
    pub(super) left: BTreeSet<Subject>,
    /// Its times.
    timed: Timed,
    /// Another type that calls combine elements of as well.
    pub(super) other_type: Option<Operand>,
    /// Times of calls that combine elements of another type, under the deployment and in the untouched library.
    pub(super) of_other_type: (Timed, Timed),
}

impl Beside<'_, '_> {
    /// True of a block with a call that is timed on both sides.
    fn measures(&self, block: &Block) -> bool {
        let is_left = |item: &Item| Subject::of(item).is_some_and(|subject| self.left.contains(&subject));
        let is_of_other_type = |item: &Item| matches!(item.implementation, Implementation::Among(_));
        block.items.iter().any(|item| is_left(item) || is_of_other_type(item))
    }
}

/// Subjects and cells that a deployment acts on.
#[derive(Clone, Copy)]
pub struct Reached<'r> {
    /// True of subjects that the deployment can change.
    pub touched: &'r dyn Fn(&Subject) -> bool,
    /// True of cells that have to be proven, however little time there is: those that were to be fixed, and those that a choice was made for.
    pub first: &'r dyn Fn(&PlannedCell) -> bool,
    /// True of subjects that may take another time than in an earlier proof; `None` where there is none. The others are not measured.
    pub changed: Option<&'r dyn Fn(&Subject) -> bool>,
}

/// Seconds of a proof over those of one type alone from which on another type is measured as well: what is taken back needs a second proof.
const WITH_OTHER_TYPE: f64 = 2.0;

/// Launches of a proof of what changed that look for calls which became slower; one of everything has twice as many.
const LAUNCHES_OF_CHANGES: usize = 5;

/// Verifies the deployment. Each of its launches is followed by one of the untouched library, with left sides, whose medians are returned, and with what
/// its verification `verifying` has left to a proof. Under the deployment only touched subjects are measured, and of these only what the seconds reach for
/// ([`mod@super::within_reach`]). Cells are screened and
/// confirmed as in [`super::verify`]. Left sides are in every launch, since slowdowns are looked for with all launches. If the budget ends in the
/// middle, the open cells are reported so.
///
/// # Errors
/// A launch that failed although nothing but the untouched or verified library ran in it.
pub fn prove<'a, 'b>(
    jobs: &'a Jobs<'b>,
    plan: &'a Plan,
    facts: &Facts,
    (label, setup): (&str, &Setup),
    reached: Reached<'_>,
    verifying: &mut Option<Box<Verifying<'a, 'b>>>,
) -> anyhow::Result<(Verification, Medians)> {
    let options = jobs.site.options;
    let touched = reached.touched;
    let is_changed = |one: &Subject| reached.changed.is_none_or(|changed| changed(one));
    let mut verification = Verification::default();
    let mut left = plan.library_subjects();
    left.retain(|one| touched(one) && is_changed(one));
    let is_screened = options.screens();
    let mut planned = Cells::planned(plan, touched);
    planned.retain_touched(&is_changed);
    let (planned, beyond) = if is_screened {
        divide(jobs, facts, (planned, &Stakes::of(plan)), &left, reached.first)
    } else {
        (planned, Cells::default())
    };
    let subjects = planned.subjects();
    if subjects.is_empty() {
        // Nothing is left that launches could show.
        verification.launches = options.launches.min(PROOF_LAUNCHES);
        return Ok((verification, Medians::new()));
    }
    left.retain(|one| subjects.contains(one));
    // The choice of subjects followed from the clock: a run that is resumed and takes another decision asks for other launches.
    let out_of_reach = beyond.names();
    let label = &if out_of_reach.is_empty() {
        label.to_owned()
    } else {
        format!("{label} of {:08x}", number_of(&subjects))
    };
    let (pass, limit) = if is_screened {
        let limit = Limit::new(Allowance::ALL, jobs.budget.spent_seconds(), jobs.budget.total_seconds());
        let limited = (&mut verification, limit.seconds);
        (
            first_pass(jobs, facts, (label, setup), (plan, &subjects), limited)?,
            limit,
        )
    } else {
        let unlimited = (&mut verification, f64::INFINITY);
        let pass = pilot(jobs, facts, (label, setup), (plan, &subjects), unlimited)?;
        (pass, Limit::NONE)
    };
    let mut work = Work::new(jobs, plan, (label, setup), verification, pass, limit);
    work.most_launches = options.launches.min(PROOF_LAUNCHES);
    if let Some(verifying) = verifying.as_mut() {
        verifying.join();
    }
    work.beside = Some(Beside {
        left,
        verifying: verifying.take(),
        ..Beside::default()
    });
    let mut cells = Cells::new(plan, &work.pass.timed, options.effect_floor);
    cells.retain_touched(touched);
    cells.retain_touched(&is_changed);
    cells.leave_out(&out_of_reach);
    work.choose_other_type(&cells);
    let launches = reached
        .changed
        .map_or(work.most_launches, |_| LAUNCHES_OF_CHANGES.min(work.most_launches));
    let made = if is_screened {
        work.confirm(&cells).and_then(|()| work.complete(launches))
    } else {
        work.all_at_once(cells)
    };
    let mut untouched = work.beside.take().unwrap_or_default();
    *verifying = untouched.verifying.take();
    made?;
    let mut verification = work.findings();
    verification.out_of_reach = out_of_reach;
    verification.of_other_type = InTurn {
        deployed: untouched.of_other_type.0.medians(),
        untouched: untouched.of_other_type.1.medians(),
        launches: verification.launches,
    };
    let mut medians = untouched.timed.medians();
    medians.retain(|subject, _| untouched.left.contains(subject));
    Ok((verification, medians))
}

/// Expectation of a proof's launches, of which so many decide at most.
fn expected<'e>(
    jobs: &Jobs<'_>,
    (costs, stakes): (&'e BTreeMap<Subject, Cost>, &'e Stakes),
    on_both_sides: &'e BTreeSet<Subject>,
    launches: usize,
) -> Expected<'e> {
    Expected {
        costs,
        on_both_sides,
        stakes,
        screening_launches: SCREENING_LAUNCHES,
        launches: jobs.site.options.launches.min(launches),
        launch_seconds: jobs.launch_seconds(),
        left_seconds: jobs.budget.left_seconds(),
    }
}

/// True if the budget has the seconds for the fewest launches from which a proof follows, of the cells that have to be in it.
#[must_use]
pub fn is_within_reach(jobs: &Jobs<'_>, plan: &Plan, facts: &Facts, reached: Reached<'_>) -> bool {
    let options = jobs.site.options;
    if !options.screens() {
        return true;
    }
    let mut left = plan.library_subjects();
    left.retain(reached.touched);
    let cells = Cells::planned(plan, reached.touched);
    let is_first = |cells: &Cells| cells.comparisons().iter().any(|(_, planned)| (reached.first)(planned));
    let subjects = cells
        .each()
        .filter(is_first)
        .flat_map(|cells| cells.subjects())
        .collect();
    let costs = facts.costs();
    let no_stakes = Stakes::default();
    let expected = expected(jobs, (&costs, &no_stakes), &left, FEWEST_OF_PROOF);
    expected.seconds(&subjects) <= within_reach::PLANNED_SHARE * expected.left_seconds
}

/// Divides the planned cells into those that the seconds reach for, and those that they do not, which is said.
fn divide(
    jobs: &Jobs<'_>,
    facts: &Facts,
    (planned, stakes): (Cells, &Stakes),
    left: &BTreeSet<Subject>,
    first: &dyn Fn(&PlannedCell) -> bool,
) -> (Cells, Cells) {
    let is_first = |cells: &Cells| cells.comparisons().iter().any(|(_, planned)| first(planned));
    let costs = facts.costs();
    let expected = expected(jobs, (&costs, stakes), left, PROOF_LAUNCHES);
    let (within, beyond) = within_reach::divide(planned, &is_first, &expected);
    let (measured, left_out) = (within.names().len(), beyond.names().len());
    if left_out > 0 {
        jobs.progress.warn(&format!(
            "the budget has the seconds to measure {measured} of the {} cells again that what is deployed may act on, those that were to be \
             fixed first; the others are reported as only screened; raise --budget",
            measured + left_out
        ));
    }
    (within, beyond)
}

impl Work<'_, '_> {
    /// Adds the left sides of a proof to `subjects`.
    pub(super) fn with_left(&self, mut subjects: BTreeSet<Subject>) -> BTreeSet<Subject> {
        if let Some(beside) = &self.beside {
            subjects.extend(beside.left.iter().cloned());
        }
        subjects
    }

    /// Chooses another type for calls that combine data, where the seconds reach for it as well.
    fn choose_other_type(&mut self, cells: &Cells) {
        let price = self.launch_price(&self.with_left(cells.subjects()));
        let has_time = self.left_seconds() > WITH_OTHER_TYPE * price * self.most_launches as f64;
        let (Some(operand), Some(beside)) = (other_type::other_type(self.jobs.site.options), &mut self.beside) else {
            return;
        };
        if !beside.left.iter().any(|one| one.task.functionality.has_operator()) {
            return;
        }
        if has_time {
            beside.other_type = Some(operand);
        } else {
            self.jobs.progress.note(&format!(
                "{}: with doubles alone, since the budget has not the seconds for {} as well",
                self.label,
                operand.element.mpi_name()
            ));
        }
    }

    /// Makes one launch of the untouched library, in a proof, with the same blocks as the launch beside it where these have left sides: what else is
    /// measured in a block is in the caches, and would make the one side slower than the other. Blocks of what the untouched library's verification has left to the proof are among
    /// them, where the seconds reach for them in all launches that a proof may have yet. Returns its cost in seconds.
    pub(super) fn launch_untouched(&mut self, number: usize, subjects: &BTreeSet<Subject>) -> anyhow::Result<f64> {
        let jobs = self.jobs;
        let name = format!("{}/{number}{UNTOUCHED}", self.label);
        let mut blocks = self.blocks(subjects, &name);
        let left_launches = self.most_launches.saturating_sub(number + 1) as f64;
        let spare_seconds = self.left_seconds() - left_launches * self.pace() * self.launch_price(subjects);
        let Some(beside) = &mut self.beside else {
            return Ok(0.0);
        };
        blocks.retain(|block| beside.measures(block));
        let verifying = beside.verifying.as_mut();
        let mut verifying = verifying.filter(|one| (left_launches + 1.0) * one.seconds() <= spare_seconds);
        if let Some(verifying) = &mut verifying {
            blocks.extend(verifying.blocks(&name));
            // Among the others, not behind them.
            blocks.sort_by_key(|block| block.seed);
        }
        let mut of_launch = Verification::default();
        let launched = launch(jobs, &name, &Setup::default(), blocks, &mut of_launch, None)?;
        let all = launched.blocks.into_iter().zip(launched.outcomes);
        let (left_to_it, own): (Vec<_>, Vec<_>) = all.partition(|(block, _)| under_way::is_left_to_proof(block));
        if let Some(verifying) = verifying {
            verifying.take(name, left_to_it, launched.reference, of_launch)?;
        }
        let (blocks, outcomes): (Vec<_>, Vec<_>) = own.into_iter().unzip();
        let failed = &mut self.verification.failed;
        beside.timed.collect(number, &blocks, &outcomes, failed);
        other_type::collect(&mut beside.of_other_type.1, number, &blocks, &outcomes);
        Ok(launched.seconds)
    }

    /// Makes launches of the left sides alone, until there are as many `launches` as the search for slowdowns looks at.
    fn complete(&mut self, launches: usize) -> anyhow::Result<()> {
        let left = self.with_left(BTreeSet::new());
        let mut price = self.launch_price(&left);
        while self.verification.launches < launches && self.left_seconds() > price {
            // The next one takes as long as the last one, if not as was expected.
            price = price.max(self.launch(&left)?);
        }
        if self.verification.launches < launches {
            self.jobs.progress.warn(&format!(
                "the budget ended after {} of the {launches} launches that verify the deployed files; cells that are still open are reported as \
                 undecided; raise --budget",
                self.verification.launches
            ));
        }
        Ok(())
    }

    /// A fixed number of launches of all cells, and one look.
    fn all_at_once(&mut self, cells: Cells) -> anyhow::Result<()> {
        let jobs = self.jobs;
        self.cells = cells;
        self.warn_of_few_launches(self.cells.hypotheses());
        let launches = self.most_launches;
        let subjects = self.with_left(self.cells.subjects());
        jobs.progress.phase(
            &format!(
                "{}: {launches} launches, and as many of the untouched library",
                self.label
            ),
            (launches * subjects.len()) as u64,
        );
        let mut took_seconds = 0.0;
        for number in 0..launches {
            // The next one takes as long as the last one.
            if number > 0 && jobs.budget.left_seconds() <= took_seconds {
                jobs.progress.warn(&format!(
                    "the budget ended after {number} of the {launches} launches that verify the deployed files; cells that are still open \
                     are reported as undecided; raise --budget"
                ));
                break;
            }
            if jobs.site.options.is_exact() {
                self.timed = self.pass.timed.clone();
                self.verification.launches += 1;
                self.launch_untouched(number, &subjects)?;
            } else {
                took_seconds = self.launch(&subjects)?;
            }
        }
        self.cells.retain_timed(&self.timed);
        let mut design = Looks::new(jobs.site.rule(self.verification.noise_seconds), launches);
        let judged = self.look(&mut design, true)?;
        self.finish(judged, Some(&design))?;
        self.report_dependence(&design);
        self.report_stability();
        Ok(())
    }
}
