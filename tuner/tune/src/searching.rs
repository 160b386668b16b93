//! A round of the search: its steps propose changes, and the ledger takes over those that are needed.

use kilter_bench::progress::Progress;
use kilter_model::change::{Cell, Change, id};
use kilter_model::deployment::{Assignment, Selection};
use kilter_model::ledger::{Ledger, Proposal};
use kilter_model::not_deployed::NotDeployed;
use kilter_model::options::{Options, TuneOptions};
use kilter_model::report::{Contest, FixKind};
use kilter_model::setup::Setup;
use kilter_search::choose::Choice;
use kilter_search::context::{Context, LaunchSearch};
use kilter_search::decision::{Deciding, Known};
use kilter_search::findings::Findings;
use kilter_search::target::Target;
use kilter_search::verification::Verification;
use kilter_search::{components, gates, settings, startup_algorithms};

/// Searches changes for `targets` from `launch`, the deployment so far, and enters the changes to deploy into the ledger. Ways of single calls come
/// first, since each acts on its call alone; settings of whole launches are searched for what is left.
pub(super) fn search(
    ledger: &mut Ledger,
    context: &Context<'_>,
    options: &TuneOptions,
    round: usize,
    launch: Setup,
    (now, targets): (&Verification, &[Target]),
    (known, contests): (&mut Known, &mut Vec<Contest>),
) -> anyhow::Result<()> {
    let label = format!("search/{round}");
    let in_force = ledger.in_force();
    let verified = ledger.verified().clone();
    let kinds = |kind: FixKind| is_asked_for(options, kind);
    let deciding = Deciding {
        context,
        label: &label,
        in_force: &in_force,
        now: (now, &verified),
        ledger,
        kinds: &kinds,
        goal: options.goal,
    };
    let mut choices = deciding.decide(targets, known)?;
    if options.parameters {
        let allowed = |target: &Target, kind: FixKind| {
            is_asked_for(options, kind) && target.cell().is_none_or(|cell| ledger.allows(cell, kind))
        };
        let settings_alone = |target: &Target, kind: FixKind| kind == FixKind::Parameter && allowed(target, kind);
        components::search(context, &label, &in_force, &settings_alone, &mut choices)?;
        let barred = ledger.barred_settings();
        gates::search(context, &label, &in_force, &barred, &allowed, &mut choices)?;
    }
    let open: Vec<Target> = targets
        .iter()
        .filter(|target| !is_fixed(&choices, target))
        .cloned()
        .collect();
    let launch_wide = launch_wide(ledger, context.launch_search(), options, &label, launch, &open)?;
    launch_wide.drop_partial(&mut choices);
    for target in open
        .iter()
        .filter(|target| target.collective().is_none() && !launch_wide.fixes(target))
    {
        let reason =
            "no algorithm or mock-up can replace this function, and no parameter of the library fixed the guideline";
        give_up(ledger, target, reason);
    }
    let needed = |cell: Cell, selection: &Selection| ledger.needed_by(cell.0, selection, &context.site.library);
    let for_cells = Findings::of_choices(choices.clone(), &needed);
    let decided: Vec<Target> = choices.into_iter().map(|(target, _)| target).collect();
    enter(
        ledger,
        &context.progress,
        launch_wide.and(for_cells),
        (&decided, contests),
    );
    Ok(())
}

/// True if the choice of a target's call fixes it.
fn is_fixed(choices: &[(Target, Choice)], target: &Target) -> bool {
    let is_its = |(other, _): &&(Target, Choice)| other.left == target.left;
    choices
        .iter()
        .find(is_its)
        .is_some_and(|(_, choice)| choice.unfixed_because.is_none())
}

fn is_asked_for(options: &TuneOptions, kind: FixKind) -> bool {
    match kind {
        FixKind::Parameter => options.parameters,
        FixKind::Mockup => options.mockups,
        FixKind::Algorithm => options.algorithms,
    }
}

/// Searches settings of whole launches for what nothing else fixes, and then algorithms that are chosen at the start under them. What launches
/// confirmed is deployed.
fn launch_wide(
    ledger: &mut Ledger,
    parts: LaunchSearch<'_, '_>,
    options: &TuneOptions,
    label: &str,
    launch: Setup,
    targets: &[Target],
) -> anyhow::Result<Findings> {
    if !options.parameters || targets.is_empty() {
        return Ok(Findings::default());
    }
    let barred = ledger.barred_settings();
    let nothing_is_found = ledger.in_force().is_empty();
    let found = parts.jobs.budget.with_loan(nothing_is_found, || {
        settings::search(parts, label, launch.clone(), targets, &barred)
    })?;
    confirm(ledger, &found.proposals);
    let (launch, held) = (launch.with(&found.settings()), ledger.in_force().assignments);
    let more = startup_algorithms::search(parts, label, launch, &held, targets, &barred)?;
    confirm(ledger, &more.proposals);
    let mut found = found.and(more);
    for superfluous in ledger.deploy_confirmed() {
        let why = NotDeployed::Superfluous {
            cells: superfluous.fixes.into_iter().collect(),
        };
        found.explain(&superfluous.change, &why);
        found.proposals.retain(|one| one.change != superfluous.change);
    }
    for setting in found.proposals.iter().flat_map(|proposal| &proposal.change.settings) {
        parts
            .jobs
            .progress
            .note(&format!("chosen: {}", id(std::slice::from_ref(setting))));
    }
    Ok(found)
}

fn confirm(ledger: &mut Ledger, proposals: &[Proposal]) {
    for proposal in proposals {
        ledger.confirm(proposal.clone());
    }
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
            if !stands(ledger, &proposal.change) {
                say(progress, target, &proposal.change);
                ledger.deploy(proposal.clone());
            }
        }
        // A partial fix is deployed, and its target has a reason all the same.
        if let Some(reason) = reason {
            give_up(ledger, target, &reason);
        }
    }
}

/// True if all of a change is deployed already.
fn stands(ledger: &Ledger, change: &Change) -> bool {
    let deployment = ledger.deployment();
    let selection = change.selection.as_ref();
    selection.is_none_or(|(cell, selection)| deployment.selections.get(cell) == Some(selection))
        && change.settings.iter().all(|one| deployment.assignments.contains(one))
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
