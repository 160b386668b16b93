//! The implementations that rules may name: Kilter's algorithms and mock-ups, and rows of plugins.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::{Collective, mockup, registry};

use crate::Profile;

/// Properties of an implementation on which a profile depends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implementation {
    /// Collective that it carries out.
    pub collective: Collective,
    /// Its parameters, in the order of its row.
    pub parameters: Vec<Range>,
    /// It runs on powers of two ranks only.
    pub power_of_two_ranks: bool,
    /// It runs on even numbers of ranks only.
    pub even_ranks: bool,
}

/// The legal values of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Its name.
    pub name: String,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// Value where a rule says nothing.
    pub default: u64,
}

/// Implementations by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    rows: BTreeMap<String, Implementation>,
}

impl Catalogue {
    /// Kilter's own algorithms and mock-ups.
    #[must_use]
    pub fn built_in() -> Catalogue {
        let algorithms = registry::algorithms().map(|algorithm| {
            let parameters = algorithm.parameters.iter().map(|parameter| Range {
                name: parameter.name.to_owned(),
                min: parameter.min,
                max: parameter.max,
                default: parameter.default,
            });
            let implementation = Implementation {
                collective: algorithm.collective,
                parameters: parameters.collect(),
                power_of_two_ranks: algorithm.needs.contains(&registry::Need::PowerOfTwoRanks),
                even_ranks: algorithm.needs.contains(&registry::Need::EvenRanks),
            };
            (algorithm.id.to_owned(), implementation)
        });
        let mockups = mockup::MOCKUPS.iter().map(|row| {
            let implementation = Implementation {
                collective: row.collective,
                parameters: Vec::new(),
                power_of_two_ranks: false,
                even_ranks: false,
            };
            (row.id.to_owned(), implementation)
        });
        Catalogue {
            rows: algorithms.chain(mockups).collect(),
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
        let any = |name: &String| Range {
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
            catalogue.add(
                &rule.implementation,
                Implementation {
                    collective,
                    parameters: names.into_iter().map(any).collect(),
                    power_of_two_ranks: false,
                    even_ranks: false,
                },
            );
        }
        catalogue
    }

    /// Adds a plugin's row. Kilter's own and those added before stay: the row that was there is returned, and nothing changes.
    pub fn add(&mut self, id: &str, implementation: Implementation) -> Option<&Implementation> {
        if self.rows.contains_key(id) {
            return self.rows.get(id);
        }
        self.rows.insert(id.to_owned(), implementation);
        None
    }

    /// The implementation with this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Implementation> {
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
