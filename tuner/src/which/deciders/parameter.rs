//! A parameter that names one algorithm for all sizes.

use std::collections::BTreeMap;

use kilter_model::config::library::Algorithms;
use kilter_which::answer::Decision;
use kilter_which::decide::Decider;

use super::Known;

/// Values by which a parameter leaves the choice to the library.
const OWN: [&str; 3] = ["0", "auto", "ignore"];

/// The parameter of a collective, if it is set.
pub(super) fn decider(known: &Known<'_>, row: &Algorithms, index: &dyn Fn(u64) -> Option<usize>) -> Option<Decider> {
    let name = &row.parameter;
    let set = known.places.set(name);
    let reported = known.variables.get(name);
    // A value that the library reports is in force, wherever it is from.
    let value = reported
        .cloned()
        .or_else(|| set.as_ref().map(|set| set.value.clone()))?;
    if OWN.contains(&value.as_str()) {
        let unheard = set.filter(|set| !OWN.contains(&set.value.as_str()))?;
        return Some(Decider {
            decision: Decision::Parameter {
                setting: format!("{name}={}", unheard.value),
                place: unheard.place,
            },
            asks: None,
            inactive: Some(format!("the library reports `{value}`: it does not know the value")),
        });
    }
    let number = number(row, &value);
    // As it was typed: the library may report a name for a number.
    let (typed, place) = match set {
        Some(set) => (set.value, set.place),
        None => (value, "a place that is not found; the library reports it".to_owned()),
    };
    Some(Decider {
        decision: Decision::Parameter {
            setting: format!("{name}={typed}"),
            place,
        },
        asks: number.and_then(index),
        inactive: inactive(known),
    })
}

/// The number of a value, which may be a name.
fn number(row: &Algorithms, value: &str) -> Option<u64> {
    let by_name = || {
        row.choices
            .iter()
            .find(|choice| choice.name == value)
            .map(|choice| choice.value)
    };
    value.parse().ok().or_else(by_name)
}

/// The reason why the library does not ask for choices of algorithms, if it does not.
pub(super) fn inactive(known: &Known<'_>) -> Option<String> {
    let library = known.library;
    if !library.algorithms.iter().any(|row| row.rules_id.is_some()) {
        return None;
    }
    missing(known, &library.switching.parameters)
}

/// The first of these parameters that the library reports with another value than it needs to ask for a choice.
pub(super) fn missing(known: &Known<'_>, needed: &BTreeMap<String, String>) -> Option<String> {
    needed.iter().find_map(|(name, wanted)| {
        let got = known.variables.get(name)?;
        (!known.library.same_value(name, wanted, got))
            .then(|| format!("`{name}` is `{got}`, so that the library asks for no such choice; set it to `{wanted}`"))
    })
}
