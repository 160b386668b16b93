//! The profile's rules, with the implementations that they name.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use kilter_abi::{Algorithm, NEEDS_COMMUTATIVE, NEEDS_POWER_OF_TWO_RANKS, Plugin};
use kilter_profile::{Profile, Rule};

use crate::plugins::{self, Loaded, Row};

/// An implementation that a profile names.
pub(crate) struct Implementation {
    /// Its id.
    pub(crate) id: String,
    /// Its row.
    pub(crate) algorithm: &'static Algorithm,
    /// Place of its plugin in [`Rules::plugins`].
    pub(crate) plugin: usize,
    /// How often it ran on this rank.
    pub(crate) calls: AtomicU64,
    /// How often it would have run, had the mode been `replace`.
    pub(crate) would_run: AtomicU64,
}

impl Implementation {
    /// Whether it wants a commutative operator.
    pub(crate) fn needs_commutative(&self) -> bool {
        self.algorithm.needs & NEEDS_COMMUTATIVE != 0
    }
}

/// Runs an implementation where its range of bytes holds the call's.
pub(crate) struct Entry {
    collective: usize,
    ranks: usize,
    min_bytes: u64,
    max_bytes: u64,
    /// Place of the implementation in [`Rules::implementations`].
    implementation: usize,
    /// One value for each parameter of the row.
    pub(crate) parameters: Box<[u64]>,
}

/// A profile that is ready to be followed.
pub(crate) struct Rules {
    /// The plugins, in the profile's order.
    pub(crate) plugins: Vec<&'static Plugin>,
    /// The implementations, in the order in which rules name them.
    pub(crate) implementations: Vec<Implementation>,
    entries: Vec<Entry>,
}

/// The rules of one collective on communicators of one size, by ascending bytes.
pub(crate) type Table = Box<[(&'static Entry, &'static Implementation)]>;

impl Rules {
    /// Loads the plugins of a profile that was read from `directory` and looks its implementations up.
    ///
    /// # Errors
    /// What is wrong, with file, rule or row.
    pub(crate) fn load(profile: &Profile, directory: &Path) -> Result<Rules, String> {
        let mut loaded = Vec::new();
        for path in &profile.plugins {
            loaded.push(plugins::load(&directory.join(path)).map_err(|error| error.to_string())?);
        }
        let mut rules = Rules {
            plugins: loaded.iter().map(|loaded| loaded.plugin).collect(),
            implementations: Vec::new(),
            entries: Vec::new(),
        };
        for (place, rule) in profile.rules.iter().enumerate() {
            let entry = rules
                .entry(rule, &loaded)
                .map_err(|what| format!("rule {place}: {what}"))?;
            rules.entries.push(entry);
        }
        rules
            .entries
            .sort_by_key(|entry| (entry.collective, entry.ranks, entry.min_bytes));
        Ok(rules)
    }

    fn entry(&mut self, rule: &Rule, loaded: &[Loaded]) -> Result<Entry, String> {
        let (id, name) = (&rule.implementation, &rule.collective);
        let collective = kilter_abi::COLLECTIVES
            .iter()
            .position(|known| known == name)
            .ok_or_else(|| {
                format!(
                    "`{name}` is no collective that can be replaced; allowed: {}",
                    kilter_abi::COLLECTIVES.join(", ")
                )
            })?;
        let found = loaded
            .iter()
            .enumerate()
            .find_map(|(plugin, loaded)| loaded.rows.iter().find(|row| row.id == id).map(|row| (plugin, row)));
        let (plugin, row) = found.ok_or_else(|| format!("no plugin of the profile has `{id}`"))?;
        if row.algorithm.collective as usize != collective {
            return Err(format!("`{id}` does not implement {name}"));
        }
        if row.algorithm.needs & NEEDS_POWER_OF_TWO_RANKS != 0 && !rule.ranks.is_power_of_two() {
            return Err(format!("`{id}` needs a power of two of ranks, not {}", rule.ranks));
        }
        let parameters = parameters(rule, row)?;
        let implementation = self
            .implementations
            .iter()
            .position(|known| known.id == *id)
            .unwrap_or_else(|| {
                self.implementations.push(Implementation {
                    id: id.clone(),
                    algorithm: row.algorithm,
                    plugin,
                    calls: AtomicU64::new(0),
                    would_run: AtomicU64::new(0),
                });
                self.implementations.len() - 1
            });
        let &Rule {
            ranks,
            min_bytes,
            max_bytes,
            ..
        } = rule;
        Ok(Entry {
            collective,
            ranks,
            min_bytes,
            max_bytes,
            implementation,
            parameters,
        })
    }

    /// The tables for communicators of `ranks` ranks, by number of the collective; `None` where all are empty.
    pub(crate) fn tables(&'static self, ranks: usize) -> Option<[Table; kilter_abi::COLLECTIVES.len()]> {
        let table = |collective: usize| -> Table {
            let of_call = |entry: &&Entry| entry.collective == collective && entry.ranks == ranks;
            self.entries
                .iter()
                .filter(of_call)
                .map(|entry| (entry, &self.implementations[entry.implementation]))
                .collect()
        };
        let tables: [Table; kilter_abi::COLLECTIVES.len()] = std::array::from_fn(table);
        tables.iter().any(|table| !table.is_empty()).then_some(tables)
    }
}

/// The entry for so many bytes. Ranges do not overlap, so there is at most one.
pub(crate) fn find(table: &Table, bytes: u64) -> Option<(&'static Entry, &'static Implementation)> {
    let after = table.partition_point(|(entry, _)| entry.min_bytes <= bytes);
    let (entry, implementation) = table[..after].last()?;
    (bytes <= entry.max_bytes).then_some((*entry, *implementation))
}

fn parameters(rule: &Rule, row: &Row) -> Result<Box<[u64]>, String> {
    for name in rule.parameters.keys() {
        if !row.parameters.iter().any(|(known, _)| known == name) {
            let known: Vec<&str> = row.parameters.iter().map(|(known, _)| *known).collect();
            return Err(format!(
                "`{}` has no parameter `{name}`; it has: {}",
                row.id,
                known.join(", ")
            ));
        }
    }
    row.parameters
        .iter()
        .map(|&(name, [min, max, default])| {
            let value = rule.parameters.get(name).copied().unwrap_or(default);
            if (min..=max).contains(&value) {
                Ok(value)
            } else {
                Err(format!("`{}`: {name} is {value}; allowed: {min} to {max}", row.id))
            }
        })
        .collect()
}
