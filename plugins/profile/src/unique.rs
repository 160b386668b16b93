//! A JSON object whose keys must differ: serde's maps keep the last of two equal keys without a word.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// Reads an object of unsigned numbers.
pub(crate) fn map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, u64>, D::Error> {
    deserializer.deserialize_map(Unique)
}

struct Unique;

impl<'de> Visitor<'de> for Unique {
    type Value = BTreeMap<String, u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of parameter names and whole numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((name, value)) = access.next_entry::<String, u64>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate parameter `{name}`")));
            }
            map.insert(name, value);
        }
        Ok(map)
    }
}
