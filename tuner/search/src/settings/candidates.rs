//! Settings that may be tried: those that can act on the targets here, and that nobody has ruled out.

use std::collections::BTreeSet;

use kilter_bench::progress::Progress;
use kilter_model::config::library::Parameter;

use super::{Search, Tried};
use crate::context::Site;
use crate::space::{self, LaunchCandidate, Situation};

impl Search<'_, '_> {
    /// The candidates.
    pub(super) fn candidates(&self, tried: Tried) -> Vec<LaunchCandidate> {
        let parts = &self.trials.parts;
        let (jobs, site) = (parts.jobs, &parts.jobs.site);
        let (set, limits) = (site.set_by_site(), &site.options.limits);
        let mut candidates = match tried {
            Tried::OfSite => space::of_site(&site.library, &site.own_values(), &set, &self.situation),
            Tried::Described => {
                let all = space::launch_candidates(&site.library, &parts.facts.transports(), self.trials.targets);
                say_what_cannot_be_put_back(site, &jobs.progress, &all, &self.situation);
                space::in_situation(&site.library, all, &self.situation)
            }
        };
        candidates.retain(|candidate| {
            !site.library.leaves_to_site(&candidate.parameter, &set)
                && !limits.leaves_parameter(&site.library, &candidate.parameter)
                && !self.is_banned(candidate)
        });
        candidates
    }

    /// True if a setting of the candidate's is not proposed.
    pub(super) fn is_banned(&self, candidate: &LaunchCandidate) -> bool {
        candidate.assignments.iter().any(|one| self.banned.contains(one))
    }
}

/// A setting of the site's for which no value is the library's own: nothing but removing it can be tried, and only the site can do that.
fn say_what_cannot_be_put_back(
    site: &Site<'_>,
    progress: &Progress,
    candidates: &[LaunchCandidate],
    situation: &Situation,
) {
    let names: BTreeSet<&String> = candidates.iter().map(|candidate| &candidate.parameter).collect();
    let set = site.set_by_site();
    let known = site.own_values();
    let is_without = |row: &&Parameter| row.default.is_empty() && !known.contains_key(&row.name);
    let without_default = site.library.parameters.iter().filter(is_without);
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
