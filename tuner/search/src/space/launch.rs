//! Candidates for whole launches: values of the library's parameters.

use kilter_model::config::library::{ForOverlap, Kind, Library, Parameter, SPARE, Value};
use kilter_model::deployment::Assignment;
use kilter_protocol::cpus;

use super::scale;
use crate::heard::Heard;
use crate::ordered::Scale;
use crate::target::Target;

/// A setting of a whole launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchCandidate {
    /// The parameter it is a value of.
    pub parameter: String,
    /// The setting, and those that go along with it.
    pub assignments: Vec<Assignment>,
    /// Range and spacing, where it is ordered.
    pub ordered: Option<(u64, u64, Scale)>,
    /// The kind of connection that it acts on, where it leaves the other as it is.
    pub kind: Option<Kind>,
    /// A contest that was asked for always measures it.
    pub confirm_always: bool,
}

/// The settings of a whole launch, most promising first, for the transports in use and the given targets.
#[must_use]
pub fn launch_candidates(library: &Library, transports: &[String], targets: &[Target]) -> Vec<LaunchCandidate> {
    // A parameter of all collectives is wanted without a target, too.
    let is_asked = |row: &Parameter| row.collectives.is_empty() || targets.iter().any(|one| one.is_served_by(row));
    let wanted = |row: &&Parameter| row.acts_on(transports) && is_asked(row);
    let rows = library.parameters.iter().filter(wanted);
    let is_asked_for = |row: &Parameter, value: &Value| {
        let text = value.to_string();
        targets.is_empty() || targets.iter().any(|one| row.concerns(&text, one.collective()))
    };
    let candidates = |row| {
        let values = tried(row, transports).filter(|value| is_asked_for(row, value));
        values.map(|value| launch_candidate(row, value)).collect::<Vec<_>>()
    };
    rows.flat_map(candidates).collect()
}

/// The values of a row that can change anything with these transports.
fn tried<'r>(row: &'r Parameter, transports: &[String]) -> impl Iterator<Item = &'r Value> + use<'r> {
    let values: Vec<&Value> = row.r#try.iter().filter(|value| row.tries(value, transports)).collect();
    values.into_iter()
}

/// Candidates of [`launch_candidates`] that belong to the collectives of the targets, rather than to all messages. They are a library's
/// algorithms if those are settings of a whole launch.
#[must_use]
pub fn own_launch_candidates(library: &Library, transports: &[String], targets: &[Target]) -> Vec<LaunchCandidate> {
    let of_all = |one: &LaunchCandidate| {
        let row = library.parameters.iter().find(|row| row.name == one.parameter);
        row.is_none_or(|row| row.collectives.is_empty())
    };
    let mut candidates = launch_candidates(library, transports, targets);
    candidates.retain(|one| !of_all(one));
    candidates
}

/// The settings of a whole launch that overlap can depend on: the way of messages over the transports in use, and their progress meanwhile.
/// Settings for overlap alone come first. `spare` are free processing units for a thread of each rank of a host, if there are any.
#[must_use]
pub fn overlap_candidates(
    library: &Library,
    transports: &[String],
    heard: &Heard,
    spare: Option<&[usize]>,
) -> Vec<LaunchCandidate> {
    let rows = || {
        library
            .parameters
            .iter()
            .filter(|row| row.acts_on(transports) && heard.has(row))
    };
    let spare = spare.map(|units| cpus::list(units.iter().copied()));
    let made_for_it = rows().flat_map(|row| row.overlap.iter().map(move |tried| (row, tried)));
    let made_for_it = made_for_it.filter_map(|(row, tried)| for_overlap(row, tried, spare.as_deref()));
    // Settings that belong to no transport and were not made for one are of memory, collectives and the like.
    let of_transport = rows().filter(|row| row.transport.is_some() && row.collectives.is_empty());
    made_for_it
        .chain(of_transport.flat_map(|row| {
            let values = tried(row, transports).filter(|value| heard.acts(row, value));
            values.map(|value| launch_candidate(row, value)).collect::<Vec<_>>()
        }))
        .collect()
}

/// The candidate for overlap; `None` if it needs a free processing unit and there is none.
fn for_overlap(row: &Parameter, tried: &ForOverlap, spare: Option<&str>) -> Option<LaunchCandidate> {
    let mut candidate = launch_candidate(row, &tried.value);
    for (name, text) in &tried.together {
        let value = if text.contains(SPARE) {
            text.replace(SPARE, spare?)
        } else {
            text.clone()
        };
        candidate.assignments.push(Assignment {
            name: name.clone(),
            value,
            environment: true,
        });
    }
    Some(candidate)
}

/// The candidate for one value, with the settings that go along.
pub(super) fn launch_candidate(row: &Parameter, value: &Value) -> LaunchCandidate {
    let assignment = |name: &String, value: String| Assignment {
        name: name.clone(),
        value,
        environment: row.environment,
    };
    let together = row.together.iter();
    let together = together.map(|(name, text)| assignment(name, text.replace("{value}", &value.to_string())));
    LaunchCandidate {
        parameter: row.name.clone(),
        assignments: std::iter::once(assignment(&row.name, value.to_string()))
            .chain(together)
            .collect(),
        kind: None,
        ordered: row.ordered.map(|range| (range.min, range.max, scale(range.scale))),
        confirm_always: row.confirm_always,
    }
}
