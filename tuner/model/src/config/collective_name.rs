//! Serde form of a [`Collective`], its name, and of a list of them.

use kilter_algorithms::Collective;
use serde::{Deserialize, Deserializer};

/// Reads a name. The error for an unknown one lists the allowed ones.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Collective, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}

/// Reads a list of names. The error for an unknown one lists the allowed ones.
pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Collective>, D::Error> {
    Vec::<String>::deserialize(deserializer)?
        .iter()
        .map(|name| name.parse().map_err(serde::de::Error::custom))
        .collect()
}
