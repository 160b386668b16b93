//! The loop: verify, search, deploy into a staging directory, verify the deployment, until nothing violated remains or no candidate is left.

use kilter_emit::{self as emit, Emitted};
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::ledger::Ledger;
use kilter_model::options::{Options, TuneOptions};
use kilter_model::plan::{PlannedCell, Subject};
use kilter_model::report::{ArrivalCell, Contest};
use kilter_overlap::tuning::Goals;
use kilter_search::context::Context;
use kilter_search::runners_up;
use kilter_search::verification::{InTurn, Medians, Verification};

use self::rounds::Rounds;

mod apart;
mod deploying;
pub mod layouts;
pub mod machine;
mod rounds;
mod searching;
mod spoilt;
mod taking_back;
mod within_reach;

/// Result of the loop.
#[derive(Debug)]
pub struct Tuned {
    /// The untouched library.
    pub before: Verification,
    /// Verification of the deployment; `None` if nothing is deployed.
    pub after: Option<Verification>,
    /// Left sides of the untouched library, measured in turn with the deployment.
    pub untouched: Medians,
    /// Calls that seemed slower there, in launches of their own, which decide.
    pub again: InTurn,
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

    /// True for a cell that has to be proven under `deployed`, however little time there is: it was violated or seemed so, or a choice was made for a side.
    fn is_first(&self, deployed: &Deployment, cell: &PlannedCell) -> bool {
        let was = |found: &Verification| {
            let mut suspected = found.suspected().map(|judged| &judged.cell);
            suspected.any(|own| own.guideline == cell.guideline && own.left == cell.left)
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
        self.again = InTurn::default();
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
    let mut rounds = Rounds::begin(context, options)?;
    for round in 1..=options.rounds {
        if rounds.run(round)?.is_break() {
            break;
        }
    }
    rounds.end()
}

/// Share of the budget that the first verification may spend: the search and the proof need the rest.
const FIRST_SHARE: f64 = 0.25;

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
