//! Search over algorithms that a variable of the library chooses when a job starts (Intel MPI, MVAPICH2). None can be switched in a running job,
//! so each needs a launch. One launch tries another algorithm of every collective at once, so there are as many launches as the collective with
//! most algorithms has, rather than as many as there are algorithms.
//!
//! A trial acts on all sizes. The confirmation, in launches in turn with the library's own choice, uses the form that would be deployed: the
//! value with its ranges of sizes.

mod composition;
mod confirming;

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::change::Change;
use kilter_model::config::library::{Algorithms, Library};
use kilter_model::deployment::Assignment;
use kilter_model::ledger::Proposal;
use kilter_model::ranged;
use kilter_model::setup::Setup;

use crate::context::LaunchSearch;
use crate::findings::Findings;
use crate::shared_launches::{self, Member, each_once};
use crate::target::Target;
use crate::trials::{CONFIRMING, Times, Trials};

use self::composition::Composition;
use self::confirming::Confirmed;

/// Choices that are confirmed for each target.
pub const PLACES: usize = 2;
/// A choice that takes more than this of the default's time in the screening is no finalist.
pub const PROMISING: f64 = 0.97;

/// The choices that one launch tries, one for each of some collectives.
pub type Trial = Vec<(Collective, u64)>;
/// The choices to deploy, one for each of some volumes of some collectives.
type Picks = BTreeMap<(Collective, u64), u64>;

/// Searches from `base`, the launch as it is deployed so far; `assignments` are those in force, whose ranges stay where nothing better
/// is found. `banned` values are not proposed.
///
/// # Errors
/// A failure that no candidate explains, or a value in force that cannot be read.
pub fn search(
    parts: LaunchSearch<'_, '_>,
    label: &str,
    base: Setup,
    assignments: &[Assignment],
    targets: &[Target],
    banned: &BTreeSet<Assignment>,
) -> anyhow::Result<Findings> {
    let site = &parts.jobs.site;
    let library = &site.library;
    let trials = trials(library, targets, site.options.ranks, &site.hosts());
    let mut findings = Findings::default();
    if trials.is_empty() {
        return Ok(findings);
    }
    let mut launches = Trials::new(parts, format!("{label}/at start"), targets, base);
    parts
        .jobs
        .progress
        .phase("search algorithms that are chosen at the start", trials.len() as u64);
    let Some(present) = launches.launch(&[])? else {
        anyhow::bail!("the library's own collectives failed under the settings so far")
    };
    let tried = screen(&mut launches, trials, &present)?;
    let composition = Composition::new(parts, assignments, banned)?;
    let mut places = Vec::new();
    for place in 0..PLACES {
        let mut picks = picks(library, targets, &tried, &present, place);
        prove(&mut launches, library, targets, &mut picks)?;
        places.extend((!picks.is_empty()).then_some(picks));
    }
    if places.is_empty() {
        return Ok(findings);
    }
    let confirmed = Confirmed::measure(&mut launches, &composition, places)?;
    let chosen = confirmed.choose(&launches, &mut findings);
    let accepted = confirmed.accept(&mut launches, &composition, &chosen)?;
    propose(library, targets, &chosen, accepted, &mut findings);
    Ok(findings)
}

/// Enters the accepted values of collectives, each with the targets that it fixes.
fn propose(
    library: &Library,
    targets: &[Target],
    chosen: &Picks,
    accepted: Vec<Vec<Assignment>>,
    findings: &mut Findings,
) {
    for own in accepted {
        let collective = own.first().and_then(|first| library.chosen_by(&first.name));
        let change = Change::of_launch(own);
        let fixes: BTreeSet<String> = chosen_targets(targets, chosen, collective).map(Target::name).collect();
        // One choice of it competed; the deployed change has one for each range of sizes.
        for target in &fixes {
            let competitors = findings.evidence.get_mut(target);
            let competitors = competitors.into_iter().flat_map(|evidence| &mut evidence.launch_wide);
            for one in competitors.filter(|one| one.chosen) {
                one.change = change.clone();
            }
        }
        findings.proposals.push(Proposal { change, fixes });
    }
}

/// The targets of a collective for which a choice was made.
fn chosen_targets<'t>(
    targets: &'t [Target],
    chosen: &Picks,
    collective: Option<Collective>,
) -> impl Iterator<Item = &'t Target> {
    let is_chosen = move |target: &&Target| {
        target.collective() == collective
            && collective.is_some_and(|collective| chosen.contains_key(&(collective, target.bytes())))
    };
    targets.iter().filter(is_chosen)
}

/// Makes the launches that are to be tried, as long as the budget has room to confirm the best: the times with each choice, beside those
/// of the launch as it is (`present`). Who fails is missing.
///
/// # Errors
/// A failure that no candidate explains.
pub fn screen(
    launches: &mut Trials<'_, '_>,
    trials: Vec<Trial>,
    present: &Times,
) -> anyhow::Result<BTreeMap<(Collective, u64), Times>> {
    let jobs = launches.parts.jobs;
    let member = |choice: (Collective, u64)| Member {
        what: choice,
        collectives: vec![choice.0],
        nonblocking: false,
        assignments: values(&jobs.site.library, &[choice]),
    };
    let groups = trials
        .into_iter()
        .map(|trial| trial.into_iter().map(member).collect())
        .collect();
    let screened = shared_launches::screen(launches, groups, present, |launches| {
        let confirming = launches.trial_seconds() * (1 + (1 + PLACES) * CONFIRMING) as f64;
        let has_room = !jobs.budget.search_exhausted(confirming);
        if !has_room {
            jobs.progress
                .warn("the budget ended before every algorithm that is chosen at the start was tried; raise --budget");
        }
        has_room
    })?;
    Ok(screened.into_iter().collect())
}

/// Takes out choices that the library would not carry out but replace by another algorithm: in its strict mode the job ends then.
fn prove(
    launches: &mut Trials<'_, '_>,
    library: &Library,
    targets: &[Target],
    picks: &mut Picks,
) -> anyhow::Result<()> {
    for target in targets {
        let key = target.collective().map(|collective| (collective, target.bytes()));
        let Some((key, choice)) = key.and_then(|key| Some((key, *picks.get(&key)?))) else {
            continue;
        };
        if !launches.carried_out(&values(library, &[(key.0, choice)]), &target.left)? {
            picks.remove(&key);
        }
    }
    Ok(())
}

/// The launches that try every choice of every collective of the targets that can act where the ranks are: on these hosts, in their order;
/// none are known where there are none.
#[must_use]
pub fn trials(library: &Library, targets: &[Target], ranks: usize, hosts: &[String]) -> Vec<Trial> {
    let collectives: BTreeSet<Collective> = targets.iter().filter_map(Target::collective).collect();
    let one_node = !hosts.is_empty() && hosts.iter().all(|host| *host == hosts[0]);
    let mut trials: Vec<Trial> = Vec::new();
    let rows = collectives.into_iter().filter_map(|one| library.chosen_at_start(one));
    for (row, _) in rows.filter(|(row, _)| Library::acts_where(row.placement, hosts)) {
        let choices = row
            .choices_on(ranks)
            .filter(|choice| !(choice.several_nodes && one_node));
        for (index, choice) in choices.enumerate() {
            if trials.len() == index {
                trials.push(Trial::new());
            }
            trials[index].push((row.collective, choice.value));
        }
    }
    trials
}

/// The assignments that make these choices, each for all sizes of its collective.
#[must_use]
pub fn values(library: &Library, trial: &[(Collective, u64)]) -> Vec<Assignment> {
    let one = |(collective, choice): &(Collective, u64)| {
        library
            .chosen_at_start(*collective)
            .map(|(row, at_start)| assignments(row, ranged::for_all(at_start, *choice)))
    };
    each_once(trial.iter().filter_map(one).flatten())
}

/// The variable, and the settings that go along with it.
fn assignments(row: &Algorithms, value: String) -> Vec<Assignment> {
    let own = std::iter::once((row.parameter.clone(), value));
    own.chain(row.together.clone())
        .map(|(name, value)| Assignment {
            name,
            value,
            environment: true,
        })
        .collect()
}

/// For each target, the choice at this place of the screening's ranking, if it is promising. Where a collective cannot be switched by size, its
/// targets share the choice that is best over all of them.
fn picks(
    library: &Library,
    targets: &[Target],
    tried: &BTreeMap<(Collective, u64), Times>,
    present: &Times,
    place: usize,
) -> Picks {
    let mut picks = Picks::new();
    for target in targets {
        let Some((row, _)) = target.collective().and_then(|one| library.chosen_at_start(one)) else {
            continue;
        };
        let collective = row.collective;
        let together =
            |other: &&Target| other.collective() == Some(collective) && (!row.size_switch || *other == target);
        let mut ranking: Vec<(f64, u64)> = Vec::new();
        for ((_, choice), times) in tried.iter().filter(|((one, _), _)| *one == collective) {
            let ratio = |target: &Target| Some(times.get(&target.left)? / present.get(&target.left)?);
            let ratios: Option<Vec<f64>> = targets.iter().filter(together).map(ratio).collect();
            let logarithms =
                ratios.map(|ratios| ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64);
            ranking.extend(logarithms.map(|mean| (mean.exp(), *choice)));
        }
        ranking.retain(|(ratio, _)| *ratio < PROMISING);
        ranking.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, choice)) = ranking.get(place) {
            picks.insert((collective, target.bytes()), *choice);
        }
    }
    picks
}

#[cfg(test)]
mod tests;
