//! The loop: verify, search, deploy into a staging directory, verify the deployment, until nothing violated remains or no candidate is left.

use std::collections::BTreeSet;

use kilter_algorithms::Collective;
use kilter_emit::{self as emit, Emitted};
use kilter_model::change::Change;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::ledger::{Ledger, Proposal};
use kilter_model::options::{Options, TuneOptions};
use kilter_model::plan::{PlannedCell, Subject};
use kilter_model::report::{ArrivalCell, Contest};
use kilter_model::setup::Setup;
use kilter_overlap::tuning::Goals;
use kilter_search::context::{Context, LaunchSearch};
use kilter_search::pricing;
use kilter_search::reproducibility;
use kilter_search::runners_up;
use kilter_search::target::{ask_for, dearest_first, targets};
use kilter_search::verification::{Allowance, Medians, Verification, verify};

use self::deploying::{Deploying, deploy_and_verify, prove_overlap};

mod apart;
mod deploying;
mod following;
pub mod layouts;
mod left_open;
pub mod machine;
mod searching;
mod spoilt;
mod taking_back;

/// Result of the loop.
#[derive(Debug)]
pub struct Tuned {
    /// The untouched library.
    pub before: Verification,
    /// Verification of the deployment; `None` if nothing is deployed.
    pub after: Option<Verification>,
    /// Left sides of the untouched library, measured in turn with the deployment.
    pub untouched: Medians,
    /// All decisions and their states.
    pub ledger: Ledger,
    /// The deployment in force.
    pub deployment: Deployment,
    /// The written files.
    pub emitted: Option<Emitted>,
    /// Everything that competed.
    pub contests: Vec<Contest>,
    /// Runners-up that the profile names for jobs to try.
    pub tried: Vec<Selection>,
    /// Targets for overlap.
    pub goals: Goals,
    /// Calls under the deployed files beside the untouched library, with ranks that arrive apart.
    pub arrivals: Vec<(Subject, ArrivalCell)>,
}

impl Tuned {
    /// The state in force: as proven, and as before where nothing that is deployed acts.
    fn current(&self) -> Verification {
        self.after
            .as_ref()
            .map_or_else(|| self.before.clone(), |after| after.beside(&self.before))
    }

    /// True for a cell that has to be proven under `deployed`, however little time there is: it was violated, or a choice was made for a side.
    fn is_first(&self, deployed: &Deployment, cell: &PlannedCell) -> bool {
        let was = |found: &Verification| {
            let mut violated = found.violated().map(|judged| &judged.cell);
            violated.any(|own| own.guideline == cell.guideline && own.left == cell.left)
        };
        was(&self.before)
            || self.after.as_ref().is_some_and(was)
            || [&cell.left, &cell.right]
                .into_iter()
                .any(|side| deployed.chooses_for(side))
    }

    /// Writes the same files once more, with runners-up in the profile, which launches without `KILTER_ONLINE` do not look at.
    fn name_runners_up(&mut self, context: &Context<'_>) -> anyhow::Result<()> {
        let candidates = runners_up::of(&self.contests, &self.deployment);
        self.tried = runners_up::admitted(context.in_job_search(), candidates)?;
        if !self.tried.is_empty() {
            let (jobs, plan, facts) = (&context.jobs, &context.plan, &context.facts);
            self.emitted = Some(emit::emit(jobs, plan, facts, &self.deployment, &self.tried)?);
        }
        Ok(())
    }

    /// Deploys nothing, since everything was taken back: times measured with it say nothing of the library as it is.
    fn deploy_nothing(&mut self, options: &Options) -> anyhow::Result<()> {
        self.deployment = Deployment::default();
        self.after = None;
        self.untouched.clear();
        self.emitted = None;
        self.arrivals.clear();
        self.goals.nothing_deployed();
        emit::clear(options)
    }
}

/// Runs the loop.
///
/// # Errors
/// A failure that no candidate explains, or a staging directory that cannot be written.
pub fn tune(context: &Context<'_>, options: &TuneOptions) -> anyhow::Result<Tuned> {
    let (site, jobs, plan) = (&context.site, &context.jobs, &context.plan);
    let (facts, progress, budget) = (&context.facts, &context.progress, &jobs.budget);
    let seconds = FIRST_SHARE * budget.total_seconds();
    let allowed = Allowance {
        seconds,
        goes_on: options.targets.is_empty() && options.contests.is_empty(),
    };
    let first = || verify(jobs, plan, facts, "before", &Setup::default(), allowed);
    let before = budget.phase(FIRST, seconds, first)?;
    context.begin_search(before.seconds, before.noise_seconds, before.hosts.len());
    let allotted = budget.search_seconds();
    let goals = budget.phase(SEARCH, allotted, || {
        facts.set_prices(pricing::measure(jobs, "prices", &Setup::default())?);
        reproducibility::learn(jobs, plan)?;
        Goals::begin(jobs, facts, &options.targets, options.model)
    })?;
    let mut ledger = Ledger::default();
    let mut tuned = Tuned {
        after: None,
        untouched: Medians::new(),
        deployment: Deployment::default(),
        ledger: Ledger::default(),
        emitted: None,
        contests: Vec::new(),
        tried: Vec::new(),
        goals,
        arrivals: Vec::new(),
        before,
    };
    for round in 1..=options.rounds {
        let current = tuned.current();
        let mut targets = targets(&current, &|judged| ledger.is_given_up(&judged.cell.name()));
        if !plan.calls.is_empty() {
            dearest_first(&mut targets, &|left| plan.calls_of(left));
        }
        searching::leave(&mut ledger, progress, site.options, &mut targets);
        let violated = targets.len();
        if round == 1 {
            let volume = |(collective, bytes): &(Collective, u64)| {
                (*collective, site.options.place().volume(*collective, *bytes))
            };
            ask_for(&mut targets, options.contests.iter().map(volume));
        }
        if targets.is_empty() && !tuned.goals.are_missed() {
            break;
        }
        // A job that has not the seconds to start measures nothing, and has its grace all the same.
        let is_over = budget.left_seconds() < jobs.launch_seconds();
        if is_over || round > 1 && budget.search_exhausted(0.0) {
            progress.warn("the budget ended while violations were left to fix; raise --budget");
            break;
        }
        if violated > 0 {
            progress.note(&format!("round {round}: {violated} violated cell group(s) to fix"));
        }
        let launch = match &tuned.emitted {
            Some(emitted) if !ledger.deployment().is_empty() => emit::staged(jobs, emitted)?,
            _ => Setup::default(),
        };
        if !targets.is_empty() {
            let allotted = budget.search_seconds();
            let (launch, contests) = (launch.clone(), &mut tuned.contests);
            let search = || {
                searching::search(
                    &mut ledger,
                    context,
                    options,
                    round,
                    launch,
                    (&current, &targets),
                    contests,
                )
            };
            budget.phase(SEARCH, allotted, search)?;
            taking_back::take_back_halves(&mut ledger, progress, &tuned.before);
        }
        if options.parameters && tuned.goals.are_missed() {
            let allotted = budget.search_seconds();
            let search = || search_for_overlap(&mut ledger, context.launch_search(), round, launch, &mut tuned.goals);
            budget.phase(SEARCH, allotted, search)?;
        }
        if ledger.deployment() == *ledger.verified() {
            break;
        }
        let label = format!("after/{round}");
        let allotted = kilter_bench::budget::PROOF_SHARE * budget.total_seconds();
        let begun = budget.spent_seconds();
        let deploying = Deploying::of(context);
        let proof = || deploy_and_verify(deploying, &label, &mut ledger, &mut tuned);
        budget.last_phase(PROOF, allotted, proof)?;
        let proof = || prove_overlap(deploying, &label, &mut ledger, &mut tuned);
        budget.last_phase(PROOF, allotted, proof)?;
        // The next one has more to prove.
        budget.expect_proof(NEXT_PROOF * (budget.spent_seconds() - begun));
        ledger.prove();
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

/// Share of the budget that the first verification may spend: the search and the proof need the rest.
const FIRST_SHARE: f64 = 0.35;

/// Seconds that are set aside for the proof of a round over those of the proof before it.
const NEXT_PROOF: f64 = 1.3;

/// Parts of `tune` and their shares of the budget. The proof sets aside at least the seconds of the first verification, up to its
/// share; that of a later round, a third more than the one before took.
pub const DIVISION: [(&str, f64); 3] = [
    (FIRST, FIRST_SHARE),
    (SEARCH, 1.0 - FIRST_SHARE - kilter_bench::budget::PROOF_SHARE),
    (PROOF, kilter_bench::budget::PROOF_SHARE),
];

/// Names of the parts.
const FIRST: &str = "first verification";
const SEARCH: &str = "search";
const PROOF: &str = "proof of what is deployed";
