//! The rounds of the loop, with the first verification before them and the end behind them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use kilter_algorithms::Collective;
use kilter_emit as emit;
use kilter_model::change::Change;
use kilter_model::deployment::{Assignment, Deployment};
use kilter_model::ledger::{Ledger, Proposal};
use kilter_model::options::{Goal, TuneOptions};
use kilter_model::setup::Setup;
use kilter_overlap::tuning::Goals;
use kilter_search::context::{Context, LaunchSearch};
use kilter_search::decision::Known;
use kilter_search::target::{Target, ask_for, dearest_first, targets};
use kilter_search::verification::{Allowance, InTurn, JudgedCell, Medians, Verification, Verifying};
use kilter_search::{pricing, reproducibility};
use kilter_stats::verdict::Outcome;

use super::deploying::{Deploying, deploy_and_verify, prove_overlap};
use super::{FIRST, FIRST_SHARE, NEXT_PROOF, PROOF, SEARCH, Tuned, searching};

/// The loop under way.
pub(super) struct Rounds<'c, 'a> {
    context: &'c Context<'a>,
    options: &'c TuneOptions,
    ledger: Ledger,
    tuned: Tuned,
    /// Times and checks of all calls so far.
    known: Known,
    /// The verification of the untouched library, until all of it is decided.
    verifying: Option<Box<Verifying<'c, 'a>>>,
}

impl<'c, 'a> Rounds<'c, 'a> {
    /// Verifies the untouched library, and learns what all searches need.
    pub(super) fn begin(context: &'c Context<'a>, options: &'c TuneOptions) -> anyhow::Result<Rounds<'c, 'a>> {
        let (jobs, plan, facts) = (&context.jobs, &context.plan, &context.facts);
        let budget = &jobs.budget;
        let seconds = FIRST_SHARE * budget.total_seconds();
        let allowed = Allowance {
            seconds,
            // Calls that break nothing can become faster all the same, and the search needs its seconds.
            goes_on: options.goal == Goal::Smallest && options.targets.is_empty() && options.contests.is_empty(),
        };
        let is_fast = options.goal == Goal::Fastest && context.site.options.screens();
        // Where the budget is too small for a proof, what is found has to be worth something by itself.
        let is_within = || context.proof_seconds() <= kilter_bench::budget::PROOF_SHARE * budget.total_seconds();
        let are_left_to_proof = || is_fast && is_within();
        let untouched = ("before", &Setup::default());
        let first = || Verifying::begin(jobs, plan, facts, untouched, allowed, &are_left_to_proof);
        let verifying = budget.phase(FIRST, seconds, first)?;
        let before = verifying.findings();
        context.begin_search(before.seconds, before.noise_seconds, before.hosts.len());
        let goals = budget.phase(SEARCH, budget.search_seconds(), || {
            facts.set_prices(pricing::measure(jobs, "prices", &Setup::default())?);
            reproducibility::learn(jobs, plan)?;
            Goals::begin(jobs, facts, &options.targets, options.model)
        })?;
        Ok(Rounds {
            context,
            options,
            ledger: Ledger::default(),
            known: Known::default(),
            verifying: Some(Box::new(verifying)),
            tuned: Tuned {
                after: None,
                untouched: Medians::new(),
                again: InTurn::default(),
                deployment: Deployment::default(),
                ledger: Ledger::default(),
                emitted: None,
                contests: Vec::new(),
                tried: Vec::new(),
                goals,
                arrivals: Vec::new(),
                before,
            },
        })
    }

    /// Searches, deploys and proves. Breaks off where nothing is left to do, or no time to do it.
    pub(super) fn run(&mut self, round: usize) -> anyhow::Result<ControlFlow<()>> {
        let (jobs, progress) = (&self.context.jobs, &self.context.progress);
        let budget = &jobs.budget;
        let current = self.tuned.current();
        let (targets, violated) = self.targets(round, &current);
        // Calls that break nothing can become faster all the same.
        let is_wanted = !targets.is_empty() || round == 1 && self.options.goal == Goal::Fastest;
        if !is_wanted && !self.tuned.goals.are_missed() {
            return Ok(ControlFlow::Break(()));
        }
        // A job that has not the seconds to start measures nothing, and has its grace all the same.
        let is_over = budget.left_seconds() < jobs.launch_seconds();
        if is_over || round > 1 && budget.search_exhausted(0.0) {
            progress.warn(&format!("the budget ended {}; raise --budget", left_to_do(&targets)));
            return Ok(ControlFlow::Break(()));
        }
        if violated > 0 {
            let calls = kilter_render::format::count(violated, "call");
            progress.note(&format!("round {round}: {calls} seem to break guidelines"));
        }
        self.search(round, &current, (&targets, is_wanted))?;
        if self.ledger.deployment() == *self.ledger.verified() {
            return Ok(ControlFlow::Break(()));
        }
        self.prove(round)?;
        Ok(ControlFlow::Continue(()))
    }

    /// The targets of a round, and how many of them seem to break guidelines; the others were asked for.
    fn targets(&mut self, round: usize, current: &Verification) -> (Vec<Target>, usize) {
        let (site, plan) = (&self.context.site, &self.context.plan);
        // A proof decides what is only screened.
        let is_proven = self.tuned.after.is_some();
        let is_open = |judged: &&JudgedCell| !is_proven || judged.comparison.verdict == Outcome::Violated;
        let suspected = current.suspected().filter(is_open);
        let mut targets = targets(suspected.filter(|judged| !self.ledger.is_given_up(&judged.cell.name())));
        if !plan.calls.is_empty() {
            dearest_first(&mut targets, &|left| plan.calls_of(left));
        }
        searching::leave(&mut self.ledger, &self.context.progress, site.options, &mut targets);
        let violated = targets.len();
        if round == 1 {
            let volume = |(collective, bytes): &(Collective, u64)| {
                (*collective, site.options.place().volume(*collective, *bytes))
            };
            ask_for(&mut targets, self.options.contests.iter().map(volume));
        }
        (targets, violated)
    }

    /// Searches for the targets and for overlap, and enters what was chosen into the ledger.
    fn search(
        &mut self,
        round: usize,
        current: &Verification,
        (targets, is_wanted): (&[Target], bool),
    ) -> anyhow::Result<()> {
        let (context, options) = (self.context, self.options);
        let (jobs, budget) = (&context.jobs, &context.jobs.budget);
        let (ledger, tuned) = (&mut self.ledger, &mut self.tuned);
        let launch = match &tuned.emitted {
            Some(emitted) if !ledger.deployment().is_empty() => emit::staged(jobs, emitted)?,
            _ => Setup::default(),
        };
        if is_wanted {
            let (launch, known) = (launch.clone(), (&mut self.known, &mut tuned.contests));
            let search = || searching::search(ledger, context, options, round, launch, (current, targets), known);
            budget.phase(SEARCH, budget.search_seconds(), search)?;
        }
        if options.parameters && tuned.goals.are_missed() {
            let nothing_is_found = ledger.deployment().is_empty();
            let search = || search_for_overlap(ledger, context.launch_search(), round, launch, &mut tuned.goals);
            budget.with_loan(nothing_is_found, || {
                budget.phase(SEARCH, budget.search_seconds(), search)
            })?;
        }
        Ok(())
    }

    /// Deploys what the ledger has into the staging directory, and verifies it there.
    fn prove(&mut self, round: usize) -> anyhow::Result<()> {
        let budget = &self.context.jobs.budget;
        let (ledger, tuned, verifying) = (&mut self.ledger, &mut self.tuned, &mut self.verifying);
        let label = format!("after/{round}");
        let allotted = kilter_bench::budget::PROOF_SHARE * budget.total_seconds();
        let begun = budget.spent_seconds();
        let deploying = Deploying::of(self.context);
        let proof = || deploy_and_verify(deploying, &label, ledger, tuned, verifying);
        budget.last_phase(PROOF, allotted, proof)?;
        let proof = || prove_overlap(deploying, &label, ledger, tuned, verifying);
        budget.last_phase(PROOF, allotted, proof)?;
        // The next one has more to prove.
        budget.expect_proof(NEXT_PROOF * (budget.spent_seconds() - begun));
        ledger.prove();
        Ok(())
    }

    /// The result: what is in force, with what it does to overlap.
    pub(super) fn end(self) -> anyhow::Result<Tuned> {
        let Rounds {
            context,
            options,
            ledger,
            mut tuned,
            verifying,
            ..
        } = self;
        let jobs = &context.jobs;
        if let Some(verifying) = verifying {
            tuned.before = jobs.budget.last_phase(FIRST, 0.0, || verifying.confirm_the_rest())?;
        }
        ledger.mark(&mut tuned.contests);
        tuned.ledger = ledger;
        if tuned.deployment.is_empty() {
            tuned.after = None;
            tuned.emitted = None;
            tuned.arrivals.clear();
            tuned.goals.nothing_deployed();
        }
        if options.online {
            tuned.name_runners_up(context)?;
        }
        let staged = tuned.emitted.as_ref().map(|emitted| emit::staged(jobs, emitted));
        tuned.goals.draw(jobs, staged.transpose()?.as_ref())?;
        Ok(tuned)
    }
}

/// Names of targets that a warning has at most.
const NAMED: usize = 3;

/// The work that a budget left, for a warning.
fn left_to_do(targets: &[Target]) -> String {
    if targets.is_empty() {
        return "while targets for overlap were missed".to_owned();
    }
    let mut names: Vec<String> = targets.iter().take(NAMED).map(Target::name).collect();
    let others = targets.len() - names.len();
    if others > 0 {
        names.push(format!("{others} more"));
    }
    let calls = kilter_render::format::count(targets.len(), "call");
    format!("while {calls} broke guidelines still ({})", names.join(", "))
}

/// Searches settings that bring targets for overlap nearer, beside the whole deployment, and enters the findings.
fn search_for_overlap(
    ledger: &mut Ledger,
    parts: LaunchSearch<'_, '_>,
    round: usize,
    launch: Setup,
    goals: &mut Goals,
) -> anyhow::Result<()> {
    let launch = launch.with(&ledger.deployment().assignments);
    let label = format!("search/{round}");
    let found = goals.search(parts, &label, &launch, &ledger.barred_settings())?;
    for Assignment { name, value, .. } in &found {
        parts.jobs.progress.note(&format!("chosen for overlap: {name}={value}"));
    }
    if !found.is_empty() {
        ledger.deploy(Proposal {
            change: Change::of_launch(found),
            fixes: BTreeSet::new(),
        });
    }
    Ok(())
}
