//! The deployment for the calls inside an item.

use kilter_algorithms::Collective;
use serde::{Deserialize, Serialize};

use crate::row::by_name;

/// A row of Kilter's own that calls of a collective run, as a rule of a profile would say.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Deployed {
    /// The collective that is called.
    #[serde(with = "by_name")]
    pub collective: Collective,
    /// Smallest total volume, inclusive, in bytes.
    pub min_bytes: u64,
    /// Largest total volume, inclusive, in bytes.
    pub max_bytes: u64,
    /// The row's id.
    pub id: String,
    /// One value per parameter of the row.
    pub parameters: Vec<u64>,
}

impl Deployed {
    /// True if it is about such a call. Of several in a list, the first one answers.
    #[must_use]
    pub fn answers(&self, collective: Collective, bytes: u64) -> bool {
        self.collective == collective && (self.min_bytes..=self.max_bytes).contains(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Implementation, Item};

    #[test]
    fn an_item_says_what_is_deployed_only_where_something_is() {
        let mut item = Item {
            id: "a".to_owned(),
            task: Collective::Reduce.into(),
            bytes: 64,
            implementation: Implementation::Algorithm {
                id: "reduce.as_allreduce".to_owned(),
                parameters: Vec::new(),
            },
            settings: Vec::new(),
            arrival: None,
            deployed: Vec::new(),
        };
        let text = serde_json::to_string(&item).unwrap();
        assert!(!text.contains("deployed"), "{text}");
        assert_eq!(serde_json::from_str::<Item>(&text).unwrap(), item);
        item.deployed.push(Deployed {
            collective: Collective::Allreduce,
            min_bytes: 64,
            max_bytes: 64,
            id: "allreduce.ring".to_owned(),
            parameters: Vec::new(),
        });
        let text = serde_json::to_string(&item).unwrap();
        assert!(text.contains(r#""collective":"allreduce""#), "{text}");
        assert_eq!(serde_json::from_str::<Item>(&text).unwrap(), item);
        let rule = &item.deployed[0];
        assert!(rule.answers(Collective::Allreduce, 64) && !rule.answers(Collective::Allreduce, 65));
        assert!(!rule.answers(Collective::Reduce, 64));
    }
}
