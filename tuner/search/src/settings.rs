//! Search over settings that act for a whole launch: eager limits, single copy, malloc thresholds. Searched before algorithms,
//! because the winners among algorithms depend on them.
//!
//! Such a setting touches every collective at every size, so each candidate launch measures the violated cells with their
//! bounds and, briefly, everything else: a value that fixes one cell and slows another is charged for it.
//!
//! [`cost`] ranks candidates by one launch, [`confirming`] measures the finalists again.

mod confirming;
mod cost;

use std::collections::{BTreeMap, BTreeSet};

use kilter_bench::progress::Progress;
use kilter_model::change::id;
use kilter_model::config::library::Library;
use kilter_model::deployment::Assignment;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::setup::Setup;

use crate::context::{LaunchSearch, Site};
use crate::findings::Findings;
use crate::heard::Heard;
use crate::ordered::{self, Axis, Costs, Space};
use crate::shared_launches::{self, Member};
use crate::space::{self, LaunchCandidate};
use crate::target::Target;
use crate::trials::{CONFIRMING, Times, Trials};

/// Candidates that are confirmed at most.
const FINALISTS: usize = 3;
/// Values that argmin may measure for one parameter.
const EVALUATIONS: usize = 7;

/// Warning of settings that nothing was measured for.
pub const NOT_ALL_TRIED: &str = "the budget ended before every launch setting was tried; raise --budget";

/// Searches from `base`, the launch as it is deployed so far, files and drop-in included: a setting that slows an earlier round's algorithm does
/// damage like any other. `banned` settings are not proposed, and none but those in `only`, by id, where these are given.
///
/// # Errors
/// A failure that no candidate explains.
pub fn search(
    parts: LaunchSearch<'_, '_>,
    label: &str,
    base: Setup,
    targets: &[Target],
    banned: &BTreeSet<Assignment>,
    only: Option<&BTreeSet<String>>,
) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    if targets.is_empty() {
        return Ok(findings);
    }
    let (jobs, site) = (parts.jobs, &parts.jobs.site);
    let situation = situation(site, &base, parts.facts.heard());
    let trials = Trials::new(parts, format!("{label}/settings"), targets, base);
    let mut search = Search {
        trials,
        not_taken: BTreeMap::new(),
    };
    let candidates = space::launch_candidates(&site.library, &parts.facts.transports(), targets);
    say_what_cannot_be_put_back(site, &jobs.progress, &candidates, &situation);
    let mut candidates = space::in_situation(&site.library, candidates, &situation);
    let set = site.set_by_site();
    candidates.retain(|candidate| !site.library.leaves_to_site(&candidate.parameter, &set));
    let limits = &site.options.limits;
    candidates.retain(|candidate| !limits.leaves_parameter(&site.library, &candidate.parameter));
    candidates.retain(|candidate| !candidate.assignments.iter().any(|one| banned.contains(one)));
    candidates.retain(|candidate| only.is_none_or(|only| only.contains(&id(&candidate.assignments))));
    let wanted: BTreeSet<String> = candidates.iter().map(|one| id(&one.assignments)).collect();
    let groups = shared_launches::groups(&site.library, candidates);
    jobs.progress.phase("search launch settings", groups.len() as u64);
    let Some(present) = search.trials.launch(&[])? else {
        anyhow::bail!("the library's own collectives failed under the settings so far")
    };
    let mut scored: Vec<(f64, LaunchCandidate)> = Vec::new();
    let found = screen(&mut search.trials, groups, &present)?;
    if found.is_cut_short {
        let launched = found
            .times
            .iter()
            .map(|(candidate, _)| id(&candidate.assignments))
            .collect();
        findings.untried = wanted.difference(&launched).cloned().collect();
    }
    for (candidate, times) in found.times {
        search.refuse(&candidate, &times, &present, &mut findings);
        scored.push((search.cost(&times, &present), candidate));
    }
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let screened: Vec<(f64, String)> = scored
        .iter()
        .map(|(cost, candidate)| (*cost, id(&candidate.assignments)))
        .collect();
    let neutral = search.cost(&present, &present);
    let asked_for = targets.iter().any(|target| target.asked_for);
    // One candidate per parameter; what does not beat doing nothing is not looked at again, except where a contest was asked for.
    let mut finalists: Vec<(f64, LaunchCandidate)> = Vec::new();
    for (cost, candidate) in scored {
        let seen = finalists
            .iter()
            .any(|(_, other)| other.parameter == candidate.parameter);
        let is_promising = finalists.len() < FINALISTS && cost < neutral - 0.02;
        // Each could be accepted beside the others.
        let agrees = agree(
            &site.library,
            &situation,
            finalists.iter().map(|(_, other)| other).chain([&candidate]),
        );
        if !seen && agrees && (is_promising || candidate.confirm_always && asked_for) {
            finalists.push((cost, candidate));
        }
    }
    for (cost, candidate) in &mut finalists {
        let Some((min, max, scale)) = candidate.ordered else {
            continue;
        };
        let start = space::number(&site.library, candidate).unwrap_or(min);
        let axis = Axis {
            min: min.max(start / 4),
            max: max.min(start.saturating_mul(4)),
            start,
            scale,
        };
        let space = Space {
            axes: vec![axis],
            evaluations: EVALUATIONS,
        };
        let with = |value| space::with_value(&site.library, candidate, value, &situation);
        let known = Costs::from([(vec![start], *cost)]);
        let found = ordered::minimise(&space, &known, &mut |values| -> anyhow::Result<f64> {
            if jobs
                .budget
                .search_exhausted(search.trials.trial_seconds() * 2.0 * CONFIRMING as f64)
            {
                return Ok(f64::INFINITY);
            }
            let Some(other) = with(values[0]).filter(|other| !other.assignments.iter().any(|one| banned.contains(one)))
            else {
                return Ok(f64::INFINITY);
            };
            Ok(search
                .trials
                .launch(&other.assignments)?
                .map_or(f64::INFINITY, |times| search.cost(&times, &present)))
        })?;
        let refined = found.and_then(|found| Some((found.cost, with(found.values[0])?)));
        if let Some((refined_cost, refined)) = refined {
            candidate.assignments = refined.assignments;
            *cost = refined_cost;
        }
    }
    finalists.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (cost, id) in screened.into_iter().filter(|(cost, _)| *cost < neutral) {
        if !finalists
            .iter()
            .any(|(_, one)| kilter_model::change::id(&one.assignments) == id)
        {
            let why = NotDeployed::NotAmongFinalists { finalists: FINALISTS };
            jobs.progress.note(&format!(
                "`{id}` looked better (cost {neutral:.2} -> {cost:.2}) and {why}"
            ));
            findings.left_behind.push((id, why));
        }
    }
    search.confirm(&finalists, (neutral, &present), &mut findings)?;
    Ok(findings)
}

/// Placement of the ranks, the settings in force there and by `base`, and what was heard of both.
#[must_use]
pub fn situation(site: &Site<'_>, base: &Setup, heard: Heard) -> space::Situation {
    let mut in_force = site.set_by_site();
    for list in [
        &base.expected,
        &base.expected_environment,
        &base.parameters,
        &base.environment,
    ] {
        in_force.extend(list.iter().cloned());
    }
    space::Situation {
        hosts: site.hosts(),
        in_force,
        heard,
    }
}

/// A setting of the site's for which no value is the library's own: nothing but removing it can be tried, and only the site can do that.
fn say_what_cannot_be_put_back(
    site: &Site<'_>,
    progress: &Progress,
    candidates: &[LaunchCandidate],
    situation: &space::Situation,
) {
    let names: BTreeSet<&String> = candidates.iter().map(|candidate| &candidate.parameter).collect();
    let set = site.set_by_site();
    let without_default = site.library.parameters.iter().filter(|row| row.default.is_empty());
    for row in without_default.filter(|row| names.contains(&row.name)) {
        let is_deployed = situation.in_force.iter().rev().find(|(name, _)| *name == row.name);
        let is_sites = |pair: &&(String, String)| set.contains(pair);
        if let Some((name, value)) = is_deployed.filter(is_sites) {
            progress.note(&format!(
                "`{name}={value}` is set on this site, and no value selects the library's own default, so the default is not tried; run \
                 again without the setting"
            ));
        }
    }
}

/// True if settings can be in force together: no name has two values, and no constraint is broken.
fn agree<'c>(
    library: &Library,
    situation: &space::Situation,
    candidates: impl Iterator<Item = &'c LaunchCandidate>,
) -> bool {
    let mut all: BTreeMap<&str, &str> = BTreeMap::new();
    for one in candidates.flat_map(|candidate| &candidate.assignments) {
        if all
            .insert(&one.name, &one.value)
            .is_some_and(|other| other != one.value)
        {
            return false;
        }
    }
    let mut settings = situation.in_force.clone();
    settings.extend(all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    library.broken(&settings).is_none()
}

/// What a screening of settings measured.
#[derive(Debug)]
pub struct Screened {
    /// Times under each candidate; who fails is missing.
    pub times: Vec<(LaunchCandidate, Times)>,
    /// True if the seconds ended before every candidate was launched.
    pub is_cut_short: bool,
}

/// Measures each candidate, as long as the budget has room to confirm the best.
///
/// # Errors
/// A failure that no candidate explains.
pub fn screen(
    trials: &mut Trials<'_, '_>,
    groups: Vec<Vec<Member<LaunchCandidate>>>,
    present: &Times,
) -> anyhow::Result<Screened> {
    let jobs = trials.parts.jobs;
    let mut is_cut_short = false;
    let times = shared_launches::screen(trials, groups, present, |trials| {
        let confirming = trials.trial_seconds() * 2.0 * CONFIRMING as f64;
        is_cut_short = jobs.budget.search_exhausted(confirming);
        !is_cut_short
    })?;
    Ok(Screened { times, is_cut_short })
}

/// Costs of launches, and the candidates that are worth more of them.
struct Search<'s, 'a> {
    trials: Trials<'s, 'a>,
    /// Reasons why confirmed candidates are not taken, by id.
    not_taken: BTreeMap<String, NotDeployed>,
}
