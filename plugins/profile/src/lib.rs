//! The profile: which implementation the drop-in runs for which call. JSON, versioned, schema generated from these types.
//!
//! Lookup is total: where no rule matches, the library's own collective runs. Rules of one (collective, ranks) pair do not
//! overlap. Nothing in a profile is ever executed; `plugins` are paths of shared objects that must belong to the user or root.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the format.
pub const VERSION: u32 = 1;

/// A profile as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`VERSION`].
    pub version: u32,
    /// Library and version string the profile was tuned for; the drop-in warns when it differs.
    pub library: String,
    /// Shared objects with algorithms, absolute or relative to the profile's directory.
    pub plugins: Vec<String>,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// Run this implementation for this collective on communicators of this size for this many bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name, such as `reduce`.
    pub collective: String,
    /// Exact number of ranks of the communicator.
    pub ranks: usize,
    /// Smallest total volume `n`, inclusive, in bytes.
    pub min_bytes: u64,
    /// Largest total volume `n`, inclusive, in bytes.
    pub max_bytes: u64,
    /// Id of a registered algorithm (`reduce.ring`) or mock-up (`reduce.as_allreduce`).
    pub implementation: String,
    /// Parameters of the algorithm by name; defaults where absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, u64>,
}

impl Rule {
    /// The collective, if the name is known.
    #[must_use]
    pub fn collective(&self) -> Option<Collective> {
        self.collective.parse().ok()
    }
}
