//! The loop: verify, search, deploy into a staging directory, verify what is deployed, until nothing violated remains or no
//! candidate is left.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;

use crate::context::{Context, Setup};
use crate::cost_model;
use crate::deployment::{Assignment, Deployment, Selection};
use crate::emit::{self, Emitted};
use crate::options::TuneOptions;
use crate::overlap::tuning::{Disproved, Goals};
use crate::plan::Subject;
use crate::report::model::{Contest, FixKind, Outcome, Screened};
use crate::report::not_deployed::NotDeployed;
use crate::search::at_start;
use crate::search::choose::Decision;
use crate::search::contest::Contests;
use crate::search::gates;
use crate::search::pairs::Pairs;
use crate::search::reasons::{self, TakenBack};
use crate::search::target::{Target, ask_for, dearest_first, targets};
use crate::search::{necessity, proof, settings};
use crate::stats::sample::Sample;
use crate::verdict::{self, Pair, Rule};
use crate::verification::{Allowance, JudgedCell, Medians, Verification, prove, verify};

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
    /// What is in force: as proven, and as before where nothing that is deployed acts.
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
    context.begin_search(&before);
    let allotted = context.budget.search_seconds();
    let goals = context.budget.phase(SEARCH, allotted, || {
        context.set_prices(cost_model::measure::measure(context, "prices", &Setup::default())?);
        Goals::begin(context, &options.targets)
    })?;
    let mut state = State {
        deployment: Deployment::default(),
        pairs: Pairs::default(),
        banned: Bans::default(),
        unfixed: BTreeMap::new(),
        idle: BTreeMap::new(),
        taken: TakenBack::default(),
    };
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
        let allotted = crate::budget::PROOF_SHARE * context.options.budget_seconds;
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

/// What must not be proposed again, because the verification of what was deployed spoke against it.
#[derive(Debug, Default)]
struct Bans {
    assignments: BTreeSet<Assignment>,
    /// For these nothing is proposed.
    cells: BTreeSet<(Collective, u64)>,
    /// For these nothing of the kind: where the library does not follow its rule, Kilter's own code runs all the same.
    kinds: BTreeSet<((Collective, u64), FixKind)>,
}

impl Bans {
    /// Whether a fix of a kind may be proposed for a cell.
    fn allow(&self, key: (Collective, u64), kind: FixKind) -> bool {
        !self.cells.contains(&key) && !self.kinds.contains(&(key, kind))
    }
}

#[derive(Debug, Default)]
struct State {
    deployment: Deployment,
    pairs: Pairs,
    banned: Bans,
    unfixed: BTreeMap<String, String>,
    /// By the name of a cell of a guideline: whose rule was taken back because the library does not follow it, and what was said.
    idle: BTreeMap<String, ((Collective, u64), String)>,
    /// What was chosen and taken back.
    taken: TakenBack,
}

impl State {
    fn search(
        &mut self,
        context: &Context<'_>,
        options: &TuneOptions,
        round: usize,
        launch: Setup,
        targets: &[Target],
        contests: &mut Vec<Contest>,
    ) -> anyhow::Result<()> {
        let label = format!("search/{round}");
        let verified = self.deployment.clone();
        let mut settings = settings::Outcome::default();
        if options.parameters {
            let banned = &self.banned.assignments;
            settings = context.budget.with_share(SETTINGS_SHARE, || {
                settings::search(context, &label, launch.clone(), targets, banned)
            })?;
            let launch = launch.with(&self.assign_all(&settings.accepted));
            let (held, banned) = (self.deployment.assignments.clone(), &self.banned.assignments);
            let found = context.budget.with_share(AT_START_SHARE, || {
                at_start::search(context, &label, launch, &held, targets, banned)
            })?;
            self.assign_all(&found.accepted);
            settings.accepted.extend(found.accepted);
            for (target, more) in found.contestants {
                settings.contestants.entry(target).or_default().extend(more);
            }
        }
        let open: Vec<Target> = targets
            .iter()
            .filter(|target| {
                let key = target.collective().map(|collective| (collective, target.bytes()));
                key.is_some_and(|key| !self.banned.cells.contains(&key))
            })
            .cloned()
            .collect();
        for target in targets.iter().filter(|target| target.collective().is_none()) {
            let reason = "no algorithm or mock-up replaces it; among the library's parameters none made it hold";
            self.give_up(target, reason);
        }
        let allowed = |target: &Target, kind: FixKind| {
            let is_asked_for = match kind {
                FixKind::Parameter => options.parameters,
                FixKind::Mockup => options.mockups,
                FixKind::Algorithm => options.algorithms,
            };
            let key = target.collective().map(|collective| (collective, target.bytes()));
            is_asked_for && key.is_none_or(|key| self.banned.allow(key, kind))
        };
        let mut decisions = Contests::new(context, &self.deployment, &label).run(&open, &allowed)?;
        let mut paired = BTreeMap::new();
        if options.parameters {
            let (deployed, banned) = (&self.deployment, &self.banned.assignments);
            paired = gates::search(context, &label, deployed, banned, &allowed, &mut decisions)?;
        }
        let standing = self.pairs.clone();
        self.deployment.assignments = verified.assignments.clone();
        self.assign_needed(context, &verified, &mut settings, &decisions);
        for (target, decision) in decisions {
            let mut contest = decision.contest;
            let launch_wide = settings.contestants.remove(&target.name()).unwrap_or_default();
            let nearer = settings::nearer(&contest, &launch_wide);
            settings::merge(&mut contest, launch_wide);
            for (id, why) in &settings.left_behind {
                contest.screened.push(Screened {
                    id: id.clone(),
                    ratio_to_default: f64::NAN,
                    not_deployed: why.clone(),
                });
            }
            contests.retain(|other| (&other.function, other.bytes) != (&contest.function, contest.bytes));
            contests.push(contest);
            if let Some(selection) = decision.chosen {
                context
                    .progress
                    .note(&format!("chosen for {}: {}", target.name(), selection.id()));
                if let Some(collective) = target.collective() {
                    let cell = (collective, target.bytes());
                    let needs = paired.remove(&cell);
                    let needs = needs.unwrap_or_else(|| standing.in_force(collective, &selection, &context.library));
                    for assignment in &needs {
                        let Assignment { name, value, .. } = assignment;
                        context.progress.note(&format!("chosen along with it: {name}={value}"));
                        self.deployment.assign(assignment.clone());
                    }
                    self.pairs.set(cell, needs);
                    self.deployment.selections.insert(cell, selection);
                }
            } else if let Some(reason) = decision.unfixed_because {
                let reason = match (settings.refused.get(&target.name()), nearer) {
                    (Some(refused), _) => refused.clone(),
                    (None, Some(nearer)) => format!("{reason}; {nearer}"),
                    (None, None) => reason,
                };
                self.give_up(&target, &reason);
            }
        }
        Ok(())
    }

    /// Deploys settings for the time of a search, and returns them.
    fn assign_all(&mut self, accepted: &[necessity::Accepted]) -> Vec<Assignment> {
        let all = accepted.iter().flat_map(|accepted| accepted.assignments.clone());
        let all: Vec<Assignment> = all.collect();
        for assignment in &all {
            self.deployment.assign(assignment.clone());
        }
        all
    }

    /// Deploys the launch settings that are needed beside what was chosen for single cells. What was deployed and `verified` before
    /// does not fix a target, or it would be none.
    fn assign_needed(
        &mut self,
        context: &Context<'_>,
        verified: &Deployment,
        settings: &mut settings::Outcome,
        decisions: &[(Target, Decision)],
    ) {
        let covered = |(target, decision): &(Target, Decision)| {
            let chosen = decision.chosen.as_ref()?;
            let before = verified.selections.get(&(target.collective()?, target.bytes()));
            (before != Some(chosen)).then(|| target.name())
        };
        let covered: BTreeSet<String> = decisions.iter().filter_map(covered).collect();
        let (mut needed, superfluous) = necessity::needed(std::mem::take(&mut settings.accepted), &covered);
        // The algorithms of the library that were chosen were measured under it, and would not be asked for without it.
        let is_algorithm = |(_, decision): &(Target, Decision)| matches!(decision.chosen, Some(Selection::Settings(_)));
        let has_algorithm = decisions.iter().any(is_algorithm);
        let admits = |accepted: &necessity::Accepted| {
            let row = |one: &Assignment| context.library.parameters.iter().find(|row| row.name == one.name);
            let mut rows = accepted.assignments.iter().filter_map(row);
            has_algorithm && rows.any(|row| row.admits_algorithms)
        };
        let (admitting, superfluous): (Vec<_>, Vec<_>) = superfluous.into_iter().partition(admits);
        needed.extend(admitting);
        for accepted in superfluous {
            let id = accepted.id();
            let fixes: Vec<&str> = accepted.fixes.iter().map(String::as_str).collect();
            context.progress.note(&format!(
                "`{id}` is not deployed: what else is deployed fixes {}, too",
                fixes.join(", ")
            ));
            let why = NotDeployed::Superfluous {
                cells: accepted.fixes.iter().cloned().collect(),
            };
            for contestants in settings.contestants.values_mut() {
                reasons::explain(contestants, &id, &why);
            }
        }
        for assignment in needed.into_iter().flat_map(|accepted| accepted.assignments) {
            context
                .progress
                .note(&format!("chosen: {}={}", assignment.name, assignment.value));
            self.deployment.assign(assignment);
        }
    }

    /// Gives up what no fix may touch.
    fn leave(&mut self, context: &Context<'_>, targets: &mut Vec<Target>) {
        targets.retain(|target| {
            let left = context.options.limits.leaves(&target.function);
            if let Some(reason) = &left {
                context
                    .progress
                    .note(&format!("{} is violated, and {reason}", target.name()));
                self.give_up(target, reason);
            }
            left.is_none()
        });
    }

    fn give_up(&mut self, target: &Target, reason: &str) {
        for cell in &target.cells {
            self.unfixed.insert(cell.clone(), reason.to_owned());
        }
    }

    /// Takes back a selection whose rule the library does not follow; in the next round the cell may be fixed in another way.
    fn take_back_idle(&mut self, context: &Context<'_>, key: (Collective, u64), reason: &str, before: &Verification) {
        let Some((selection, text)) = self.forgo_idle(key, reason, names_at(key, before)) else {
            return;
        };
        context.progress.warn(&text);
        // For this cell: elsewhere its rule may be followed.
        let id = format!("{} for {} {}", selection.id(), key.0, key.1);
        context.quarantine.add(&id, "had no effect", reason);
    }

    /// Removes the selection of a cell, bans its kind there, and keeps for the cells by these names why; gives it with what is to be
    /// said.
    fn forgo_idle(
        &mut self,
        key: (Collective, u64),
        reason: &str,
        cells: impl Iterator<Item = String>,
    ) -> Option<(Selection, String)> {
        let selection = self.deployment.selections.remove(&key)?;
        let text = format!("`{}` is taken back: {reason}", selection.id());
        self.taken.selection(key, &selection, reason);
        self.banned.kinds.insert((key, selection.kind()));
        self.idle.extend(cells.map(|cell| (cell, (key, text.clone()))));
        Some((selection, text))
    }

    /// Why cells have no fix, with what was taken back of those for which nothing else was found.
    fn reasons(&self) -> BTreeMap<String, String> {
        let mut reasons = self.unfixed.clone();
        for (cell, (key, text)) in &self.idle {
            if self.deployment.selections.contains_key(key) {
                continue;
            }
            reasons
                .entry(cell.clone())
                .and_modify(|reason| *reason = format!("{reason}; {text}"))
                .or_insert_with(|| text.clone());
        }
        reasons
    }

    /// Gives up what was violated at this volume of this collective; nothing is selected for it again.
    fn give_up_cell(&mut self, key: (Collective, u64), reason: &str, before: &Verification) {
        self.banned.cells.insert(key);
        for cell in names_at(key, before) {
            self.unfixed.insert(cell, reason.to_owned());
        }
    }

    /// Takes back what acts only together with something that is not deployed any more.
    fn take_back_halves(&mut self, context: &Context<'_>, verified: &Deployment, before: &Verification) {
        let fallen = self.pairs.fall(&mut self.deployment, verified);
        for (cell, selection, needs) in fallen.selections {
            let needs = necessity::id(&needs);
            let why = match selection {
                Selection::Settings(_) => "it acts only",
                _ => "it was found to fix the cell only together",
            };
            let text = format!(
                "`{}` is taken back: {why} with `{needs}`, which is taken back",
                selection.id()
            );
            context.progress.warn(&text);
            self.taken.selection(cell, &selection, &format!("{why} with `{needs}`"));
            self.give_up_cell(cell, &text, before);
        }
        for Assignment { name, value, .. } in fallen.assignments {
            context.progress.note(&format!(
                "`{name}={value}` is not deployed any more: nothing is left that acts only with it"
            ));
        }
    }

    /// Takes back what made something slower; `verified` is what was deployed, and slowed nothing, before this round. Returns
    /// whether anything was taken back.
    fn take_back(&mut self, context: &Context<'_>, verified: &Deployment, slower: &[(Subject, f64)]) -> bool {
        let blame = |subject: &Subject| self.deployment.to_blame(subject, verified, &context.library);
        let mut launch_wide = Vec::new();
        let mut slowed = BTreeSet::new();
        let mut selections = BTreeMap::new();
        for (subject, ratio) in slower {
            let note = format!("{} became {ratio:.2} times slower", subject.item_id());
            match blame(subject) {
                Some(key) => selections.entry(key).or_insert_with(Vec::new).push(note),
                None => {
                    launch_wide.push(note);
                    slowed.insert(subject.collective());
                }
            }
        }
        let mut changed = false;
        for (key, notes) in selections {
            if let Some(selection) = self.deployment.selections.remove(&key) {
                context
                    .progress
                    .warn(&format!("`{}` is taken back: {}", selection.id(), notes.join(", ")));
                self.taken.selection(key, &selection, &notes.join(", "));
                self.banned.cells.insert(key);
                changed = true;
            }
        }
        if !launch_wide.is_empty() {
            for assignment in self
                .deployment
                .take_back_assignments(verified, &slowed, &context.library)
            {
                context.progress.warn(&format!(
                    "`{}={}` is taken back: {}",
                    assignment.name,
                    assignment.value,
                    launch_wide.join(", ")
                ));
                self.taken.assignment(&assignment, &launch_wide.join(", "));
                self.banned.assignments.insert(assignment);
                changed = true;
            }
        }
        changed
    }
}

/// Names of the cells of this volume of this collective.
fn names_at(key: (Collective, u64), verification: &Verification) -> impl Iterator<Item = String> {
    let is_its = move |judged: &&JudgedCell| {
        let left = &judged.cell.left;
        left.collective().map(|collective| (collective, left.bytes)) == Some(key)
    };
    verification
        .cells
        .iter()
        .filter(is_its)
        .map(|judged| judged.cell.name())
}

/// Emits what is decided and verifies exactly these files in fresh launches; takes back what slows anything, and verifies again.
/// `verified` is what was deployed before.
fn deploy_and_verify(
    context: &Context<'_>,
    label: &str,
    verified: &Deployment,
    state: &mut State,
    tuned: &mut Tuned,
) -> anyhow::Result<()> {
    for attempt in 0..ATTEMPTS {
        let label = format!("{label}/{attempt}");
        let Some((emitted, setup)) = emit_what_acts(context, &label, verified, state, tuned)? else {
            return tuned.deploy_nothing(context);
        };
        let touched = |subject: &Subject| state.deployment.touches(subject, &context.library);
        let (after, untouched) = prove(context, &label, &setup, &touched)?;
        emit::confirm_ran(context, &emitted, &after);
        let slower = slower(context, &after, &untouched, &touched)?;
        tuned.deployment = state.deployment.clone();
        tuned.emitted = Some(emitted);
        tuned.after = Some(after);
        tuned.untouched = untouched;
        if slower.is_empty() || attempt + 1 == ATTEMPTS || !state.take_back(context, verified, &slower) {
            for (subject, ratio) in slower {
                context.progress.warn(&format!(
                    "{} became {ratio:.2} times slower; compare before you deploy",
                    subject.item_id()
                ));
            }
            return Ok(());
        }
        state.take_back_halves(context, verified, &tuned.before);
        tuned.deployment = state.deployment.clone();
        if state.deployment.is_empty() {
            return tuned.deploy_nothing(context);
        }
    }
    Ok(())
}

/// Judges the targets by what is deployed; takes back what was proposed for them where this does not show that it comes nearer to one, and
/// verifies and judges what is left. `verified` is what was deployed before, `without` what was decided in this round for everything else.
fn prove_overlap(
    context: &Context<'_>,
    label: &str,
    (verified, without): (&Deployment, &Deployment),
    state: &mut State,
    tuned: &mut Tuned,
) -> anyhow::Result<()> {
    forget_what_fell(state, tuned);
    let Some(disproved) = judge_overlap(context, label, tuned)? else {
        return Ok(());
    };
    context.progress.warn(&format!("taken back: {}", disproved.because));
    let mut before = without.clone();
    before.assignments.retain(|one| !state.banned.assignments.contains(one));
    state.deployment.give_back(&disproved.assignments, &before);
    state.take_back_halves(context, verified, &tuned.before);
    if state.deployment.is_empty() {
        tuned.deploy_nothing(context)?;
    } else {
        let label = format!("{label}/without what was chosen for overlap");
        deploy_and_verify(context, &label, verified, state, tuned)?;
        if context.budget.exhausted() {
            context
                .progress
                .warn("the budget ended before the targets were judged without what was taken back; raise --budget");
            tuned.goals.judged_as_before();
        } else {
            judge_overlap(context, &label, tuned)?;
        }
    }
    forget_what_fell(state, tuned);
    Ok(())
}

/// Judges the targets by the emitted files, where there are any.
fn judge_overlap(context: &Context<'_>, label: &str, tuned: &mut Tuned) -> anyhow::Result<Option<Disproved>> {
    let Some(emitted) = tuned.emitted.as_ref().filter(|_| !tuned.deployment.is_empty()) else {
        return Ok(None);
    };
    let setup = emit::staged(context, emitted)?;
    tuned.goals.judge_deployed(context, label, &setup)
}

/// Takes out of what was chosen for overlap what is not deployed any more.
fn forget_what_fell(state: &State, tuned: &mut Tuned) {
    let line = |one: &Assignment| {
        let id = necessity::id(std::slice::from_ref(one));
        let why = if state.banned.assignments.contains(one) {
            "is taken back: it slowed a collective"
        } else {
            "is not deployed after all"
        };
        (id.clone(), format!("`{id}` {why}"))
    };
    let lines: Vec<(String, String)> = tuned.goals.chosen().map(line).collect();
    let because = lines.iter().map(|(id, line)| (id.as_str(), line.clone()));
    tuned.goals.keep_only(&tuned.deployment.assignments, because);
}

/// Emits what is decided, without the rules that the library does not follow when it is launched with the files; `None` where nothing is
/// left. `verified` is what was deployed before.
fn emit_what_acts(
    context: &Context<'_>,
    label: &str,
    verified: &Deployment,
    state: &mut State,
    tuned: &Tuned,
) -> anyhow::Result<Option<(Emitted, Setup)>> {
    // Each time with less in it.
    for time in 0.. {
        let emitted = emit::emit(context, &state.deployment)?;
        let setup = emit::staged(context, &emitted)?;
        let idle = proof::not_carried_out(context, &format!("{label}/{time}"), &setup, &state.deployment)?;
        if idle.is_empty() {
            return Ok(Some((emitted, setup)));
        }
        for (key, reason) in idle {
            state.take_back_idle(context, key, &reason, &tuned.before);
        }
        state.take_back_halves(context, verified, &tuned.before);
        if state.deployment.is_empty() {
            break;
        }
    }
    Ok(None)
}

/// Share of the budget that the first verification may spend: the search and the proof of what it finds need the rest.
const FIRST_SHARE: f64 = 0.35;

/// Parts of `tune` and their shares of the budget. The proof sets aside what the first verification took and more, up to its share.
pub const DIVISION: [(&str, f64); 3] = [
    (FIRST, FIRST_SHARE),
    (SEARCH, 1.0 - FIRST_SHARE - crate::budget::PROOF_SHARE),
    (PROOF, crate::budget::PROOF_SHARE),
];

/// Names of the parts.
const FIRST: &str = "first verification";
const SEARCH: &str = "search";
const PROOF: &str = "proof of what is deployed";

/// Share of what is left for searching that settings of whole launches may spend: each costs launches, while the contests that follow
/// compare many candidates in one.
const SETTINGS_SHARE: f64 = 0.6;

/// The same for algorithms that are chosen at the start, which are all of a library's where there are any.
const AT_START_SHARE: f64 = 0.8;

/// Verifications of one deployment, each with less in it than the one before.
const ATTEMPTS: usize = 3;

/// What the drop-in may cost a call that it leaves alone, in seconds; less is no damage.
const DROPIN_SECONDS: f64 = 50e-9;

/// A smaller slowdown, as a fraction, does not take a fix back: launches of the same library on a shared machine differ by
/// about as much.
pub const DAMAGE_FLOOR: f64 = 0.1;

/// The collectives and volumes, of those `touched`, that are significantly slower than the untouched library measured in the same minutes.
pub(crate) fn slower(
    context: &Context<'_>,
    after: &Verification,
    untouched: &Medians,
    touched: &dyn Fn(&Subject) -> bool,
) -> anyhow::Result<Vec<(Subject, f64)>> {
    let mut subjects = Vec::new();
    let mut pairs = Vec::new();
    // What nothing acts on is slower by chance, and would take a fix back that has nothing to do with it.
    for (subject, reference) in untouched.iter().filter(|(subject, _)| touched(subject)) {
        if let Some(medians) = after.medians.get(subject) {
            subjects.push(subject.clone());
            pairs.push(Pair {
                left: Sample::new(medians.clone())?,
                right: Sample::new(reference.clone())?,
            });
        }
    }
    // The untouched library is measured in launches of its own.
    let rule = context.rule(after.noise_seconds).unpaired();
    let rule = Rule {
        effect_floor: rule.effect_floor.max(DAMAGE_FLOOR),
        noise_seconds: rule.noise_seconds.max(DROPIN_SECONDS / 2.0),
        ..rule
    };
    let comparisons = verdict::judge(&pairs, &rule);
    Ok(subjects
        .into_iter()
        .zip(comparisons)
        .filter(|(_, comparison)| comparison.verdict == Outcome::Violated)
        .map(|(subject, comparison)| (subject, comparison.ratio))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BCAST: (Collective, u64) = (Collective::Bcast, 4096);

    fn with_rule() -> State {
        let rule = vec![("coll_tuned_bcast_algorithm".to_owned(), "6".to_owned())];
        let mut state = State::default();
        state.deployment.selections.insert(BCAST, Selection::Settings(rule));
        state
    }

    fn forgo(state: &mut State) -> Option<(Selection, String)> {
        state.forgo_idle(
            BCAST,
            "the library sends `0>1:1`",
            std::iter::once("GL10 4096".to_owned()),
        )
    }

    #[test]
    fn where_the_library_does_not_follow_a_rule_kilters_own_may_still_fix_the_cell() {
        let mut state = with_rule();
        let (_, text) = forgo(&mut state).unwrap();
        assert_eq!(
            text,
            "`coll_tuned_bcast_algorithm=6` is taken back: the library sends `0>1:1`"
        );
        assert!(state.deployment.is_empty());
        let allowed =
            |key| [FixKind::Parameter, FixKind::Mockup, FixKind::Algorithm].map(|kind| state.banned.allow(key, kind));
        assert_eq!(allowed(BCAST), [false, true, true]);
        assert_eq!(allowed((BCAST.0, 8)), [true; 3]);
        // Neither given up nor closed, so the next round looks for another fix.
        assert!(state.unfixed.is_empty() && state.banned.cells.is_empty());
        assert_eq!(forgo(&mut state), None);
    }

    #[test]
    fn a_cell_for_which_nothing_else_is_found_says_what_was_taken_back() {
        let mut state = with_rule();
        let (_, text) = forgo(&mut state).unwrap();
        let reason = |state: &State| state.reasons().get("GL10 4096").cloned();
        assert_eq!(reason(&state), Some(text.clone()));
        state
            .unfixed
            .insert("GL10 4096".to_owned(), "nothing is faster".to_owned());
        assert_eq!(reason(&state), Some(format!("nothing is faster; {text}")));
        state.unfixed.clear();
        let other = Selection::Mockup("bcast.as_scatter_allgather".to_owned());
        state.deployment.selections.insert(BCAST, other);
        assert_eq!(reason(&state), None);
    }

    #[test]
    fn what_slowed_a_cell_closes_it_for_every_kind() {
        let mut bans = Bans::default();
        bans.cells.insert(BCAST);
        assert!(!bans.allow(BCAST, FixKind::Algorithm) && bans.allow((BCAST.0, 8), FixKind::Algorithm));
    }
}
