//! The profile with the implementations that it names.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use kilter_abi::Plugin;
use kilter_algorithms::Collective;
use kilter_host::code;
use kilter_host::plugins::{self, Callable, LoadError};
use kilter_profile::{Catalogue, Entry, Profile, ProfileError, Table};
use kilter_protocol::row::{Needs, Row};

/// An implementation that a profile names.
pub(crate) struct Implementation {
    /// Its row.
    pub(crate) callable: Callable,
    /// Place of its plugin in [`Rules::plugins`].
    pub(crate) plugin: usize,
    /// Calls that it carried out on this rank.
    pub(crate) calls: AtomicU64,
    /// Calls that it would have carried out in mode `replace`.
    pub(crate) would_run: AtomicU64,
}

impl Implementation {
    /// Its id.
    pub(crate) fn id(&self) -> &str {
        &self.callable.row.id
    }

    /// Its requirements on a call.
    pub(crate) fn needs(&self) -> Needs {
        self.callable.row.needs
    }

    /// Counts a call; several threads may do so at the same time only where that is said.
    #[inline]
    pub(crate) fn count(&self, thread_multiple: bool) {
        if thread_multiple {
            self.calls.fetch_add(1, Ordering::Relaxed);
        } else {
            // Only one thread at a time counts, so that no other processor need be asked, which takes as long as 20 instructions.
            self.calls
                .store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

/// Implementation that runs on a range of bytes, with its parameters.
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
        /// The failure.
        error: LoadError,
    },
    /// Two plugins have a row of one id.
    #[error("profile {profile}: two of its plugins have the row `{id}`; take one of them out")]
    Twice {
        /// The profile's file.
        profile: PathBuf,
        /// The row's id.
        id: String,
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
            for callable in loaded.rows {
                if let Some(known) = catalogue.add(callable.row.clone()) {
                    return Err(RulesError::Twice {
                        profile: path.to_owned(),
                        id: known.id.clone(),
                    });
                }
                rows.push((place, callable));
            }
        }
        profile.check(&catalogue, &origin)?;
        let mut implementations: Vec<Implementation> = Vec::new();
        for rule in &profile.rules {
            if let Some(found) = rows
                .iter()
                .position(|(_, callable)| callable.row.id == rule.implementation)
            {
                // Each row is taken once: later rules find it among the implementations.
                let (plugin, callable) = rows.swap_remove(found);
                let (calls, would_run) = (AtomicU64::new(0), AtomicU64::new(0));
                implementations.push(Implementation {
                    callable,
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

    /// The implementations for communicators of `ranks` ranks, by size; `None` if there are none.
    pub(crate) fn table(&'static self, ranks: usize) -> Option<Table<Action>> {
        let action = |_: Collective, entry: &Entry| {
            let named = |implementation: &&Implementation| implementation.id() == entry.implementation;
            let implementation = self.implementations.iter().find(named);
            // Every rule's implementation was found when the profile was checked.
            implementation.ok_or(()).map(|implementation| Action {
                implementation,
                parameters: parameters(entry, &implementation.callable.row),
            })
        };
        let table = Table::compile(&self.profile, ranks).try_map(action).ok()?;
        let is_empty = table.ranges().next().is_none();
        (!is_empty).then_some(table)
    }
}

/// The value of each parameter of the row: the rule's, or the default.
fn parameters(entry: &Entry, row: &Row) -> Box<[u64]> {
    row.parameters
        .iter()
        .map(|parameter| {
            let value = entry.parameters.get(&parameter.name).copied();
            value.unwrap_or(parameter.default)
        })
        .collect()
}
