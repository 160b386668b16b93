//! Reasons why a profile cannot be used.

use kilter_algorithms::Collective;

use crate::communicators::Communicators;
use crate::{VERSION, version_1};

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("profile {origin}: {problem}")]
pub struct ProfileError {
    /// The file.
    pub origin: String,
    /// The mistake.
    pub problem: Problem,
}

/// Mistake in a profile. Rules are counted from 0, as in `rules[0]`.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It does not have the form of a profile.
    #[error("{0}")]
    Json(serde_json::Error),
    /// It has another version.
    #[error(
        "version {got} is not supported; allowed: {}, {VERSION}; let this version of Kilter write the profile again",
        version_1::VERSION
    )]
    Version {
        /// The version it has.
        got: u64,
    },
    /// The path of a plugin cannot be one.
    #[error("plugins[{index}]: {path:?} is no path; give the path of a shared object")]
    Plugin {
        /// Index of the path.
        index: usize,
        /// Path as written.
        path: String,
    },
    /// The drop-in does not replace this collective.
    #[error(
        "rules[{rule}].collective: `{name}` is not a collective that can be replaced; allowed: {}",
        replaceable()
    )]
    Collective {
        /// Index of the rule.
        rule: usize,
        /// Name as written.
        name: String,
    },
    /// No communicator has so many ranks or nodes.
    #[error("rules[{rule}].{key}: {number}; allowed: 1 to {}", i32::MAX)]
    Ranks {
        /// Index of the rule.
        rule: usize,
        /// Key of the number.
        key: String,
        /// Number as written.
        number: usize,
    },
    /// The rule holds for no communicator.
    #[error(
        "rules[{rule}].communicators: there is no communicator of {communicators}; exchange `min` and `max`, or state fewer of \
         `ranks`, `nodes` and `ranks_per_node`"
    )]
    NoCommunicator {
        /// Index of the rule.
        rule: usize,
        /// Communicators as written.
        communicators: Box<Communicators>,
    },
    /// The range of bytes has no member.
    #[error("rules[{rule}]: min_bytes {min} is above max_bytes {max}; exchange them, or remove the rule")]
    Empty {
        /// Index of the rule.
        rule: usize,
        /// `min_bytes`.
        min: u64,
        /// `max_bytes`.
        max: u64,
    },
    /// The rule is for some volumes of a collective whose volume not every rank knows.
    #[error(
        "rules[{rule}]: not every rank of a call knows the volume of {collective}, so that a rule cannot depend on it; \
         set min_bytes to 0 and max_bytes to {}",
        u64::MAX
    )]
    Volume {
        /// Index of the rule.
        rule: usize,
        /// Its collective.
        collective: Collective,
    },
    /// The id is unknown.
    #[error(
        "rules[{rule}].implementation: `{id}` is unknown; known for {collective}: {}",
        list(known)
    )]
    Implementation {
        /// Index of the rule.
        rule: usize,
        /// Id as written.
        id: String,
        /// The collective of the rule.
        collective: Collective,
        /// Ids that would do.
        known: Vec<String>,
    },
    /// The implementation is one of another collective.
    #[error(
        "rules[{rule}].implementation: `{id}` carries out {of}, not {collective}; known for {collective}: {}",
        list(known)
    )]
    OtherCollective {
        /// Index of the rule.
        rule: usize,
        /// Id as written.
        id: String,
        /// Collective that it carries out.
        of: Collective,
        /// The collective of the rule.
        collective: Collective,
        /// Ids that would do.
        known: Vec<String>,
    },
    /// The implementation never runs on so many ranks.
    #[error("rules[{rule}]: `{id}` needs a power of two ranks, not {ranks}; choose another implementation")]
    PowerOfTwo {
        /// Index of the rule.
        rule: usize,
        /// The implementation.
        id: String,
        /// The numbers of ranks for which the rule holds.
        ranks: Numbers,
    },
    /// The implementation never runs on an odd number of ranks.
    #[error("rules[{rule}]: `{id}` needs an even number of ranks, not {ranks}; choose another implementation")]
    Even {
        /// Index of the rule.
        rule: usize,
        /// The implementation.
        id: String,
        /// The numbers of ranks for which the rule holds.
        ranks: Numbers,
    },
    /// The implementation has no such parameter.
    #[error(
        "rules[{rule}].parameters: `{id}` has no parameter `{name}`; allowed: {}",
        list(known)
    )]
    Parameter {
        /// Index of the rule.
        rule: usize,
        /// The implementation.
        id: String,
        /// Name in the rule.
        name: String,
        /// The names it has.
        known: Vec<String>,
    },
    /// The value of a parameter is out of range.
    #[error("rules[{rule}].parameters.{name}: {value} is out of range; allowed for `{id}`: {min} to {max}")]
    Value {
        /// Index of the rule.
        rule: usize,
        /// The implementation.
        id: String,
        /// The parameter.
        name: String,
        /// Value in the rule.
        value: u64,
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
    },
    /// Two rules answer one call.
    #[error(
        "rules[{first}] and rules[{second}] overlap for {collective} on {communicators}: both match {from} to {to} bytes; \
         shorten one of them, or let the profile say `\"order\": \"first\"`, by which the first one holds"
    )]
    Overlap {
        /// The earlier in the profile.
        first: usize,
        /// The later.
        second: usize,
        /// The collective of both.
        collective: Collective,
        /// The communicators of both.
        communicators: Box<Communicators>,
        /// Smallest volume in both, in bytes.
        from: u64,
        /// Largest volume in both, in bytes.
        to: u64,
    },
}

/// Numbers from the first to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers(pub usize, pub usize);

impl std::fmt::Display for Numbers {
    /// `6`, `6 to 8`, `6 and more`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Numbers(least, most) if least == most => write!(f, "{least}"),
            Numbers(least, usize::MAX) => write!(f, "{least} and more"),
            Numbers(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

fn replaceable() -> String {
    Collective::of_several_ranks()
        .map(Collective::name)
        .collect::<Vec<_>>()
        .join(", ")
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
