//! Search over algorithms that a variable of the library chooses when a job starts (Intel MPI, MVAPICH2). None can be switched in a running job,
//! so each needs a launch. One launch tries another algorithm of every collective at once, so there are as many launches as the collective with
//! most algorithms has, rather than as many as there are algorithms.
//!
//! A trial acts on all sizes. The confirmation, in launches in turn with the library's own choice, uses the form that would be deployed: the
//! value with its ranges of sizes.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_model::change::Change;
use kilter_model::config::library::{Algorithms, Library};
use kilter_model::deployment::{Assignment, Selection};
use kilter_model::ledger::Proposal;
use kilter_model::plan::Plan;
use kilter_model::ranged;
use kilter_model::setup::Setup;
use kilter_stats::sample::Sample;

use crate::choose::{Measured, choose};
use crate::context::LaunchSearch;
use crate::findings::{Evidence, Findings};
use crate::shared_launches::{self, Member, each_once};
use crate::target::Target;
use crate::trials::{CONFIRMING, Samples, Times, Trials, damaged, gains};

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
    let (site, plan) = (&parts.jobs.site, parts.plan);
    let (library, ranks) = (&site.library, site.options.ranks);
    let trials = trials(library, targets, ranks, &site.hosts());
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
    let standing = standing(library, plan, ranks, assignments)?;
    let mut places = Vec::new();
    for place in 0..PLACES {
        let mut picks = picks(library, targets, &tried, &present, place);
        prove(&mut launches, library, targets, &mut picks)?;
        places.extend((!picks.is_empty()).then_some(picks));
    }
    if places.is_empty() {
        return Ok(findings);
    }
    let deployed = |picks: &Picks| -> Vec<Assignment> {
        let all = composed(library, plan, ranks, &standing, picks).into_iter();
        // The first one of each is the variable that chooses.
        each_once(
            all.filter(|own| own.first().is_some_and(|first| !banned.contains(first)))
                .flatten(),
        )
    };
    let mut configurations = vec![Vec::new()];
    configurations.extend(places.iter().map(deployed));
    let samples = launches.in_turn("confirm algorithms that are chosen at the start", &configurations)?;
    let rule = site.rule(parts.facts.noise_seconds());
    let mut chosen = Picks::new();
    for target in targets {
        let Some(row) = target.collective().and_then(|one| library.chosen_at_start(one)) else {
            continue;
        };
        let sample = |times: &Samples| times.get(&target.left).cloned();
        let mut candidates: Vec<Measured> = sample(&samples[0])
            .map(|medians| Measured {
                selection: None,
                medians,
            })
            .into_iter()
            .collect();
        for ((picks, configuration), times) in places.iter().zip(&configurations[1..]).zip(&samples[1..]) {
            let collective = row.0.collective;
            let (Some(choice), Some(medians)) = (picks.get(&(collective, target.bytes())), sample(times)) else {
                continue;
            };
            let in_force = configuration
                .iter()
                .any(|assignment| assignment.name == row.0.parameter);
            let slows = damaged(&samples[0], times).any(|subject| subject.collective() == Some(collective));
            if in_force && !slows {
                candidates.push(Measured {
                    selection: Some(selection(row.0, *choice)),
                    medians,
                });
            }
        }
        let bounds: Vec<Sample> = target
            .bounds
            .iter()
            .filter_map(|bound| samples[0].get(bound).cloned())
            .collect();
        let choice = choose(target, &candidates, &bounds, &rule);
        if let Some(number) = choice.chosen.as_ref().and_then(number) {
            chosen.insert((row.0.collective, target.bytes()), number);
        }
        let competitors = choice.contest.candidates.into_iter().filter(|one| one.kind.is_some());
        let evidence = Evidence {
            launch_wide: competitors.collect(),
            ..Evidence::default()
        };
        findings.evidence.insert(target.name(), evidence);
    }
    let mut accepted: Vec<Vec<Assignment>> = composed(library, plan, ranks, &standing, &chosen);
    accepted.retain(|own| own.first().is_some_and(|first| !banned.contains(first)));
    let all = each_once(accepted.iter().flatten().cloned());
    if let Some(index) = configurations.iter().skip(1).position(|one| *one == all) {
        findings.gains = gains(&samples[0], &samples[index + 1]);
    } else if !all.is_empty() {
        // The deployed change was put together of several, and elsewhere it chooses what none of them had there.
        let samples = launches.in_turn(
            "confirm combinations of algorithms that are chosen at the start",
            &[Vec::new(), all],
        )?;
        let confirmed = accepted.len();
        accepted.retain(|own| {
            let collective = own.first().and_then(|first| library.chosen_by(&first.name));
            keeps_its_promise(collective, targets, &chosen, &samples)
        });
        if let ([without, with], true) = (samples.as_slice(), accepted.len() == confirmed) {
            findings.gains = gains(without, with);
        }
    }
    for own in accepted {
        let collective = own.first().and_then(|first| library.chosen_by(&first.name));
        let is_fixed = |target: &&Target| {
            target.collective() == collective
                && collective.is_some_and(|collective| chosen.contains_key(&(collective, target.bytes())))
        };
        let change = Change::of_launch(own);
        let fixes: BTreeSet<String> = targets.iter().filter(is_fixed).map(Target::name).collect();
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
    Ok(findings)
}

/// True if a collective's value makes its targets faster and slows nothing of the collective. The second samples come from launches with it, in
/// turn with the launches without it of the first.
fn keeps_its_promise(collective: Option<Collective>, targets: &[Target], chosen: &Picks, samples: &[Samples]) -> bool {
    let [without, with] = samples else { return false };
    let is_chosen = |target: &&Target| {
        target.collective() == collective
            && collective.is_some_and(|collective| chosen.contains_key(&(collective, target.bytes())))
    };
    let is_faster = |target: &Target| {
        let pair = without.get(&target.left).zip(with.get(&target.left));
        pair.is_some_and(|(before, after)| after.median() < before.median())
    };
    let slows = damaged(without, with).any(|subject| subject.collective() == collective);
    targets.iter().filter(is_chosen).all(is_faster) && !slows
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

fn selection(row: &Algorithms, choice: u64) -> Selection {
    Selection::Settings(vec![(row.parameter.clone(), choice.to_string())])
}

fn number(selection: &Selection) -> Option<u64> {
    match selection {
        Selection::Settings(settings) => settings.first()?.1.parse().ok(),
        Selection::Mockup(_) | Selection::Algorithm(..) | Selection::Plugin(_) => None,
    }
}

/// The choices of the variables in force, for the measured volumes.
fn standing(library: &Library, plan: &Plan, ranks: usize, assignments: &[Assignment]) -> anyhow::Result<Picks> {
    let mut picks = Picks::new();
    for assignment in assignments {
        let collective = library.chosen_by(&assignment.name);
        let Some((row, _)) = collective.and_then(|one| library.chosen_at_start(one)) else {
            continue;
        };
        let volumes = plan.volumes_of(row.collective);
        let held = ranged::standing(row, ranks as u64, &volumes, &assignment.value)?;
        picks.extend(
            held.into_iter()
                .map(|(volume, choice)| ((row.collective, volume), choice)),
        );
    }
    Ok(picks)
}

/// For each collective, the value that makes `picks` hold and keeps the standing choices for its other volumes, with the settings that it needs.
fn composed(library: &Library, plan: &Plan, ranks: usize, standing: &Picks, picks: &Picks) -> Vec<Vec<Assignment>> {
    let collectives: BTreeSet<Collective> = picks.keys().map(|(collective, _)| *collective).collect();
    let mut all = Vec::new();
    for (row, _) in collectives.into_iter().filter_map(|one| library.chosen_at_start(one)) {
        let of_row = |picks: &Picks| -> BTreeMap<u64, u64> {
            let own = picks
                .iter()
                .filter(|((collective, _), _)| *collective == row.collective);
            own.map(|((_, volume), choice)| (*volume, *choice)).collect()
        };
        let mut together = of_row(standing);
        together.extend(of_row(picks));
        if row.at_start.is_some_and(|at_start| at_start.unit.is_none()) {
            // One for all sizes: what is chosen now replaces what stood.
            together = of_row(picks);
        }
        let chosen: Vec<(u64, u64)> = together.into_iter().collect();
        let volumes = plan.volumes_of(row.collective);
        let value = ranged::compose(row, ranks as u64, &volumes, &chosen);
        all.extend(value.map(|value| assignments(row, value)));
    }
    all
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
