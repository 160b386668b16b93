//! Candidates for whole launches that fit the placement of the ranks and the settings in force.

use std::collections::BTreeMap;

use kilter_model::config::library::{Library, Value};
use kilter_model::deployment::Assignment;

use super::by_connection::{of_each_kind, of_kind};
use super::launch::{LaunchCandidate, launch_candidate};
use crate::heard::Heard;

/// Placement of the ranks, and the settings in force before anything is tried.
#[derive(Debug, Clone, Default)]
pub struct Situation {
    /// Hosts of the ranks, in their order; empty where that is not known.
    pub hosts: Vec<String>,
    /// Settings of the site and the user, then those deployed so far: the last one of a name wins.
    pub in_force: Vec<(String, String)>,
    /// The words on transports, hosts and the build.
    pub heard: Heard,
}

impl Situation {
    /// The value in force for a name.
    pub(super) fn value_of(&self, name: &str) -> Option<&str> {
        let found = self.in_force.iter().rev().find(|(other, _)| other == name)?;
        Some(&found.1)
    }
}

/// Settings that take back what the site sets: the library's own values, as `own` or the description has them.
#[must_use]
pub fn of_site(
    library: &Library,
    own: &BTreeMap<String, String>,
    set: &[(String, String)],
    situation: &Situation,
) -> Vec<LaunchCandidate> {
    let names: BTreeMap<&String, &String> = set.iter().map(|(name, value)| (name, value)).collect();
    let candidate = |(name, value): (&String, &String)| {
        let row = library.parameters.iter().find(|row| row.name == *name);
        let described = row.map(|row| &row.default).filter(|default| !default.is_empty());
        let own = own.get(name).or(described)?;
        let assignment = Assignment {
            name: name.clone(),
            value: own.clone(),
            environment: row.map_or(library.launcher.variable.is_empty(), |row| row.environment),
        };
        let candidate = LaunchCandidate {
            parameter: name.clone(),
            assignments: vec![assignment],
            ordered: None,
            kind: None,
            confirm_always: false,
        };
        mended(library, candidate, situation).filter(|_| !library.same_value(name, own, value))
    };
    names.into_iter().filter_map(candidate).collect()
}

/// The launch settings that can act on this placement. A value in force is not tried again. A candidate that would break a constraint gets the
/// setting that mends it, or is left out.
#[must_use]
pub fn in_situation(
    library: &Library,
    candidates: Vec<LaunchCandidate>,
    situation: &Situation,
) -> Vec<LaunchCandidate> {
    let mut fitting: Vec<LaunchCandidate> = Vec::new();
    for mut candidate in candidates {
        let row = library.parameters.iter().find(|row| row.name == candidate.parameter);
        let Some(row) = row.filter(|row| Library::acts_where(row.placement, &situation.hosts)) else {
            continue;
        };
        let own = candidate.assignments.first().map(|own| own.value.clone());
        let is_there = |value: &String| situation.heard.allows(row, value);
        if !situation.heard.has(row) || !own.as_ref().is_none_or(is_there) {
            continue;
        }
        let stands = situation.value_of(&row.name);
        if let (Some(own), Some(value)) = (candidate.assignments.first_mut(), stands) {
            own.value = row.beside(value, &own.value);
        }
        let is_in_force = |own: &String| stands.is_some_and(|value| library.same_value(&row.name, own, value));
        if !own.as_ref().is_some_and(is_in_force) {
            fitting.push(candidate);
        }
        fitting.extend(own.iter().flat_map(|own| of_each_kind(row, own, situation)));
    }
    fitting
        .into_iter()
        .filter_map(|candidate| mended(library, candidate, situation))
        .collect()
}

/// A candidate with the settings that it needs to break no constraint; `None` if there are none.
fn mended(library: &Library, mut candidate: LaunchCandidate, situation: &Situation) -> Option<LaunchCandidate> {
    let own = candidate
        .assignments
        .iter()
        .map(|one| (one.name.clone(), one.value.clone()));
    let beside = library.mended(&situation.in_force, &own.collect::<Vec<_>>())?;
    candidate.assignments.extend(beside.into_iter().map(|(name, value)| {
        let row = library.parameters.iter().find(|row| row.name == name);
        Assignment {
            environment: row.is_some_and(|row| row.environment),
            name,
            value,
        }
    }));
    Some(candidate)
}

/// An ordered candidate with another value of its parameter; `None` if that would break a constraint.
#[must_use]
pub fn with_value(
    library: &Library,
    candidate: &LaunchCandidate,
    value: u64,
    situation: &Situation,
) -> Option<LaunchCandidate> {
    let row = library.parameters.iter().find(|row| row.name == candidate.parameter)?;
    let other = match candidate.kind {
        None => launch_candidate(row, &Value::Number(value)),
        Some(kind) => of_kind(row, &value.to_string(), kind, situation)?,
    };
    mended(library, other, situation)
}
