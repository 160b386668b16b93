//! What the loop has decided so far, and what it does not propose again.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_bench::launch::JobFailure;
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::not_deployed::NotDeployed;
use kilter_model::options::TuneOptions;
use kilter_model::plan::Subject;
use kilter_model::report::{Contest, FixKind, Screened};
use kilter_model::setup::Setup;
use kilter_protocol::fault::FaultKind;
use kilter_search::at_start;
use kilter_search::choose::Decision;
use kilter_search::contest::Contests;
use kilter_search::context::Context;
use kilter_search::credits::Credits;
use kilter_search::gates;
use kilter_search::pairs::Pairs;
use kilter_search::reasons::{self, TakenBack};
use kilter_search::target::Target;
use kilter_search::verification::{JudgedCell, OF_SPLITS, UNTOUCHED, Verification};
use kilter_search::{necessity, settings};

/// Bans: proposals that the verification of what was deployed spoke against.
#[derive(Debug, Default)]
pub(super) struct Bans {
    pub(super) assignments: BTreeSet<Assignment>,
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
pub(super) struct State {
    pub(super) deployment: Deployment,
    pub(super) pairs: Pairs,
    pub(super) credits: Credits,
    pub(super) banned: Bans,
    pub(super) unfixed: BTreeMap<String, String>,
    /// By the name of a cell of a guideline: whose selection was taken back, because the library does not follow it or because it ended a
    /// job, and what was said.
    pub(super) idle: BTreeMap<String, ((Collective, u64), String)>,
    /// Choices that were taken back.
    pub(super) taken: TakenBack,
}

impl State {
    pub(super) fn search(
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
        for accepted in needed {
            self.credits.add(&accepted);
            for assignment in accepted.assignments {
                context
                    .progress
                    .note(&format!("chosen: {}={}", assignment.name, assignment.value));
                self.deployment.assign(assignment);
            }
        }
    }

    /// Gives up what no fix may touch.
    pub(super) fn leave(&mut self, context: &Context<'_>, targets: &mut Vec<Target>) {
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
    pub(super) fn take_back_idle(
        &mut self,
        context: &Context<'_>,
        key: (Collective, u64),
        reason: &str,
        before: &Verification,
    ) {
        let Some((selection, text)) = self.forgo(key, reason, names_at(key, before)) else {
            return;
        };
        context.progress.warn(&text);
        // For this cell: elsewhere its rule may be followed.
        let id = format!("{} for {} {}", selection.id(), key.0, key.1);
        context.quarantine.add(&id, FaultKind::NoEffect, reason);
    }

    /// Removes the selection of a cell, bans its kind there, and keeps for the cells by these names why; gives it with what is to be
    /// said.
    fn forgo(
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
    pub(super) fn reasons(&self) -> BTreeMap<String, String> {
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
    pub(super) fn take_back_halves(&mut self, context: &Context<'_>, verified: &Deployment, before: &Verification) {
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

    /// Takes back what may have ended a job of the deployment; in the next round another kind of fix may be found. Returns whether there was
    /// such a thing: false where the job ended for a reason that has nothing to do with what is deployed.
    pub(super) fn take_back_broken(
        &mut self,
        context: &Context<'_>,
        verified: &Deployment,
        error: &anyhow::Error,
        before: &Verification,
    ) -> bool {
        let Some(failure) = JobFailure::behind(error) else {
            return false;
        };
        let place = failure.place();
        let Some(block) = place.block.as_ref().filter(|_| !place.key.ends_with(UNTOUCHED)) else {
            return false;
        };
        let block = block.strip_suffix(OF_SPLITS).unwrap_or(block);
        let all = context.plan.subjects();
        let subjects: Vec<&Subject> = all.iter().filter(|subject| subject.block_id() == block).collect();
        if subjects.is_empty() {
            return false;
        }
        let because = format!("a job of what was to be deployed {}", failure.in_short());
        context.progress.warn(&format!("what was to be deployed: {failure}"));
        let culprits = self.deployment.culprits(&subjects, verified, &context.library);
        for key in &culprits {
            if let Some((selection, text)) = self.forgo(*key, &because, names_at(*key, before)) {
                context.progress.warn(&text);
                let id = format!("{} for {} {}", selection.id(), key.0, key.1);
                context.quarantine.add(&id, failure.kind(), &because);
            }
        }
        if !culprits.is_empty() {
            return true;
        }
        let functions = subjects.iter().map(|subject| subject.task.collective()).collect();
        let taken = self
            .deployment
            .take_back_assignments(verified, &functions, &context.library);
        for assignment in &taken {
            let Assignment { name, value, .. } = assignment;
            context
                .progress
                .warn(&format!("`{name}={value}` is taken back: {because}"));
            self.taken.assignment(assignment, &because);
            self.banned.assignments.insert(assignment.clone());
        }
        !taken.is_empty()
    }

    /// Takes back what spoilt something, each with a note of how; `verified` is what was deployed, and spoilt nothing, before this round.
    /// Returns whether anything was taken back.
    pub(super) fn take_back(
        &mut self,
        context: &Context<'_>,
        verified: &Deployment,
        spoilt: &[(Subject, String)],
    ) -> bool {
        let blame = |subject: &Subject| self.deployment.to_blame(subject, verified, &context.library);
        let mut launch_wide = Vec::new();
        let mut slowed = BTreeSet::new();
        let mut selections = BTreeMap::new();
        for (subject, note) in spoilt {
            let note = note.clone();
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

/// Share of what is left for searching that settings of whole launches may spend: each costs launches, while the contests that follow
/// compare many candidates in one.
const SETTINGS_SHARE: f64 = 0.4;

/// The same for algorithms that are chosen at the start, which are all of a library's where there are any.
const AT_START_SHARE: f64 = 0.8;

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
        state.forgo(
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
