//! Serde form of a [`Collective`]: its name.

use kilter_algorithms::Collective;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes the name.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(collective: &Collective, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(collective.name())
}

/// Reads a name.
///
/// # Errors
/// An unknown name, with the allowed ones.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Collective, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}
