//! Search over settings that act for a whole launch: eager limits, single copy, malloc thresholds. Searched behind the ways of single calls, the
//! best of which a setting has to beat.
//!
//! Such a setting touches every collective at every size. Launches that look for what acts measure the targets with their bounds; those that
//! confirm measure everything else, too: a value that fixes one cell and slows another is charged for it.
//!
//! [`candidates`] are the settings that may be tried, [`groups`] finds those that act, [`cost`] ranks them by one launch, [`finalists`] refines the best, [`confirming`] measures
//! these again.

mod candidates;
mod confirming;
mod cost;
mod finalists;
mod groups;

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::change::id;
use kilter_model::deployment::Assignment;
use kilter_model::not_deployed::NotDeployed;
use kilter_model::setup::Setup;

use crate::context::{LaunchSearch, Site};
use crate::findings::Findings;
use crate::heard::Heard;
use crate::shared_launches::{self, Member};
use crate::space::{LaunchCandidate, Situation};
use crate::target::Target;
use crate::trials::{CONFIRMING, Times, Trials};

/// The settings that a search tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// The library's own values of what the site sets.
    OfSite,
    /// Those of the description.
    Described,
}

impl Tried {
    fn label(self) -> &'static str {
        match self {
            Tried::OfSite => "own values",
            Tried::Described => "settings",
        }
    }
}

/// Warning of settings that nothing was measured for.
pub const NOT_ALL_TRIED: &str = "the budget ended before every launch setting was tried; raise --budget";

/// Searches from `base`, the launch as it is deployed so far, files and drop-in included: a setting that slows an earlier round's algorithm does
/// damage like any other. `banned` settings are not proposed.
///
/// # Errors
/// A failure that no candidate explains.
pub fn search(
    parts: LaunchSearch<'_, '_>,
    label: &str,
    base: Setup,
    (targets, tried): (&[Target], Tried),
    banned: &BTreeSet<Assignment>,
) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    if targets.is_empty() {
        return Ok(findings);
    }
    let jobs = parts.jobs;
    let mut search = Search {
        situation: situation(&jobs.site, &base, parts.facts.heard()),
        banned,
        trials: Trials::new(parts, format!("{label}/{}", tried.label()), targets, base),
        promising: BTreeMap::new(),
        not_taken: BTreeMap::new(),
    };
    let library = &jobs.site.library;
    let is_shared = |candidate: &LaunchCandidate| {
        let row = library.parameters.iter().find(|row| row.name == candidate.parameter);
        row.is_some_and(|row| row.screened_with.is_some())
    };
    let (shared, others): (Vec<LaunchCandidate>, Vec<LaunchCandidate>) =
        search.candidates(tried).into_iter().partition(is_shared);
    let shared = shared_launches::groups(library, shared);
    let groups = search.packed(others);
    let launches = shared.len() + groups.len();
    if launches == 0 {
        return Ok(findings);
    }
    jobs.progress.phase("search launch settings", launches as u64);
    // Exact times show in one launch what a setting slows.
    search.trials.be_brief(!jobs.site.options.is_exact());
    let Some(present) = search.trials.launch(&[])? else {
        anyhow::bail!("the library's own collectives failed under the settings so far")
    };
    let found = screen(&mut search.trials, shared, &present)?;
    let (acting, is_cut_short) = search.test_groups(groups, &present)?;
    // For calls that break nothing, settings are tried as far as their seconds go.
    let is_needed = targets.iter().any(|target| !target.bounds.is_empty());
    if is_needed && (found.is_cut_short || is_cut_short) {
        jobs.progress.warn(NOT_ALL_TRIED);
    }
    let mut scored: Vec<(f64, LaunchCandidate)> = Vec::new();
    for (candidate, times) in found.times.into_iter().chain(acting) {
        search.refuse(&candidate, &times, &present, &mut findings);
        search.note_promises(&candidate, &times, &present);
        scored.push((search.cost(&times, &present), candidate));
    }
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let screened: Vec<(f64, String)> = scored
        .iter()
        .map(|(cost, candidate)| (*cost, id(&candidate.assignments)))
        .collect();
    let neutral = search.cost(&present, &present);
    let mut finalists = search.finalists(scored, neutral);
    search.refine(&mut finalists, &present)?;
    finalists.sort_by(|a, b| a.0.total_cmp(&b.0));
    finalists.truncate(search.confirmable(finalists.len()));
    let left_behind = search.left_behind(screened, neutral, &finalists);
    findings.left_behind.extend(left_behind);
    search.trials.be_brief(false);
    search.confirm(&finalists, (neutral, &present), &mut findings)?;
    Ok(findings)
}

/// Placement of the ranks, the settings in force there and by `base`, and what was heard of both.
#[must_use]
pub fn situation(site: &Site<'_>, base: &Setup, heard: Heard) -> Situation {
    let mut in_force = site.set_by_site();
    for list in [
        &base.expected,
        &base.expected_environment,
        &base.parameters,
        &base.environment,
    ] {
        in_force.extend(list.iter().cloned());
    }
    Situation {
        hosts: site.hosts(),
        in_force,
        heard,
    }
}

/// Times of a screening of settings.
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
    situation: Situation,
    /// Settings that are not proposed.
    banned: &'s BTreeSet<Assignment>,
    trials: Trials<'s, 'a>,
    /// Names of the targets that a launch of the screening showed faster, by the id of its candidate.
    promising: BTreeMap<String, BTreeSet<String>>,
    /// Reasons why confirmed candidates are not taken, by id.
    not_taken: BTreeMap<String, NotDeployed>,
}
