//! A round of the search: its steps propose changes, and the ledger takes over those that are needed.

use std::collections::BTreeSet;

use kilter_model::change::{Change, id};
use kilter_model::deployment::{Assignment, Deployment, Selection};
use kilter_model::ledger::{Ledger, Proposal};
use kilter_model::not_deployed::NotDeployed;
use kilter_model::options::TuneOptions;
use kilter_model::report::{Contest, FixKind, Screened};
use kilter_model::setup::Setup;
use kilter_search::choose::Choice;
use kilter_search::contest::Contests;
use kilter_search::context::Context;
use kilter_search::target::Target;
use kilter_search::{at_start, gates, reasons, settings};

/// Findings of a round of the search.
struct Found {
    /// In launches of their own.
    launch_wide: settings::Outcome,
    /// In running jobs, and under gates.
    choices: Vec<(Target, Choice)>,
}

/// Searches changes for `targets` from `launch`, what is deployed so far, and enters into the ledger what is to be deployed.
pub(super) fn search(
    ledger: &mut Ledger,
    context: &Context<'_>,
    options: &TuneOptions,
    round: usize,
    launch: Setup,
    targets: &[Target],
    contests: &mut Vec<Contest>,
) -> anyhow::Result<()> {
    let label = format!("search/{round}");
    for target in targets.iter().filter(|target| target.collective().is_none()) {
        let reason = "no algorithm or mock-up replaces it; among the library's parameters none made it hold";
        give_up(ledger, target, reason);
    }
    let launch_wide = launch_wide(ledger, context, options, &label, launch, targets)?;
    let choices = for_cells(ledger, context, options, &label, targets)?;
    enter(ledger, context, Found { launch_wide, choices }, contests);
    Ok(())
}

/// Searches settings of whole launches, and then algorithms that are chosen at the start under them. What is confirmed is in force from then on.
fn launch_wide(
    ledger: &mut Ledger,
    context: &Context<'_>,
    options: &TuneOptions,
    label: &str,
    launch: Setup,
    targets: &[Target],
) -> anyhow::Result<settings::Outcome> {
    if !options.parameters {
        return Ok(settings::Outcome::default());
    }
    let barred = ledger.barred_settings();
    let mut found = context.budget.with_share(SETTINGS_SHARE, || {
        settings::search(context, label, launch.clone(), targets, &barred)
    })?;
    let confirmed = found.proposals.iter().flat_map(|proposal| &proposal.change.settings);
    let launch = launch.with(&confirmed.cloned().collect::<Vec<_>>());
    confirm(ledger, &found.proposals);
    let held = ledger.in_force().assignments;
    let more = context.budget.with_share(AT_START_SHARE, || {
        at_start::search(context, label, launch, &held, targets, &barred)
    })?;
    confirm(ledger, &more.proposals);
    found.proposals.extend(more.proposals);
    for (target, more) in more.contestants {
        found.contestants.entry(target).or_default().extend(more);
    }
    Ok(found)
}

fn confirm(ledger: &mut Ledger, proposals: &[Proposal]) {
    for proposal in proposals {
        ledger.confirm(proposal.clone());
    }
}

/// Searches selections for single cells under all that is in force, with a gate where nothing else fixes one.
fn for_cells(
    ledger: &Ledger,
    context: &Context<'_>,
    options: &TuneOptions,
    label: &str,
    targets: &[Target],
) -> anyhow::Result<Vec<(Target, Choice)>> {
    let is_open = |target: &&Target| target.cell().is_some_and(|cell| !ledger.is_closed(cell));
    let open: Vec<Target> = targets.iter().filter(is_open).cloned().collect();
    let allowed = |target: &Target, kind: FixKind| {
        let is_asked_for = match kind {
            FixKind::Parameter => options.parameters,
            FixKind::Mockup => options.mockups,
            FixKind::Algorithm => options.algorithms,
        };
        is_asked_for && target.cell().is_none_or(|cell| ledger.allows(cell, kind))
    };
    let in_force = ledger.in_force();
    let mut choices = Contests::new(context, &in_force, label).run(&open, &allowed)?;
    if options.parameters {
        let barred = ledger.barred_settings();
        gates::search(context, label, &in_force, &barred, &allowed, &mut choices)?;
    }
    Ok(choices)
}

/// Enters what was found: changes of whole launches that are needed, and what was chosen for each cell; the others with a reason.
fn enter(ledger: &mut Ledger, context: &Context<'_>, found: Found, contests: &mut Vec<Contest>) {
    let Found {
        launch_wide: mut settings,
        choices,
    } = found;
    deploy_needed(ledger, context, &mut settings, &choices);
    let changes: Vec<Option<Change>> = choices
        .iter()
        .map(|(target, choice)| change(ledger, context, target, choice))
        .collect();
    for ((target, choice), change) in choices.into_iter().zip(changes) {
        let mut contest = choice.contest;
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
        if let Some(change) = change {
            say(context, &target, &change);
            let fixes = BTreeSet::from([target.name()]);
            ledger.deploy(Proposal { change, fixes });
        } else if let Some(reason) = choice.unfixed_because {
            let reason = match (settings.refused.get(&target.name()), nearer) {
                (Some(refused), _) => refused.clone(),
                (None, Some(nearer)) => format!("{reason}; {nearer}"),
                (None, None) => reason,
            };
            give_up(ledger, &target, &reason);
        }
    }
}

/// The change that was chosen for a target. It has the settings that it was found under, or else those in force that others like it need.
fn change(ledger: &Ledger, context: &Context<'_>, target: &Target, choice: &Choice) -> Option<Change> {
    let (cell, selection) = (target.cell()?, choice.chosen.clone()?);
    let settings = if choice.needs.is_empty() {
        ledger.needed_by(cell.0, &selection, &context.library)
    } else {
        choice.needs.clone()
    };
    Some(Change {
        settings,
        ..Change::of_cell(cell, selection)
    })
}

fn say(context: &Context<'_>, target: &Target, change: &Change) {
    let progress = &context.progress;
    if let Some((_, selection)) = &change.selection {
        progress.note(&format!("chosen for {}: {}", target.name(), selection.id()));
    }
    for Assignment { name, value, .. } in &change.settings {
        progress.note(&format!("chosen along with it: {name}={value}"));
    }
}

/// Deploys the launch settings that are needed beside what was chosen for single cells. What was deployed and verified before
/// does not fix a target, or it would be none.
fn deploy_needed(
    ledger: &mut Ledger,
    context: &Context<'_>,
    settings: &mut settings::Outcome,
    choices: &[(Target, Choice)],
) {
    let covered = covered(choices, ledger.verified());
    // The algorithms of the library that were chosen were measured under it, and would not be asked for without it.
    let is_algorithm = |(_, choice): &(Target, Choice)| matches!(choice.chosen, Some(Selection::Settings(_)));
    let has_algorithm = choices.iter().any(is_algorithm);
    let admits = |change: &Change| {
        let rows = context.library.parameters.iter();
        let mut rows = rows.filter(|row| change.settings.iter().any(|one| row.name == one.name));
        has_algorithm && rows.any(|row| row.admits_algorithms)
    };
    let (deployed, superfluous) = ledger.deploy_needed(&covered, &admits);
    for Proposal { change, fixes } in superfluous {
        let fixes: Vec<String> = fixes.into_iter().collect();
        context.progress.note(&format!(
            "`{}` is not deployed: what else is deployed fixes {}, too",
            change.id(),
            fixes.join(", ")
        ));
        let why = NotDeployed::Superfluous { cells: fixes };
        for contestants in settings.contestants.values_mut() {
            reasons::explain(contestants, &change, &why);
        }
    }
    for setting in deployed.iter().flat_map(|proposal| &proposal.change.settings) {
        context
            .progress
            .note(&format!("chosen: {}", id(std::slice::from_ref(setting))));
    }
}

/// Names of the targets for which something is selected that was not `verified` before.
fn covered(choices: &[(Target, Choice)], verified: &Deployment) -> BTreeSet<String> {
    let covered = |(target, choice): &(Target, Choice)| {
        let chosen = choice.chosen.as_ref()?;
        let before = verified.selections.get(&target.cell()?);
        (before != Some(chosen)).then(|| target.name())
    };
    choices.iter().filter_map(covered).collect()
}

/// Gives up what no fix may touch.
pub(super) fn leave(ledger: &mut Ledger, context: &Context<'_>, targets: &mut Vec<Target>) {
    targets.retain(|target| {
        let left = context.options.limits.leaves(&target.function);
        if let Some(reason) = &left {
            context
                .progress
                .note(&format!("{} is violated, and {reason}", target.name()));
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

/// Share of what is left for searching that settings of whole launches may spend: each costs launches, while the contests that follow
/// compare many candidates in one.
const SETTINGS_SHARE: f64 = 0.4;

/// The same for algorithms that are chosen at the start, which are all of a library's where there are any.
const AT_START_SHARE: f64 = 0.8;
