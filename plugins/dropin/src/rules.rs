//! The profile with the implementations that it names.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use kilter_abi::{Needs, Plugin};
use kilter_algorithms::Collective;
use kilter_host::code;
use kilter_host::plugins::{self, LoadError, Row};
use kilter_profile::{Catalogue, Entry, Profile, ProfileError, Range, Table};

use crate::start::Started;

/// An implementation that a profile names.
pub(crate) struct Implementation {
    /// Its row.
    pub(crate) row: Row,
    /// Place of its plugin in [`Rules::plugins`].
    pub(crate) plugin: usize,
    /// How often it ran on this rank.
    pub(crate) calls: AtomicU64,
    /// How often it would have run, had the mode been `replace`.
    pub(crate) would_run: AtomicU64,
}

impl Implementation {
    /// True if it wants a commutative operator.
    pub(crate) fn needs_commutative(&self) -> bool {
        Needs::of(self.row.algorithm.needs).commutative
    }

    /// True if an operator of the program's must not see what it pads with.
    pub(crate) fn needs_predefined_operator(&self) -> bool {
        Needs::of(self.row.algorithm.needs).predefined_operator
    }

    /// True if it runs only where all ranks are on one node.
    pub(crate) fn needs_one_node(&self) -> bool {
        Needs::of(self.row.algorithm.needs).one_node
    }

    /// Counts a call.
    #[inline]
    pub(crate) fn count(&self, started: &Started) {
        if started.thread_multiple {
            self.calls.fetch_add(1, Ordering::Relaxed);
        } else {
            // Only one thread at a time counts, so that no other processor need be asked, which takes as long as 20 instructions.
            self.calls
                .store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// True if it takes no more bytes than an int counts.
    pub(crate) fn needs_int_volume(&self) -> bool {
        Needs::of(self.row.algorithm.needs).int_volume
    }
}

/// What runs on a range of bytes.
pub(crate) struct Action {
    pub(crate) implementation: &'static Implementation,
    /// One value for each parameter of the row.
    pub(crate) parameters: Box<[u64]>,
}

/// A profile that is ready to be followed.
pub(crate) struct Rules {
    /// The plugins, in the profile's order.
    pub(crate) plugins: Vec<&'static Plugin>,
    /// The implementations that rules name, in the order in which they first do.
    pub(crate) implementations: Vec<Implementation>,
    /// Tells builds of the plugins apart.
    pub(crate) code: u64,
    profile: Profile,
}

/// Why a profile is not followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RulesError {
    /// The profile is wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A plugin cannot be used.
    #[error("profile {profile}: {error}")]
    Plugin {
        /// The profile's file.
        profile: PathBuf,
        /// What is wrong.
        error: LoadError,
    },
    /// Two plugins have a row of one id.
    #[error("profile {profile}: two of its plugins have the row `{id}`; take one of them out")]
    Twice {
        /// The profile's file.
        profile: PathBuf,
        /// The row's id.
        id: &'static str,
    },
}

impl Rules {
    /// Reads the text of the profile `path`, loads its plugins and checks its rules against their rows.
    ///
    /// # Errors
    /// See [`RulesError`].
    pub(crate) fn load(text: &str, path: &Path) -> Result<Rules, RulesError> {
        let origin = path.display().to_string();
        let profile = Profile::read(text, &origin)?;
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let directory = absolute.parent().unwrap_or(Path::new("/"));
        let mut catalogue = Catalogue::default();
        let (mut plugins, mut rows) = (Vec::new(), Vec::new());
        let mut code = 0;
        for (place, file) in profile.plugins.iter().enumerate() {
            let loaded = plugins::load(&directory.join(file)).map_err(|error| RulesError::Plugin {
                profile: path.to_owned(),
                error,
            })?;
            plugins.push(loaded.plugin);
            code = code::hash(code, &loaded.code.to_le_bytes());
            for row in loaded.rows {
                if catalogue.add(row.id, described(&row)).is_some() {
                    return Err(RulesError::Twice {
                        profile: path.to_owned(),
                        id: row.id,
                    });
                }
                rows.push((place, row));
            }
        }
        profile.check(&catalogue, &origin)?;
        let mut implementations: Vec<Implementation> = Vec::new();
        for rule in &profile.rules {
            if let Some(found) = rows.iter().position(|(_, row)| row.id == rule.implementation) {
                // Each row is taken once: later rules find it among the implementations.
                let (plugin, row) = rows.swap_remove(found);
                let (calls, would_run) = (AtomicU64::new(0), AtomicU64::new(0));
                implementations.push(Implementation {
                    row,
                    plugin,
                    calls,
                    would_run,
                });
            }
        }
        Ok(Rules {
            plugins,
            implementations,
            code,
            profile,
        })
    }

    /// The library that the profile was tuned for.
    pub(crate) fn library(&self) -> &str {
        &self.profile.library
    }

    /// What runs on communicators of `ranks` ranks; `None` where nothing does.
    pub(crate) fn table(&'static self, ranks: usize) -> Option<Table<Action>> {
        let action = |_: Collective, entry: &Entry| {
            let named = |implementation: &&Implementation| implementation.row.id == entry.implementation;
            let implementation = self.implementations.iter().find(named);
            // Every rule's implementation was found when the profile was checked.
            implementation.ok_or(()).map(|implementation| Action {
                implementation,
                parameters: parameters(entry, &implementation.row),
            })
        };
        let table = Table::compile(&self.profile, ranks).try_map(action).ok()?;
        let is_empty = table.ranges().next().is_none();
        (!is_empty).then_some(table)
    }
}

/// A row as profiles are checked against it.
fn described(row: &Row) -> kilter_profile::Implementation {
    let range = |&(name, [min, max, default]): &(&str, [u64; 3])| Range {
        name: name.to_owned(),
        min,
        max,
        default,
    };
    let needs = Needs::of(row.algorithm.needs);
    kilter_profile::Implementation {
        collective: row.collective,
        parameters: row.parameters.iter().map(range).collect(),
        power_of_two_ranks: needs.power_of_two_ranks,
        even_ranks: needs.even_ranks,
    }
}

/// The value of each parameter of the row: the rule's, or the default.
fn parameters(entry: &Entry, row: &Row) -> Box<[u64]> {
    row.parameters
        .iter()
        .map(|(name, [_, _, default])| entry.parameters.get(*name).copied().unwrap_or(*default))
        .collect()
}
