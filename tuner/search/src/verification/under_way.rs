//! A verification that is screened, and whose decisions may be left to the launches of a proof: these have the untouched library in turn with what is
//! deployed, so that no launch is started for its guidelines alone.

use kilter_bench::launch::session::BlockOutcome;
use kilter_model::plan::Plan;
use kilter_model::setup::Setup;
use kilter_protocol::plan::Block;
use kilter_stats::verdict;

use super::allowance::Limit;
use super::cells::Cells;
use super::confirming::Course;
use super::first_pass::first_pass;
use super::{Allowance, Verification, Work};
use crate::context::{Facts, Jobs};

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
    let verifying = Verifying::begin(jobs, plan, facts, (label, setup), allowed, &|| false)?;
    Ok(verifying.end())
}

/// A verification under way.
#[derive(Debug)]
pub struct Verifying<'a, 'b> {
    work: Work<'a, 'b>,
    course: Course,
    /// True if launches were made since the last look.
    is_unseen: bool,
}

impl<'a, 'b> Verifying<'a, 'b> {
    /// Screens everything that is planned, and confirms the cells that can be violated, as [`verify`] does, unless these `are_left_to_proof`, which is
    /// asked once the costs are known.
    ///
    /// # Errors
    /// As [`verify`].
    pub fn begin(
        jobs: &'a Jobs<'b>,
        plan: &'a Plan,
        facts: &Facts,
        (label, setup): (&str, &Setup),
        allowed: Allowance,
        are_left_to_proof: &dyn Fn() -> bool,
    ) -> anyhow::Result<Verifying<'a, 'b>> {
        let mut verification = Verification::default();
        let mut limit = Limit::new(allowed, jobs.budget.spent_seconds(), jobs.budget.total_seconds());
        let limited = (&mut verification, limit.seconds);
        let pass = first_pass(jobs, facts, (label, setup), (plan, &plan.subjects()), limited)?;
        limit.leave_to_decide(jobs.budget.spent_seconds());
        jobs.budget.prolong_part_until(limit.seconds);
        let mut work = Work::new(jobs, plan, (label, setup), verification, pass, limit);
        let planned = Cells::new(plan, &work.pass.timed, jobs.site.options.effect_floor);
        let mut course = work.begin_confirming(&planned, are_left_to_proof())?;
        work.follow(&mut course)?;
        Ok(Verifying {
            work,
            course,
            is_unseen: false,
        })
    }

    /// The findings so far.
    #[must_use]
    pub fn findings(&self) -> Verification {
        self.work.findings()
    }

    /// Confirms what is still open, with the rest of the budget.
    ///
    /// # Errors
    /// As [`verify`].
    pub fn confirm_the_rest(mut self) -> anyhow::Result<Verification> {
        let (work, course) = (&mut self.work, &mut self.course);
        let budget = &work.jobs.budget;
        if self.is_unseen {
            work.judge(course, false)?;
        }
        work.limit = Limit::new(Allowance::ALL, budget.spent_seconds(), budget.total_seconds());
        work.is_out_of_time = false;
        course.waiting.append(&mut course.later);
        let admitted = work.admit(&mut course.waiting, &course.entered, course.had);
        course.admitted.extend(admitted);
        work.follow(course)?;
        Ok(self.end())
    }

    fn end(self) -> Verification {
        self.work.tell(&self.course);
        let mut found = self.work.findings();
        found.note_unreached(&self.work.plan.subjects());
        found
    }

    /// Lets the cells that were left to it join the launches of a proof.
    pub(super) fn join(&mut self) {
        let joining = std::mem::take(&mut self.course.later);
        let subjects = joining.iter().flat_map(|one| one.subjects.iter().cloned());
        self.course.entered.extend(subjects);
        self.course.admitted.extend(joining);
    }

    /// Seconds that [`Verifying::blocks`] are expected to take; 0 where nothing is open.
    pub(super) fn seconds(&self) -> f64 {
        let entered = &self.course.entered;
        self.work.launch_price(entered) - self.work.jobs.launch_seconds()
    }

    /// Blocks of the cells that joined and are open still, beside those that a launch of the untouched library has in a proof.
    pub(super) fn blocks(&mut self, name: &str) -> Vec<Block> {
        let Course {
            distances,
            entered,
            had,
            ..
        } = &self.course;
        if entered.is_empty() {
            return Vec::new();
        }
        self.work.repeat(distances, entered, *had);
        let blocks = self.work.blocks(entered, name).into_iter();
        let with_id = |block: Block| Block {
            id: format!("{}{LEFT_TO_PROOF}", block.id),
            ..block
        };
        blocks.map(with_id).collect()
    }

    /// Takes these blocks of a launch, and looks at the cells where this is due.
    pub(super) fn take(
        &mut self,
        name: String,
        blocks: Vec<(Block, BlockOutcome)>,
        reference: Vec<f64>,
        of_launch: Verification,
    ) -> anyhow::Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let work = &mut self.work;
        let number = work.verification.launches;
        let (blocks, outcomes): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
        let failed = &mut work.verification.failed;
        work.timed.collect(number, &blocks, &outcomes, failed);
        work.verification.reference.push(reference);
        work.verification.seconds += outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>();
        work.verification.heed(of_launch.sync);
        work.verification.launches += 1;
        work.keys.push(name);
        self.is_unseen = true;
        let entered = self.course.entered.iter();
        let made = entered.map(|one| work.timed.launches_of(one).len()).max().unwrap_or(0);
        if made >= verdict::next_look(self.course.had, work.most_launches) {
            work.judge(&mut self.course, false)?;
            self.is_unseen = false;
        }
        Ok(())
    }
}

/// Suffix of the ids of blocks in a proof that belong to the untouched library's verification.
const LEFT_TO_PROOF: &str = " before";

/// True for these blocks.
pub(super) fn is_left_to_proof(block: &Block) -> bool {
    block.id.ends_with(LEFT_TO_PROOF)
}
