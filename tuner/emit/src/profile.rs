//! The profile of the drop-in: which implementation runs for which collective, communicators and volume.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::deployment::Selection;
use kilter_model::limits::{Call, Limits};
use kilter_model::range;
use kilter_profile::{Bounds, Catalogue, Communicators, MOST_SIZES, Order, Profile, Rule, VERSION};
use kilter_protocol::row::Needs;

use super::decisions::{Decisions, Part};

/// The profile of the decisions; `None` if nothing needs the drop-in. A rule ends where its implementation would do something that `limits`
/// forbid.
#[must_use]
pub fn of(decisions: &Decisions<'_>, library: &str, plugins: Vec<String>, limits: &Limits) -> Option<Profile> {
    let catalogue = Catalogue::built_in();
    let mut rules = Vec::new();
    for (part, collective, bytes, selection) in decisions.selections() {
        let Some(implementation) = selection.implementation() else {
            continue;
        };
        let named = selection.parameters().into_iter();
        let parameters: BTreeMap<String, u64> = named
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect();
        if !collective.volume_is_known() && part.largest_replaced(collective) != Some(bytes) {
            continue;
        }
        let (min_bytes, max_bytes) = volumes(part, (collective, bytes), selection, limits);
        for communicators in suited(part.communicators, needs(&catalogue, selection)) {
            rules.push(Rule {
                collective: collective.name().to_owned(),
                communicators,
                min_bytes,
                max_bytes,
                implementation: implementation.to_owned(),
                parameters: parameters.clone(),
            });
        }
    }
    let online: Vec<String> = decisions.tried.iter().filter_map(|one| one.named()).collect();
    (!rules.is_empty() || !online.is_empty()).then(|| Profile {
        version: VERSION,
        library: library.to_owned(),
        plugins,
        // Parts that meet, such as a range around what was measured, hold in their order.
        order: meet(decisions).then_some(Order::First),
        rules,
        online,
    })
}

/// The volumes for which a selection's rule holds. Where not every rank of a call knows the volume, a rule cannot depend on it.
fn volumes(
    part: &Part<'_>,
    (collective, bytes): (Collective, u64),
    selection: &Selection,
    limits: &Limits,
) -> (u64, u64) {
    if !collective.volume_is_known() {
        return (0, u64::MAX);
    }
    let around = range::around(&part.volumes_of(collective), bytes);
    let call = Call {
        ranks: part.ranks,
        bytes,
        nodes: None,
    };
    limits.reach(selection, call, around)
}

/// The needs of what a selection runs.
fn needs(catalogue: &Catalogue, selection: &Selection) -> Needs {
    match selection {
        Selection::Plugin(plugin) => plugin.row.needs,
        other => {
            let row = other.implementation().and_then(|id| catalogue.find(id));
            row.map(|row| row.needs).unwrap_or_default()
        }
    }
}

/// The communicators on whose numbers of ranks the implementation runs. One that wants a power of two has a rule for each of these; between
/// them the library's own stays.
fn suited(communicators: Communicators, needs: Needs) -> Vec<Communicators> {
    let (least, most) = communicators.ranks_between();
    if least == most || !(needs.power_of_two_ranks || needs.even_ranks) {
        return vec![communicators];
    }
    let fits = |ranks: &usize| {
        (!needs.power_of_two_ranks || ranks.is_power_of_two()) && (!needs.even_ranks || ranks.is_multiple_of(2))
    };
    let exactly = |ranks| Communicators {
        ranks: Bounds::exactly(ranks),
        ..communicators
    };
    let sizes = communicators.sizes().into_iter();
    let numbers = sizes.flat_map(|(first, last)| first..=last).take(MOST_SIZES);
    numbers.filter(fits).map(exactly).collect()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kilter_algorithms::registry;

    use super::*;
    use crate::decisions::{Selections, Volumes};

    fn row(id: &str) -> Selection {
        let parameters = registry::find(id).unwrap().default_parameters();
        Selection::Algorithm(id.to_owned(), parameters)
    }

    /// The profile of selections for some communicators each, written and read.
    fn profile(parts: &[(Communicators, Selections)], volumes: &Volumes) -> Profile {
        let parts = parts.iter().map(|(communicators, selections)| Part {
            communicators: *communicators,
            ranks: communicators.ranks_between().1,
            selections,
            volumes,
        });
        let decisions = Decisions {
            assignments: &[],
            parts: parts.collect(),
            layouts: Vec::new(),
            transports: Vec::new(),
            left_out: Vec::new(),
            tried: Vec::new(),
        };
        let plugins = vec!["libkilter_collectives.so".to_owned()];
        let profile = of(&decisions, "Open MPI", plugins, &Limits::default()).unwrap();
        Profile::parse(&profile.to_json().unwrap(), "p.json").unwrap()
    }

    fn rules(parts: &[(Communicators, &str)]) -> (Vec<String>, Option<Order>) {
        let of_allgather = |id: &str| BTreeMap::from([((Collective::Allgather, 4096), row(id))]);
        let parts: Vec<(Communicators, Selections)> = parts.iter().map(|(on, id)| (*on, of_allgather(id))).collect();
        let profile = profile(&parts, &Volumes::new());
        let text = |rule: &Rule| format!("{}: {}", rule.communicators, rule.implementation);
        (profile.rules.iter().map(text).collect(), profile.order)
    }

    /// The rule of the largest size holds for all where not every rank of a call knows the volume.
    #[test]
    fn a_rule_depends_on_a_volume_that_all_ranks_know() {
        let selections = Selections::from([
            ((Collective::Barrier, 0), row("barrier.dissemination")),
            ((Collective::Bcast, 64), row("bcast.linear")),
            ((Collective::Gatherv, 64), row("gatherv.binomial")),
            ((Collective::Gatherv, 4096), row("gatherv.linear")),
        ]);
        let measured = [64, 4096, 262_144];
        let measured = [Collective::Bcast, Collective::Gatherv].map(|one| (one, measured.into()));
        let profile = profile(&[(Communicators::of_layout(8, 1), selections)], &measured.into());
        let rules = profile.rules.iter();
        let rules = rules.map(|rule| (rule.implementation.as_str(), rule.min_bytes, rule.max_bytes));
        assert_eq!(
            rules.collect::<Vec<_>>(),
            [
                ("barrier.dissemination", 0, u64::MAX),
                ("bcast.linear", 64, 512),
                ("gatherv.linear", 0, u64::MAX)
            ]
        );
    }

    #[test]
    fn layouts_of_as_many_ranks_stand_beside_each_other() {
        let both = [
            (Communicators::of_layout(16, 1), "allgather.ring"),
            (Communicators::of_layout(8, 2), "allgather.bruck"),
        ];
        let (rules, order) = rules(&both);
        assert_eq!(
            rules,
            [
                "16 ranks on 16 nodes with 1 each: allgather.ring",
                "16 ranks on 8 nodes with 2 each: allgather.bruck"
            ]
        );
        assert_eq!(order, None);
    }

    /// A measurement holds within a range around it, and the profile says so.
    #[test]
    fn parts_that_meet_hold_in_their_order() {
        let around = Communicators {
            nodes: Bounds::between(4, 16),
            ranks_per_node: Bounds::exactly(2),
            ..Communicators::default()
        };
        let (rules, order) = rules(&[
            (Communicators::of_layout(8, 2), "allgather.bruck"),
            (around, "allgather.ring"),
        ]);
        assert_eq!(rules.len(), 2);
        assert_eq!(order, Some(Order::First));
    }

    #[test]
    fn a_range_has_a_rule_for_each_number_of_ranks_that_suits() {
        let between = |ranks_per_node| Communicators {
            ranks: Bounds::between(4, 8),
            ranks_per_node: Bounds::exactly(ranks_per_node),
            ..Communicators::default()
        };
        let exchange = "allgather.neighbour_exchange";
        let each: Vec<String> = [4, 6, 8]
            .map(|ranks| format!("{ranks} ranks with 1 rank on each node: {exchange}"))
            .into();
        assert_eq!(rules(&[(between(1), exchange)]).0, each);
        assert_eq!(rules(&[(between(1), "allgather.ring")]).0.len(), 1);
    }
}
