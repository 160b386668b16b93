//! A round of the search: its steps propose changes, and the ledger takes over those that are needed.

use std::collections::BTreeSet;

use kilter_bench::progress::Progress;
use kilter_model::change::{Change, id};
use kilter_model::deployment::Assignment;
use kilter_model::ledger::{Ledger, Proposal};
use kilter_model::not_deployed::NotDeployed;
use kilter_model::options::{Goal, Options, TuneOptions};
use kilter_model::report::{Contest, FixKind};
use kilter_model::setup::Setup;
use kilter_search::choose::Choice;
use kilter_search::context::{Context, LaunchSearch};
use kilter_search::decision::{Deciding, Known};
use kilter_search::findings::Findings;
use kilter_search::settings::{self, Tried};
use kilter_search::startup_algorithms;
use kilter_search::target::Target;
use kilter_search::verification::Verification;

/// Searches changes for `targets` from `launch`, the deployment so far, and enters the changes to deploy into the ledger. Ways of single calls come
/// first, since each acts on its call alone; settings of whole launches have to beat them.
pub(super) fn search(
    ledger: &mut Ledger,
    context: &Context<'_>,
    options: &TuneOptions,
    round: usize,
    mut launch: Setup,
    (now, targets): (&Verification, &[Target]),
    (known, contests): (&mut Known, &mut Vec<Contest>),
) -> anyhow::Result<()> {
    let label = format!("search/{round}");
    let mut of_site = Findings::default();
    if round == 1 && options.parameters {
        (launch, of_site) = without_the_sites(ledger, context, &label, launch, targets)?;
    }
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
    let faster = choices.iter().filter(|(_, choice)| choice.chosen.is_some()).count();
    context.progress.note(&format!(
        "so far {faster} of {} have a faster way",
        kilter_render::format::count(choices.len(), "call")
    ));
    let is_open = |target: &&Target| !is_fixed(&choices, target);
    let open: Vec<Target> = targets.iter().filter(is_open).cloned().collect();
    let improvable = match options.goal {
        Goal::Fastest => improvable(context, &choices, (targets, &open)),
        Goal::Smallest => Vec::new(),
    };
    // What a setting does to a call does not change with what is deployed for others, but with other settings.
    let (tried, under) = &mut known.settings_tried;
    if *under != in_force.assignments {
        tried.clear();
        under.clone_from(&in_force.assignments);
    }
    let mut for_settings = [open.as_slice(), &improvable].concat();
    for_settings.retain(|target| tried.insert(target.name()));
    let launch_wide = launch_wide(
        ledger,
        context.launch_search(),
        options,
        &label,
        launch,
        (&open, &for_settings),
        choices.iter().all(|(_, choice)| choice.chosen.is_none()),
    )?;
    let changed: BTreeSet<&String> = launch_wide.proposals.iter().flat_map(|one| &one.fixes).collect();
    if !changed.is_empty() {
        // Calls that were compared without these settings are compared again.
        let again = Deciding {
            context,
            label: &format!("{label}/with settings"),
            in_force: &ledger.in_force(),
            now: (now, &verified),
            ledger,
            kinds: &kinds,
            goal: options.goal,
        };
        for (target, choice) in again.decide_again(targets, &changed, known)? {
            let is_its =
                |(other, _): &&mut (Target, Choice)| other.left == target.left && changed.contains(&target.name());
            if let Some(old) = choices.iter_mut().find(is_its) {
                old.1 = choice;
            }
        }
    }
    // Calls were compared under these already.
    let launch_wide = of_site.and(launch_wide);
    for target in &open {
        if target.collective().is_none() && !launch_wide.fixes(target) {
            give_up(ledger, target, NOTHING_REPLACES);
        }
    }
    let for_cells = Findings::of_choices(choices.clone());
    let decided: Vec<Target> = choices.into_iter().map(|(target, _)| target).collect();
    enter(
        ledger,
        &context.progress,
        launch_wide.and(for_cells),
        (&decided, contests),
    );
    Ok(())
}

/// Tries the library's own values in place of what the site sets, and deploys those under which calls are faster: ways are compared with what the library
/// does by itself. Returns the launch with them, and what was found.
fn without_the_sites(
    ledger: &mut Ledger,
    context: &Context<'_>,
    label: &str,
    launch: Setup,
    targets: &[Target],
) -> anyhow::Result<(Setup, Findings)> {
    let mut all = targets.to_vec();
    for subject in context.plan.library_subjects() {
        let cell = subject.collective().map(|collective| (collective, subject.bytes));
        if let Some((collective, bytes)) = cell.filter(|cell| all.iter().all(|one| one.cell() != Some(*cell))) {
            all.push(Target::unbounded(collective, bytes));
        }
    }
    let parts = context.launch_search();
    let set = context.site.set_by_site();
    let barred = ledger.barred_settings();
    let found = settings::search(parts, label, launch.clone(), (&all, Tried::OfSite), &barred)?;
    confirm(ledger, &found.proposals);
    let found = deploy_confirmed(ledger, found);
    let settings = found.settings();
    for Assignment { name, value, .. } in &settings {
        let theirs = set.iter().rev().find(|(other, _)| other == name);
        context.progress.warn(&format!(
            "the site sets `{name}={}`, and calls are faster with the library's own `{value}`, which the files set; take it out of the site's settings",
            theirs.map_or("", |(_, value)| value)
        ));
    }
    Ok((launch.with(&settings), found))
}

/// Deploys what is confirmed. Findings without what is superfluous then.
fn deploy_confirmed(ledger: &mut Ledger, mut found: Findings) -> Findings {
    for superfluous in ledger.deploy_confirmed() {
        let why = NotDeployed::Superfluous {
            cells: superfluous.fixes.into_iter().collect(),
        };
        found.explain(&superfluous.change, &why);
        found.proposals.retain(|one| one.change != superfluous.change);
    }
    found
}

/// Reason of a target that is no call of one collective.
const NOTHING_REPLACES: &str =
    "no algorithm or mock-up can replace this function, and no parameter of the library fixed the guideline";

/// Calls that a setting of whole launches may make faster than the best way that is known for them: the violated ones, and those whose way takes more
/// than a part of the library's time. They have no bounds, since what their ways lack is no guideline.
fn improvable(
    context: &Context<'_>,
    choices: &[(Target, Choice)],
    (violated, open): (&[Target], &[Target]),
) -> Vec<Target> {
    let is_left = |target: &Target| context.site.options.limits.leaves(&target.function).is_some();
    let of = |(target, choice): &(Target, Choice)| {
        let ways = &choice.contest.candidates;
        let best_ratio = ways
            .iter()
            .find(|one| one.chosen)
            .map_or(1.0, |one| one.ratio_to_default.min(1.0));
        let (collective, bytes) = target.cell()?;
        let is_among = |list: &[Target]| list.iter().any(|other| other.left == target.left);
        let may_be = best_ratio > MUCH_FASTER || is_among(violated);
        (may_be && !is_among(open) && !is_left(target)).then(|| Target {
            best_ratio,
            ..Target::unbounded(collective, bytes)
        })
    };
    choices.iter().filter_map(of).collect()
}

/// A way that takes so little of the library's time is seldom reached by a setting of whole launches, and each call that is measured costs launches time.
const MUCH_FASTER: f64 = 0.5;

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

/// Searches settings of whole launches for what nothing else fixes and for calls that may become faster still, and then algorithms that are chosen at the start under them. What launches
/// confirmed is deployed.
fn launch_wide(
    ledger: &mut Ledger,
    parts: LaunchSearch<'_, '_>,
    options: &TuneOptions,
    label: &str,
    launch: Setup,
    (open, for_settings): (&[Target], &[Target]),
    nothing_is_chosen: bool,
) -> anyhow::Result<Findings> {
    if !options.parameters {
        return Ok(Findings::default());
    }
    let barred = ledger.barred_settings();
    // The proof lends no seconds where it has something to prove; choices enter the ledger with those of this search.
    let nothing_is_found = nothing_is_chosen && ledger.in_force().is_empty();
    let budget = &parts.jobs.budget;
    // Beside calls that have their ways, settings are worth a part of the seconds that brought these: what the proof takes back needs a second proof.
    let share = if nothing_is_found {
        1.0
    } else {
        let seconds = (SETTINGS_SHARE * budget.spent_seconds()).max(LEAST_SETTINGS_SHARE * budget.total_seconds());
        (seconds / budget.search_seconds().max(1.0)).min(1.0)
    };
    let found = budget.with_loan(nothing_is_found, || {
        budget.with_share(share, || {
            settings::search(parts, label, launch.clone(), (for_settings, Tried::Described), &barred)
        })
    })?;
    confirm(ledger, &found.proposals);
    let (launch, held) = (launch.with(&found.settings()), ledger.in_force().assignments);
    let more = startup_algorithms::search(parts, label, launch, &held, open, &barred)?;
    confirm(ledger, &more.proposals);
    let found = deploy_confirmed(ledger, found.and(more));
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
    let mut said = Vec::new();
    for target in targets.iter().filter(|target| target.cell().is_some()) {
        let Some((contest, reason)) = findings.told(&target.name()) else {
            continue;
        };
        contests.retain(|other| (&other.function, other.bytes) != (&contest.function, contest.bytes));
        contests.push(contest);
        let mut chosen = findings.proposals.iter();
        if let Some(proposal) = chosen.find(|one| one.change.cell() == target.cell())
            && !stands(ledger, &proposal.change)
        {
            name(&mut said, target, &proposal.change);
            ledger.deploy(proposal.clone());
        }
        // A call that became faster and misses its bound still has a reason all the same.
        if let Some(reason) = reason {
            give_up(ledger, target, &reason);
        }
    }
    for Chosen { function, bytes, what } in said {
        let bytes: Vec<String> = bytes.iter().map(u64::to_string).collect();
        progress.note(&format!("chosen for {function} {}: {what}", bytes.join(", ")));
    }
}

/// True if all of a change is deployed already.
fn stands(ledger: &Ledger, change: &Change) -> bool {
    let deployment = ledger.deployment();
    let selection = change.selection.as_ref();
    selection.is_none_or(|(cell, selection)| deployment.selections.get(cell) == Some(selection))
        && change.settings.iter().all(|one| deployment.assignments.contains(one))
}

/// A choice for calls of a function.
struct Chosen {
    function: String,
    bytes: Vec<u64>,
    what: String,
}

/// Adds the parts of a change to what is said.
fn name(said: &mut Vec<Chosen>, target: &Target, change: &Change) {
    let selection = change.selection.iter().map(|(_, selection)| selection.id());
    let settings = change.settings.iter().map(|one| format!("{}={}", one.name, one.value));
    for what in selection.chain(settings) {
        let is_same = |one: &&mut Chosen| one.function == target.function && one.what == what;
        match said.iter_mut().find(is_same) {
            Some(one) => one.bytes.push(target.bytes()),
            None => said.push(Chosen {
                function: target.function.clone(),
                bytes: vec![target.bytes()],
                what,
            }),
        }
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

/// Share of the seconds so far that settings of whole launches may spend where calls have their ways, and the share of the budget that they may spend in
/// any case.
const SETTINGS_SHARE: f64 = 0.25;
const LEAST_SETTINGS_SHARE: f64 = 0.1;
