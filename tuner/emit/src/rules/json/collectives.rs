//! The rules of a file by the names of collectives, which are numbers to everybody else.

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ForRanks, NAMES, name};

/// The rules of each collective, by its number.
pub(super) struct Collectives(pub(super) Vec<(u64, Vec<ForRanks>)>);

impl Serialize for Collectives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(id, ranges)| (name(*id).unwrap_or_default(), ranges)),
        )
    }
}

impl<'de> Deserialize<'de> for Collectives {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Collectives, D::Error> {
        deserializer.deserialize_map(ByName)
    }
}

/// Reads the collectives; of one that stands there twice the library would forget the first.
struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = Collectives;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the rules of each collective by its name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Collectives, A::Error> {
        let mut all: Vec<(u64, Vec<ForRanks>)> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let id = (0..).zip(NAMES).find(|(_, name)| *name == key).map(|(id, _)| id);
            let id =
                id.ok_or_else(|| A::Error::custom(format!("`{key}` is no collective; allowed: {}", NAMES.join(", "))))?;
            if all.iter().any(|(seen, _)| *seen == id) {
                return Err(A::Error::custom(format!(
                    "`{key}` stands there twice; put its rules together"
                )));
            }
            all.push((id, map.next_value()?));
        }
        Ok(Collectives(all))
    }
}
