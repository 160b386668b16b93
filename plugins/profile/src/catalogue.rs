//! The implementations that rules may name: Kilter's algorithms and mock-ups, and rows of plugins.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::{Collective, closing, mockup, registry};
use kilter_protocol::row::{Needs, Parameter, Row};

use crate::Profile;

/// Implementations by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    rows: BTreeMap<String, Row>,
}

impl Catalogue {
    /// Kilter's own algorithms and mock-ups, and its rows that split and pad.
    #[must_use]
    pub fn built_in() -> Catalogue {
        let algorithms = registry::algorithms().map(Row::from);
        let mockups = mockup::MOCKUPS.iter().map(Row::from);
        let rows = algorithms.chain(mockups).chain(closing::CLOSING.iter().map(Row::from));
        Catalogue {
            rows: rows.map(|row| (row.id.clone(), row)).collect(),
        }
    }

    /// Kilter's own, and whatever else the rules of a profile name, if it names plugins beside Kilter's: for those who cannot load
    /// them. Their rows are taken to be as the rules have them.
    #[must_use]
    pub fn trusting(profile: &Profile) -> Catalogue {
        let mut catalogue = Catalogue::built_in();
        if profile.plugins.len() < 2 {
            return catalogue;
        }
        let any = |name: &String| Parameter {
            name: name.clone(),
            min: 0,
            max: u64::MAX,
            default: 0,
        };
        for rule in &profile.rules {
            let Some(collective) = rule.collective() else { continue };
            let same = profile
                .rules
                .iter()
                .filter(|other| other.implementation == rule.implementation);
            let names: BTreeSet<&String> = same.flat_map(|other| other.parameters.keys()).collect();
            catalogue.add(Row {
                id: rule.implementation.clone(),
                collective,
                needs: Needs::default(),
                parameters: names.into_iter().map(any).collect(),
                scratch: None,
            });
        }
        catalogue
    }

    /// Adds a plugin's row. Kilter's own and those added before stay: the row that was there is returned, and nothing changes.
    pub fn add(&mut self, row: Row) -> Option<&Row> {
        match self.rows.entry(row.id.clone()) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => {
                place.insert(row);
                None
            }
        }
    }

    /// The implementation with this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Row> {
        self.rows.get(id)
    }

    /// The ids of the implementations of a collective, in order.
    pub fn ids_of(&self, collective: Collective) -> impl Iterator<Item = &str> {
        self.rows
            .iter()
            .filter(move |(_, row)| row.collective == collective)
            .map(|(id, _)| id.as_str())
    }
}
