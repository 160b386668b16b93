//! The profile of the drop-in: which implementation runs for which collective, communicators and volume.

use std::collections::BTreeMap;

use kilter_model::limits::{Call, Limits};
use kilter_model::range;
use kilter_profile::{Order, Profile, Rule, VERSION};

use super::decisions::Decisions;

/// The profile of the decisions; `None` if nothing needs the drop-in. A rule ends where its implementation would do something that `limits`
/// forbid.
#[must_use]
pub fn of(decisions: &Decisions<'_>, library: &str, plugins: Vec<String>, limits: &Limits) -> Option<Profile> {
    let mut rules = Vec::new();
    for (part, collective, bytes, selection) in decisions.selections() {
        let Some(implementation) = selection.implementation() else {
            continue;
        };
        let named = selection.parameters().into_iter();
        let parameters: BTreeMap<String, u64> = named
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect();
        let around = range::around(&part.volumes_of(collective), bytes);
        let call = Call {
            ranks: part.ranks,
            bytes,
            nodes: None,
        };
        let (min_bytes, max_bytes) = limits.reach(selection, call, around);
        rules.push(Rule {
            collective: collective.name().to_owned(),
            communicators: part.communicators,
            min_bytes,
            max_bytes,
            implementation: implementation.to_owned(),
            parameters,
        });
    }
    (!rules.is_empty()).then(|| Profile {
        version: VERSION,
        library: library.to_owned(),
        plugins,
        // Parts that meet, such as a range around what was measured, hold in their order.
        order: meet(decisions).then_some(Order::First),
        rules,
        online: Vec::new(),
    })
}

/// True if two parts hold for one communicator.
fn meet(decisions: &Decisions<'_>) -> bool {
    let parts = &decisions.parts;
    let mut each = parts.iter().enumerate();
    each.any(|(place, one)| {
        let mut others = parts[place + 1..].iter();
        others.any(|other| one.communicators.common(&other.communicators).is_some())
    })
}
