//! A round of the search: its steps propose changes, and the ledger takes over those that are needed.

use kilter_bench::progress::Progress;
use kilter_model::change::{Cell, Change};
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::ledger::{Ledger, Proposal};
use kilter_model::options::{Options, TuneOptions};
use kilter_model::report::{Contest, FixKind};
use kilter_model::setup::Setup;
use kilter_search::choose::Choice;
use kilter_search::context::{Context, LaunchSearch};
use kilter_search::findings::{Findings, Gains, together};
use kilter_search::in_job_search::Contests;
use kilter_search::target::Target;
use kilter_search::verification::Verification;
use kilter_search::{components, gates, settings, startup_algorithms};

use crate::following;
use crate::left_open::{Behind, leave_out};
use crate::necessity::{Necessity, give_way};

/// Steps of cells left behind in one round: what is chosen for one may leave another behind.
const MOST_STEPS: usize = 6;

/// Searches changes for `targets` from `launch`, the deployment so far, and enters the changes to deploy into the ledger.
pub(super) fn search(
    ledger: &mut Ledger,
    context: &Context<'_>,
    options: &TuneOptions,
    round: usize,
    launch: Setup,
    (now, targets): (&Verification, &[Target]),
    contests: &mut Vec<Contest>,
) -> anyhow::Result<()> {
    let label = format!("search/{round}");
    for target in targets.iter().filter(|target| target.collective().is_none()) {
        let reason =
            "no algorithm or mock-up can replace this function, and no parameter of the library fixed the guideline";
        give_up(ledger, target, reason);
    }
    let parts = context.launch_search();
    let mut launch_wide = launch_wide(ledger, parts, options, &label, launch.clone(), targets)?;
    let in_force = ledger.in_force();
    let search = CellSearch {
        context,
        options,
        label: &label,
        in_force: &in_force,
    };
    let mut choices = search.contests(ledger, targets)?;
    give_way(&launch_wide.proposals, &mut choices, context.site.options.effect_floor);
    let nothing_is_found = in_force.is_empty() && choices.iter().all(|(_, choice)| choice.finds_nothing());
    let (mut found, mut launch_wide) = parts.jobs.budget.with_loan(nothing_is_found, || {
        let found = search.behind_contests(ledger, (now, targets), &launch_wide.gains, choices)?;
        let rest = rest_of_settings(
            ledger,
            parts,
            &label,
            launch,
            targets,
            (&mut launch_wide, &found.choices),
        )?;
        anyhow::Ok((found, launch_wide.and(rest)))
    })?;
    launch_wide.drop_partial(&mut found.choices);
    if is_last(context, options, round) {
        found.leave_out(ledger, context, now, &launch_wide.gains);
    }
    let needed = |cell: Cell, selection: &Selection| ledger.needed_by(cell.0, selection, &context.site.library);
    let for_cells = Findings::of_choices(found.choices.clone(), &needed);
    for (change, met) in &launch_wide.met {
        ledger.credit(change, met.intersection(&for_cells.held));
    }
    let necessity = Necessity::of(context, &label, &for_cells.proposals);
    let covered = necessity.covered(ledger, &found.choices)?;
    necessity.deploy(ledger, &covered, &mut launch_wide);
    enter(
        ledger,
        &context.progress,
        launch_wide.and(for_cells),
        (&found.targets, contests),
    );
    Ok(())
}

/// True if no round follows: the proof before this one tells how long the next one takes, and beyond that nothing is left. With an application's
/// calls its seconds count, and not cells.
fn is_last(context: &Context<'_>, options: &TuneOptions, round: usize) -> bool {
    let ended = round == options.rounds || round > 1 && context.jobs.budget.search_exhausted(0.0);
    ended && context.plan.calls.is_empty()
}

/// Contests of a round.
struct Searched {
    choices: Vec<(Target, Choice)>,
    /// Targets that may get a choice, or a reason why there is none.
    targets: Vec<Target>,
    /// Targets that were violated, and those behind them with a contest.
    searched: Vec<Target>,
}

impl Searched {
    fn leave_out(&mut self, ledger: &Ledger, context: &Context<'_>, now: &Verification, of_settings: &Gains) {
        let behind = Behind {
            now,
            plan: &context.plan,
            of_settings,
            searched: &self.searched,
            may_be_fixed: &|target| may_be_fixed(ledger, context, target),
            floor: context.site.options.effect_floor,
        };
        leave_out(&behind, &mut self.choices, &|text| context.progress.warn(text));
    }
}

/// Searches settings of whole launches, and then algorithms that are chosen at the start under them. Confirmed changes are in force from then
/// on.
fn launch_wide(
    ledger: &mut Ledger,
    parts: LaunchSearch<'_, '_>,
    options: &TuneOptions,
    label: &str,
    launch: Setup,
    targets: &[Target],
) -> anyhow::Result<Findings> {
    if !options.parameters {
        return Ok(Findings::default());
    }
    let barred = ledger.barred_settings();
    let found = parts.jobs.budget.with_share(SETTINGS_SHARE, || {
        settings::search(parts, label, launch.clone(), targets, &barred, None)
    })?;
    confirm(ledger, &found.proposals);
    let (launch, held) = (launch.with(&found.settings()), ledger.in_force().assignments);
    let more = parts.jobs.budget.with_share(STARTUP_SHARE, || {
        startup_algorithms::search(parts, label, launch, &held, targets, &barred)
    })?;
    confirm(ledger, &more.proposals);
    Ok(found.and(more))
}

/// Settings that their share of the seconds had no room for, in the seconds that contests left, for targets that nothing fixes so far: contests end
/// early where the library has few algorithms, or nothing but parameters is asked for.
fn rest_of_settings(
    ledger: &mut Ledger,
    parts: LaunchSearch<'_, '_>,
    label: &str,
    launch: Setup,
    targets: &[Target],
    (launch_wide, choices): (&mut Findings, &[(Target, Choice)]),
) -> anyhow::Result<Findings> {
    let untried = std::mem::take(&mut launch_wide.untried);
    let is_fixed = |target: &Target| {
        let by_choice =
            |(other, choice): &(Target, Choice)| other.name() == target.name() && choice.unfixed_because.is_none();
        launch_wide.fixes(target) || choices.iter().any(by_choice)
    };
    let open: Vec<Target> = targets.iter().filter(|target| !is_fixed(target)).cloned().collect();
    if untried.is_empty() || open.is_empty() {
        return Ok(Findings::default());
    }
    let (jobs, barred) = (parts.jobs, ledger.barred_settings());
    let launch = launch.with(&launch_wide.settings());
    let found = if jobs.budget.search_exhausted(jobs.launch_seconds()) {
        Findings {
            untried,
            ..Findings::default()
        }
    } else {
        settings::search(parts, &format!("{label}/rest"), launch, &open, &barred, Some(&untried))?
    };
    confirm(ledger, &found.proposals);
    if !found.untried.is_empty() {
        jobs.progress.warn(settings::NOT_ALL_TRIED);
    }
    Ok(found)
}

fn confirm(ledger: &mut Ledger, proposals: &[Proposal]) {
    for proposal in proposals {
        ledger.confirm(proposal.clone());
    }
}

/// The search of selections for single cells under all that is in force.
struct CellSearch<'s, 'c> {
    context: &'s Context<'c>,
    options: &'s TuneOptions,
    label: &'s str,
    in_force: &'s Deployment,
}

impl CellSearch<'_, '_> {
    /// True if fixes of this kind are asked for, and nothing bars them from the target's cell.
    fn allows(&self, ledger: &Ledger, target: &Target, kind: FixKind) -> bool {
        let is_asked_for = match kind {
            FixKind::Parameter => self.options.parameters,
            FixKind::Mockup => self.options.mockups,
            FixKind::Algorithm => self.options.algorithms,
        };
        is_asked_for && target.cell().is_none_or(|cell| ledger.allows(cell, kind))
    }

    /// Contests of the targets that are open.
    fn contests(&self, ledger: &Ledger, targets: &[Target]) -> anyhow::Result<Vec<(Target, Choice)>> {
        let open = targets.iter().filter(|target| is_open(ledger, target));
        let open: Vec<Target> = open.cloned().collect();
        let allowed = |target: &Target, kind: FixKind| self.allows(ledger, target, kind);
        let contests = Contests::new(self.context.in_job_search(), self.in_force, self.label);
        let contests = contests.finding_first(self.in_force.is_empty());
        contests.run(&open, &allowed)
    }

    /// Hands collectives on and opens gates for targets that contests leave unfixed, and then searches for cells that the choices leave behind, or
    /// the changes of whole launches with their `gains`.
    fn behind_contests(
        &self,
        ledger: &Ledger,
        (now, targets): (&Verification, &[Target]),
        gains: &Gains,
        mut choices: Vec<(Target, Choice)>,
    ) -> anyhow::Result<Searched> {
        let (context, label, in_force) = (self.context, self.label, self.in_force);
        let allowed = |target: &Target, kind: FixKind| self.allows(ledger, target, kind);
        if self.options.parameters {
            let settings_alone = |target: &Target, kind: FixKind| kind == FixKind::Parameter && allowed(target, kind);
            components::search(context, label, in_force, &settings_alone, &mut choices)?;
            let barred = ledger.barred_settings();
            gates::search(context, label, in_force, &barred, &allowed, &mut choices)?;
        }
        let (mut all, mut asked, mut searched) = (targets.to_vec(), targets.to_vec(), targets.to_vec());
        for number in 1..=MOST_STEPS {
            let floor = context.site.options.effect_floor;
            let gains = together(gains.clone(), choices.iter().filter_map(following::gain).collect());
            let mut behind = following::follow_ups((now, &context.plan), &gains, &asked, floor);
            behind.retain(|target| may_be_fixed(ledger, context, target));
            if behind.is_empty() || context.jobs.budget.search_exhausted(0.0) {
                break;
            }
            let names: Vec<String> = behind.iter().map(Target::name).collect();
            context.progress.note(&format!(
                "these would be slower than their bounds with what was chosen, and are searched with it: {}",
                names.join(", ")
            ));
            let with_choices = with_choices(in_force, &choices);
            let label = format!("{label}/then {number}");
            let chosen = with_choices.selections.iter().map(|(cell, one)| (cell.0, one));
            let contests = Contests::new(context.in_job_search(), &with_choices, &label).favouring(chosen);
            let mut further = contests.run(&behind, &allowed)?;
            searched.extend(further.iter().map(|(target, _)| target.clone()));
            // The next round tries all others if few competed and none is good enough.
            let had_few = |target: &Target| {
                with_choices
                    .selections
                    .keys()
                    .any(|cell| Some(cell.0) == target.collective())
            };
            further.retain(|(target, choice)| choice.unfixed_because.is_none() || !had_few(target));
            all.extend(further.iter().map(|(target, _)| target.clone()));
            choices.extend(further);
            asked.extend(behind);
        }
        Ok(Searched {
            choices,
            targets: all,
            searched,
        })
    }
}

/// True if a selection may still be found for the target.
fn is_open(ledger: &Ledger, target: &Target) -> bool {
    target.cell().is_some_and(|cell| !ledger.is_closed(cell))
}

/// Same as [`is_open`], and the site lets its function be touched.
fn may_be_fixed(ledger: &Ledger, context: &Context<'_>, target: &Target) -> bool {
    is_open(ledger, target) && context.site.options.limits.leaves(&target.function).is_none()
}

/// The deployment with what was chosen for cells.
fn with_choices(deployment: &Deployment, choices: &[(Target, Choice)]) -> Deployment {
    let mut with = deployment.clone();
    for (target, choice) in choices {
        if let Some((cell, selection)) = target.cell().zip(choice.chosen.clone()) {
            with.selections.insert(cell, selection);
        }
    }
    with
}

/// Enters the changes for single cells; gives up the targets that nothing fixes.
fn enter(
    ledger: &mut Ledger,
    progress: &Progress,
    mut findings: Findings,
    (targets, contests): (&[Target], &mut Vec<Contest>),
) {
    for target in targets.iter().filter(|target| target.cell().is_some()) {
        let Some((contest, reason)) = findings.told(&target.name()) else {
            continue;
        };
        contests.retain(|other| (&other.function, other.bytes) != (&contest.function, contest.bytes));
        contests.push(contest);
        let mut chosen = findings.proposals.iter();
        if let Some(proposal) = chosen.find(|one| one.change.cell() == target.cell()) {
            say(progress, target, &proposal.change);
            ledger.deploy(proposal.clone());
        }
        // A partial fix is deployed, and its target has a reason all the same.
        if let Some(reason) = reason {
            give_up(ledger, target, &reason);
        }
    }
}

fn say(progress: &Progress, target: &Target, change: &Change) {
    if let Some((_, selection)) = &change.selection {
        progress.note(&format!("chosen for {}: {}", target.name(), selection.id()));
    }
    for Assignment { name, value, .. } in &change.settings {
        progress.note(&format!("chosen for {}: {name}={value}", target.name()));
    }
}

/// Gives up the targets that no fix may touch.
pub(super) fn leave(ledger: &mut Ledger, progress: &Progress, options: &Options, targets: &mut Vec<Target>) {
    targets.retain(|target| {
        let left = options.limits.leaves(&target.function);
        if let Some(reason) = &left {
            progress.note(&format!("{} is violated, and {reason}", target.name()));
            give_up(ledger, target, reason);
        }
        left.is_none()
    });
}

fn give_up(ledger: &mut Ledger, target: &Target, reason: &str) {
    for cell in &target.cells {
        ledger.give_up(cell.clone(), reason);
    }
}

/// Share of the time left for searching that settings of whole launches may spend: each costs launches, while the contests that follow compare
/// many candidates in one.
const SETTINGS_SHARE: f64 = 0.4;

/// Share of the time left for searching that algorithms chosen at the start may spend; a library that has any has no others.
const STARTUP_SHARE: f64 = 0.8;
