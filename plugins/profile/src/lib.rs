//! The profile: which implementation the drop-in runs for which call. JSON, versioned, schema generated from these types.
//!
//! Lookup is total: where no rule matches, the library's own collective runs. Two rules of one collective match no call together, unless the
//! profile says that the first one holds ([`Order`]). Nothing in a profile is ever executed; `plugins` are paths of shared objects that must
//! belong to the user or root.
//!
//! * [`Profile::parse`] reads and checks a text; [`Profile::read`] and [`Profile::check`] are its two halves, between which a
//!   program loads the plugins that the profile names and adds their rows to the [`Catalogue`].
//! * [`Communicators`] says for which communicators a rule holds, [`Placement`] how the ranks of one lie.
//! * [`Table`] is a profile compiled for one communicator.
//!
//! A profile of version 1 is read as well ([`version_1`]): its rules state the number of ranks alone.

mod catalogue;
mod check;
mod communicators;
mod error;
mod table;
#[cfg(test)]
mod tests;
pub mod trust;
mod unique;
mod version_1;

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use catalogue::Catalogue;
pub use communicators::{Bounds, Communicators, MOST_SIZES, Placement};
pub use error::{Problem, ProfileError};
pub use table::{Entry, Table};

/// Version of the format.
pub const VERSION: u32 = 2;

/// A profile as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of the format.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// Library and version string the profile was tuned for; the drop-in follows it there.
    pub library: String,
    /// Shared objects with algorithms, absolute or relative to the profile's directory.
    #[schemars(inner(length(min = 1)))]
    pub plugins: Vec<String>,
    /// Order of rules that match one call; without it, such rules are a mistake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// Rows that are tried beside those of the rules where the drop-in selects in the running program (`KILTER_ONLINE`), such as
    /// `allreduce.ring` or, with values of its parameters, `scan.pipelined_chain@8192`. Only those whose results were verified on this library belong here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub online: Vec<String>,
}

/// Order of rules that match one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The one that stands first in the profile holds.
    First,
}

/// Run this implementation for this collective on these communicators for this many bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name, such as `reduce`.
    #[schemars(extend("enum" = Collective::of_several_ranks().map(Collective::name).collect::<Vec<_>>()))]
    pub collective: String,
    /// The communicators for which it holds.
    pub communicators: Communicators,
    /// Smallest total volume `n`, inclusive, in bytes; 0 where not all ranks know the volume (alltoallv, barrier, gatherv,
    /// scatterv).
    pub min_bytes: u64,
    /// Largest total volume `n`, inclusive, in bytes; 18446744073709551615 where not all ranks know the volume.
    pub max_bytes: u64,
    /// Id of a registered algorithm (`reduce.ring`) or mock-up (`reduce.as_allreduce`), or of a plugin's row.
    pub implementation: String,
    /// Parameters of the algorithm by name; defaults where absent.
    #[serde(
        default,
        deserialize_with = "unique::map",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub parameters: BTreeMap<String, u64>,
}

impl Rule {
    /// The collective, if it is one that the drop-in replaces.
    #[must_use]
    pub fn collective(&self) -> Option<Collective> {
        Collective::of_several_ranks().find(|collective| collective.name() == self.collective)
    }
}

impl Profile {
    /// Reads and checks a profile whose implementations are Kilter's own; `origin` is named in errors. Errors are those
    /// of [`Profile::read`] and [`Profile::check`].
    pub fn parse(text: &str, origin: &str) -> Result<Profile, ProfileError> {
        let profile = Profile::read(text, origin)?;
        profile.check(&Catalogue::built_in(), origin)?;
        Ok(profile)
    }

    /// The same where plugins that the profile names beside Kilter's cannot be loaded: what only they know is not checked
    /// ([`Catalogue::trusting`]).
    pub fn parse_trusting(text: &str, origin: &str) -> Result<Profile, ProfileError> {
        let profile = Profile::read(text, origin)?;
        profile.check(&Catalogue::trusting(&profile), origin)?;
        Ok(profile)
    }

    /// Reads a profile without checking the meaning of its rules. An error if it is no JSON, has a key that is unknown,
    /// missing or there twice (with line and column), or has another version.
    pub fn read(text: &str, origin: &str) -> Result<Profile, ProfileError> {
        let fail = |problem| ProfileError {
            origin: origin.to_owned(),
            problem,
        };
        // The version first: a later format may have other keys, and its reader should hear of the version, not of a key.
        match serde_json::from_str(text) {
            Ok(VersionOnly { version }) if version == u64::from(version_1::VERSION) => {
                version_1::read(text).map_err(fail)
            }
            Ok(VersionOnly { version }) if version != u64::from(VERSION) => {
                Err(fail(Problem::Version { got: version }))
            }
            _ => serde_json::from_str(text).map_err(|error| fail(Problem::Json(error))),
        }
    }

    /// True if it takes more than the number of ranks to tell which rules hold for a communicator of so many.
    #[must_use]
    pub fn asks_for_nodes(&self, ranks: usize) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.communicators.states_nodes() && rule.communicators.may_have(ranks))
    }

    /// The text of the profile, as [`Profile::read`] takes it.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The JSON schema of the format.
    pub fn schema() -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(&schemars::schema_for!(Profile))? + "\n")
    }
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u64,
}
