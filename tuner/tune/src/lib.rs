//! The loop: verify, search, deploy into a staging directory, verify what is deployed, until nothing violated remains or no
//! candidate is left.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_emit::{self as emit, Emitted};
use kilter_model::deployment::{Assignment, Deployment};
use kilter_model::options::TuneOptions;
use kilter_model::report::Contest;
use kilter_model::setup::Setup;
use kilter_overlap::tuning::Goals;
use kilter_search::context::Context;
use kilter_search::pairs::Pairs;
use kilter_search::pricing;
use kilter_search::reproducibility;
use kilter_search::target::{ask_for, dearest_first, targets};
use kilter_search::verification::{Allowance, Medians, Verification, verify};

pub(crate) use self::deploying::spoilt;
use self::deploying::{deploy_and_verify, prove_overlap};
use self::state::State;

mod deploying;
pub mod layouts;
mod state;

/// What the loop ended with.
#[derive(Debug)]
pub struct Tuned {
    /// The untouched library.
    pub before: Verification,
    /// What is deployed; `None` where nothing is.
    pub after: Option<Verification>,
    /// The untouched library, measured in turn with what is deployed: its left sides.
    pub untouched: Medians,
    /// The decisions.
    pub deployment: Deployment,
    /// Which of them need each other.
    pub pairs: Pairs,
    /// What was written.
    pub emitted: Option<Emitted>,
    /// Why a violated cell has no fix, by cell name.
    pub unfixed: BTreeMap<String, String>,
    /// Everything that competed.
    pub contests: Vec<Contest>,
    /// Targets for overlap.
    pub goals: Goals,
}

impl Tuned {
    /// The state in force: as proven, and as before where nothing that is deployed acts.
    fn current(&self) -> Verification {
        self.after
            .as_ref()
            .map_or_else(|| self.before.clone(), |after| after.beside(&self.before))
    }

    /// Everything was taken back: what was measured with it says nothing of the library as it is.
    fn deploy_nothing(&mut self, context: &Context<'_>) -> anyhow::Result<()> {
        self.deployment = Deployment::default();
        self.after = None;
        self.untouched.clear();
        self.emitted = None;
        self.goals.nothing_deployed();
        emit::clear(context)
    }
}

/// Runs the loop.
///
/// # Errors
/// A failure that no candidate explains, or a staging directory that cannot be written.
pub fn tune(context: &Context<'_>, options: &TuneOptions) -> anyhow::Result<Tuned> {
    let seconds = FIRST_SHARE * context.options.budget_seconds;
    let allowed = Allowance {
        seconds,
        goes_on: options.targets.is_empty() && options.contests.is_empty(),
    };
    let first = || verify(context, "before", &Setup::default(), allowed);
    let before = context.budget.phase(FIRST, seconds, first)?;
    context.begin_search(before.seconds, before.noise_seconds, before.hosts.len());
    let allotted = context.budget.search_seconds();
    let goals = context.budget.phase(SEARCH, allotted, || {
        context.set_prices(pricing::measure(context, "prices", &Setup::default())?);
        reproducibility::learn(context)?;
        Goals::begin(context, &options.targets, options.model)
    })?;
    let mut state = State::default();
    let mut tuned = Tuned {
        after: None,
        untouched: Medians::new(),
        deployment: Deployment::default(),
        pairs: Pairs::default(),
        emitted: None,
        unfixed: BTreeMap::new(),
        contests: Vec::new(),
        goals,
        before,
    };
    for round in 1..=options.rounds {
        let current = tuned.current();
        let mut targets = targets(&current, &|judged| state.unfixed.contains_key(&judged.cell.name()));
        if !context.plan.calls.is_empty() {
            dearest_first(&mut targets, &|left| context.plan.calls_of(left));
        }
        state.leave(context, &mut targets);
        let violated = targets.len();
        if round == 1 {
            let volume = |(collective, bytes): &(Collective, u64)| {
                (*collective, context.options.place().volume(*collective, *bytes))
            };
            ask_for(&mut targets, options.contests.iter().map(volume));
        }
        if targets.is_empty() && !tuned.goals.are_missed() {
            break;
        }
        if round > 1 && context.budget.search_exhausted(0.0) {
            context
                .progress
                .warn("the budget ended while violations were left to fix; raise --budget");
            break;
        }
        if violated > 0 {
            context
                .progress
                .note(&format!("round {round}: {violated} violated cell group(s) to fix"));
        }
        let verified = state.deployment.clone();
        let launch = match &tuned.emitted {
            Some(emitted) if !verified.is_empty() => emit::staged(context, emitted)?,
            _ => Setup::default(),
        };
        if !targets.is_empty() {
            let allotted = context.budget.search_seconds();
            let search = || state.search(context, options, round, launch.clone(), &targets, &mut tuned.contests);
            context.budget.phase(SEARCH, allotted, search)?;
            state.take_back_halves(context, &verified, &tuned.before);
        }
        let without = state.deployment.clone();
        if options.parameters && tuned.goals.are_missed() {
            let launch = launch.with(&state.deployment.assignments);
            let label = format!("search/{round}");
            let goals = &mut tuned.goals;
            let banned = &state.banned.assignments;
            let allotted = context.budget.search_seconds();
            let search = || goals.search(context, &label, &launch, banned);
            let found = context.budget.phase(SEARCH, allotted, search)?;
            for assignment in found {
                let Assignment { name, value, .. } = &assignment;
                context.progress.note(&format!("chosen for overlap: {name}={value}"));
                state.deployment.assign(assignment);
            }
        }
        if state.deployment == verified {
            break;
        }
        let label = format!("after/{round}");
        let allotted = kilter_bench::budget::PROOF_SHARE * context.options.budget_seconds;
        let proof = || deploy_and_verify(context, &label, &verified, &mut state, &mut tuned);
        context.budget.last_phase(PROOF, allotted, proof)?;
        let proof = || prove_overlap(context, &label, (&verified, &without), &mut state, &mut tuned);
        context.budget.last_phase(PROOF, allotted, proof)?;
    }
    tuned.unfixed = state.reasons();
    let is_deployed = |one: &Assignment| state.deployment.assignments.contains(one);
    state.taken.mark(&mut tuned.contests, &is_deployed);
    tuned.pairs = state.pairs;
    if tuned.deployment.is_empty() {
        tuned.after = None;
        tuned.emitted = None;
        tuned.goals.nothing_deployed();
    }
    let staged = tuned.emitted.as_ref().map(|emitted| emit::staged(context, emitted));
    tuned.goals.draw(context, staged.transpose()?.as_ref())?;
    Ok(tuned)
}

/// Share of the budget that the first verification may spend: the search and the proof of what it finds need the rest.
const FIRST_SHARE: f64 = 0.35;

/// Parts of `tune` and their shares of the budget. The proof sets aside what the first verification took and more, up to its share.
pub const DIVISION: [(&str, f64); 3] = [
    (FIRST, FIRST_SHARE),
    (SEARCH, 1.0 - FIRST_SHARE - kilter_bench::budget::PROOF_SHARE),
    (PROOF, kilter_bench::budget::PROOF_SHARE),
];

/// Names of the parts.
const FIRST: &str = "first verification";
const SEARCH: &str = "search";
const PROOF: &str = "proof of what is deployed";
