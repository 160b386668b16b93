//! Ordered knobs of selections: their ranges, and their values in a selection.

use kilter_algorithms::{Nodes, alias, registry};
use kilter_model::config::library::Library;
use kilter_model::deployment::{Selection, with_knob};
use kilter_protocol::row::LANES;

use super::scale;
use crate::ordered::{Axis, Scale};

/// An ordered knob of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knob {
    /// Parameter of the library or of the algorithm.
    pub name: String,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Spacing.
    pub scale: Scale,
    /// The value that acts where a selection says nothing.
    pub unset: u64,
}

impl Knob {
    /// All values of the knob, ascending.
    #[must_use]
    pub fn values(&self) -> Vec<u64> {
        self.axis(self.min).values()
    }

    /// The knob's range as an axis that is searched from `start`.
    #[must_use]
    pub fn axis(&self, start: u64) -> Axis {
        Axis {
            min: self.min,
            max: self.max,
            start: start.clamp(self.min, self.max),
            scale: self.scale,
        }
    }
}

/// The values of these knobs in a selection of their family.
#[must_use]
pub fn point(knobs: &[Knob], selection: &Selection) -> Vec<u64> {
    let value = |knob: &Knob| knob_value(selection, &knob.name).unwrap_or(knob.unset);
    knobs.iter().map(value).collect()
}

/// The selection with these values of its knobs, by its plain name.
#[must_use]
pub fn at_point(knobs: &[Knob], selection: &Selection, values: &[u64]) -> Selection {
    let set = |one: Selection, (knob, value): (&Knob, &u64)| with_knob(&one, &knob.name, *value);
    by_plain_name(knobs.iter().zip(values).fold(selection.clone(), set))
}

/// The selection by the one name under which a row with two is proposed ([`alias`]).
#[must_use]
pub(super) fn by_plain_name(selection: Selection) -> Selection {
    let plain = match &selection {
        Selection::Algorithm(id, values) => alias::plain_name(id, values),
        Selection::Settings(_) | Selection::Mockup(..) | Selection::Plugin(_) => None,
    };
    plain.map_or(selection, |id| Selection::Algorithm(id.to_owned(), Vec::new()))
}

/// The name that selections share if they differ only in ordered knobs.
#[must_use]
pub fn family(selection: &Selection) -> String {
    match selection {
        Selection::Settings(settings) => settings
            .first()
            .map(|(name, value)| format!("{name}={value}"))
            .unwrap_or_default(),
        Selection::Mockup(id, _) | Selection::Algorithm(id, _) => id.clone(),
        Selection::Plugin(plugin) => plugin.row.id.clone(),
    }
}

/// The ordered knobs of a selection that can be deployed for one message size; none where a small message leaves no room.
#[must_use]
pub fn knobs(library: &Library, selection: &Selection, bytes: u64) -> Vec<Knob> {
    let mut knobs = all_knobs(library, selection, bytes);
    knobs.retain(|knob| knob.min < knob.max);
    knobs
}

/// [`knobs`] of a job whose ranks lie so, where that is known: more lanes than the smallest node has ranks are the same lanes.
#[must_use]
pub fn knobs_on(nodes: Option<&Nodes>, library: &Library, selection: &Selection, bytes: u64) -> Vec<Knob> {
    let mut knobs = all_knobs(library, selection, bytes);
    let fewest = nodes.and_then(|nodes| (0..nodes.count()).map(|node| nodes.members(node).len()).min());
    if let Some(fewest) = fewest {
        for knob in knobs.iter_mut().filter(|knob| knob.name == LANES) {
            knob.max = knob.max.min(fewest as u64);
        }
    }
    knobs.retain(|knob| knob.min < knob.max);
    knobs
}

fn all_knobs(library: &Library, selection: &Selection, bytes: u64) -> Vec<Knob> {
    match selection {
        Selection::Mockup(..) => Vec::new(),
        Selection::Algorithm(id, _) => registry::find(id)
            .into_iter()
            .flat_map(|algorithm| algorithm.parameters)
            .map(|parameter| Knob {
                name: parameter.name.to_owned(),
                min: parameter.min,
                max: limit(parameter.name, parameter.max, bytes),
                scale: Scale::Log2,
                unset: parameter.default,
            })
            .collect(),
        Selection::Plugin(plugin) => plugin
            .row
            .parameters
            .iter()
            .map(|parameter| Knob {
                name: parameter.name.clone(),
                min: parameter.min,
                max: limit(&parameter.name, parameter.max, bytes),
                scale: Scale::Log2,
                unset: parameter.default,
            })
            .collect(),
        Selection::Settings(settings) => {
            let Some((parameter, value)) = settings.first() else {
                return Vec::new();
            };
            let Some(algorithms) = library
                .algorithms
                .iter()
                .find(|algorithms| algorithms.parameter == *parameter)
            else {
                return Vec::new();
            };
            let choice = algorithms
                .choices
                .iter()
                .find(|choice| choice.value.to_string() == *value);
            choice
                .into_iter()
                .flat_map(|choice| &choice.knobs)
                .filter_map(|name| {
                    let knob = algorithms.knobs.get(name).filter(|knob| knob.column.is_some())?;
                    let max = limit(name, knob.max, bytes);
                    Some(Knob {
                        name: format!("{parameter}_{name}"),
                        min: knob.min,
                        max,
                        scale: scale(knob.scale),
                        // A library's 0 sets no limit: one segment, all requests.
                        unset: if knob.default == 0 { max } else { knob.default },
                    })
                })
                .collect()
        }
    }
}

/// A segment larger than the message is no segment.
fn limit(name: &str, max: u64, bytes: u64) -> u64 {
    if name.contains("segment") { max.min(bytes) } else { max }
}

/// The value of a knob in a selection; `None` where it stands at the library's default.
#[must_use]
pub fn knob_value(selection: &Selection, name: &str) -> Option<u64> {
    match selection {
        Selection::Mockup(..) => None,
        Selection::Settings(settings) => settings.iter().find(|(knob, _)| knob == name)?.1.parse().ok(),
        Selection::Algorithm(id, values) => {
            let position = registry::find(id)?
                .parameters
                .iter()
                .position(|parameter| parameter.name == name)?;
            values.get(position).copied()
        }
        Selection::Plugin(plugin) => plugin.value(name),
    }
}
