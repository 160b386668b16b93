//! The profile with the implementations that it names.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use kilter_abi::Plugin;
use kilter_algorithms::Collective;
use kilter_host::code;
use kilter_host::plugins::{self, Callable, LoadError, Loaded};
use kilter_profile::{Catalogue, Entry, Placement, Profile, ProfileError, Table};
use kilter_protocol::row::{Needs, Row};

use crate::tried::{self, Rows, TriedError};

/// An implementation that a profile names.
pub(crate) struct Implementation {
    /// Its row.
    pub(crate) callable: Callable,
    /// Place of its plugin in [`Rules::plugins`].
    pub(crate) plugin: usize,
    /// Calls that it carried out on this rank.
    pub(crate) calls: AtomicU64,
    /// Calls that it carried out on this rank inside those of others, which are none of the program's.
    pub(crate) inside: AtomicU64,
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
#[derive(Clone)]
pub(crate) struct Action {
    pub(crate) implementation: &'static Implementation,
    /// One value for each parameter of the row.
    pub(crate) parameters: Box<[u64]>,
}

impl Action {
    /// True if both run the same with the same parameters.
    pub(crate) fn is_same(&self, other: &Action) -> bool {
        std::ptr::eq(self.implementation, other.implementation) && self.parameters == other.parameters
    }

    /// Its row's id with the values of its parameters, as `kilter verify-algorithms --only` takes it.
    pub(crate) fn text(&self) -> String {
        let values: Vec<String> = self.parameters.iter().map(u64::to_string).collect();
        let at = if values.is_empty() { "" } else { "@" };
        format!("{}{at}{}", self.implementation.id(), values.join("/"))
    }
}

/// A profile that is ready to be followed.
pub(crate) struct Rules {
    /// The plugins, in the profile's order.
    pub(crate) plugins: Vec<&'static Plugin>,
    /// The implementations that rules name, in the order in which they first do.
    pub(crate) implementations: Vec<Implementation>,
    /// Tells builds of the plugins apart.
    pub(crate) code: u64,
    /// Rows that are tried online beside those of the rules: the place among the implementations, and the parameters.
    tried: Vec<(usize, Box<[u64]>)>,
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
    /// Kilter's own plugin cannot be used.
    #[error("KILTER_ONLINE without a profile: {0}")]
    Own(LoadError),
    /// A row that is to be tried online is no row, or not with these values.
    #[error(transparent)]
    Tried(#[from] TriedError),
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
    /// Reads the text of the profile `path`, loads its plugins and checks its rules against their rows. `tried` are the rows to try online.
    ///
    /// # Errors
    /// See [`RulesError`].
    pub(crate) fn load(text: &str, path: &Path, tried: Option<&Rows>) -> Result<Rules, RulesError> {
        let origin = path.display().to_string();
        let profile = Profile::read(text, &origin)?;
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let directory = absolute.parent().unwrap_or(Path::new("/"));
        let mut loaded = Vec::new();
        for file in &profile.plugins {
            loaded.push(
                plugins::load(&directory.join(file)).map_err(|error| RulesError::Plugin {
                    profile: path.to_owned(),
                    error,
                })?,
            );
        }
        Rules::of(profile, &origin, loaded, tried)
    }

    /// No rules, and the rows of Kilter's own plugin, which lies beside this library, to try online.
    ///
    /// # Errors
    /// See [`RulesError`].
    pub(crate) fn without_profile(library: &str, tried: &Rows) -> Result<Rules, RulesError> {
        let plugin = own_path().with_file_name("libkilter_collectives.so");
        let profile = Profile {
            version: kilter_profile::VERSION,
            library: library.to_owned(),
            plugins: vec![plugin.display().to_string()],
            order: None,
            rules: Vec::new(),
            online: Vec::new(),
        };
        let loaded = plugins::load(&plugin).map_err(RulesError::Own)?;
        Rules::of(profile, "KILTER_ONLINE", vec![loaded], Some(tried))
    }

    /// The rules of a profile with its plugins.
    fn of(profile: Profile, origin: &str, loaded: Vec<Loaded>, tried: Option<&Rows>) -> Result<Rules, RulesError> {
        let mut catalogue = Catalogue::default();
        let (mut plugins, mut rows) = (Vec::new(), Vec::new());
        let mut code = 0;
        for (place, loaded) in loaded.into_iter().enumerate() {
            plugins.push(loaded.plugin);
            code = code::hash(code, &loaded.code.to_le_bytes());
            for callable in loaded.rows {
                if let Some(known) = catalogue.add(callable.row.clone()) {
                    return Err(RulesError::Twice {
                        profile: origin.into(),
                        id: known.id.clone(),
                    });
                }
                rows.push((place, callable));
            }
        }
        profile.check(&catalogue, origin)?;
        let known: Vec<&Row> = rows.iter().map(|(_, callable)| &callable.row).collect();
        let texts = tried.map_or_else(Vec::new, |tried| tried.texts(&profile.online, &known));
        let named: Result<Vec<_>, TriedError> = texts.iter().map(|text| tried::parse(text, &known)).collect();
        let named = named?;
        let mut implementations = Implementations {
            rows,
            taken: Vec::new(),
        };
        for rule in &profile.rules {
            implementations.take(&rule.implementation);
        }
        let tried = named.into_iter();
        let tried = tried.filter_map(|(id, values)| Some((implementations.take(&id)?, values)));
        Ok(Rules {
            plugins,
            tried: tried.collect(),
            implementations: implementations.taken,
            code,
            profile,
        })
    }

    /// The library that the profile was tuned for.
    pub(crate) fn library(&self) -> &str {
        &self.profile.library
    }

    /// True if it takes more than the number of ranks to tell which rules hold for a communicator of so many.
    pub(crate) fn ask_for_nodes(&self, ranks: usize) -> bool {
        self.profile.asks_for_nodes(ranks)
    }

    /// The implementations for communicators whose ranks lie so, by size.
    pub(crate) fn table(&'static self, placement: &Placement) -> Table<Action> {
        let action = |_: Collective, entry: &Entry| {
            let named = |implementation: &&Implementation| implementation.id() == entry.implementation;
            let implementation = self.implementations.iter().find(named);
            // Every rule's implementation was found when the profile was checked.
            implementation.ok_or(()).map(|implementation| Action {
                implementation,
                parameters: parameters(entry, &implementation.callable.row),
            })
        };
        let table = Table::compile(&self.profile, placement).try_map(action);
        table.unwrap_or_else(|()| Table::nothing())
    }

    /// The rows that are tried online beside those of the rules.
    pub(crate) fn tried(&'static self) -> impl Iterator<Item = Action> {
        self.tried.iter().map(|(place, parameters)| Action {
            implementation: &self.implementations[*place],
            parameters: parameters.clone(),
        })
    }
}

/// Rows of the plugins, and those of them that are needed.
struct Implementations {
    rows: Vec<(usize, Callable)>,
    taken: Vec<Implementation>,
}

impl Implementations {
    /// Takes a row, if it is there: once, and later uses find it among those that were taken. Its place there.
    fn take(&mut self, id: &str) -> Option<usize> {
        if let Some(place) = self.taken.iter().position(|taken| taken.id() == id) {
            return Some(place);
        }
        let found = self.rows.iter().position(|(_, callable)| callable.row.id == id)?;
        let (plugin, callable) = self.rows.swap_remove(found);
        self.taken.push(Implementation {
            callable,
            plugin,
            calls: AtomicU64::new(0),
            inside: AtomicU64::new(0),
            would_run: AtomicU64::new(0),
        });
        Some(self.taken.len() - 1)
    }
}

/// The path of this library, as the dynamic linker knows it.
fn own_path() -> PathBuf {
    static IN_THE_DROPIN: u8 = 0;
    // SAFETY: the structure is written where the object is found; its name is then a string that lives as long as the object.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr((&raw const IN_THE_DROPIN).cast(), &raw mut info);
        if found == 0 || info.dli_fname.is_null() {
            return PathBuf::from("libkilter.so");
        }
        CStr::from_ptr(info.dli_fname)
    };
    let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    path.canonicalize().unwrap_or(path)
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
