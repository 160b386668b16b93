//! What a worker says of a plugin: `kilter-worker rows FILE` prints a [`Rows`] as one line of JSON. The tuner, which links no MPI
//! library, cannot load one itself.

use serde::{Deserialize, Serialize};

/// The rows of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// [`crate::VERSION`].
    pub v: u32,
    /// In the plugin's order.
    pub rows: Vec<Row>,
}

/// A row of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its id, such as `bcast.example_chain`.
    pub id: String,
    /// Kilter's name of the collective.
    pub collective: String,
    /// What it needs of a call.
    pub needs: Needs,
    /// Its tunables.
    pub parameters: Vec<Parameter>,
}

/// What a row needs of a call; that an operator commutes is true of all that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Needs {
    /// The number of ranks is a power of two.
    pub power_of_two_ranks: bool,
    /// The number of ranks is even.
    pub even_ranks: bool,
    /// The volume is counted by an int.
    pub int_volume: bool,
    /// All ranks are on one node.
    pub one_node: bool,
}

/// A tunable of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// As in profiles.
    pub name: String,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// Value where nothing is said.
    pub default: u64,
}

impl Needs {
    /// Why a call does not suit; `None` where it does.
    #[must_use]
    pub fn unmet(self, p_ranks: usize, n_bytes: u64, one_node: bool) -> Option<&'static str> {
        if self.power_of_two_ranks && !p_ranks.is_power_of_two() {
            Some("its number of ranks must be a power of two")
        } else if self.even_ranks && !p_ranks.is_multiple_of(2) {
            Some("its number of ranks must be even")
        } else if self.int_volume && i32::try_from(n_bytes).is_err() {
            Some("its volume must be one that an int counts")
        } else if self.one_node && !one_node {
            Some("all ranks must be on one node")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Needs;

    #[test]
    fn a_call_that_does_not_suit_is_named() {
        let none = Needs::default();
        assert_eq!(none.unmet(3, u64::MAX, false), None);
        let all = Needs {
            power_of_two_ranks: true,
            even_ranks: true,
            int_volume: true,
            one_node: true,
        };
        assert_eq!(all.unmet(4, 8, true), None);
        for (ranks, bytes, one_node, part) in [
            (6, 8, true, "power of two"),
            (1, 8, true, "even"),
            (4, 1 << 31, true, "int"),
            (4, 8, false, "one node"),
        ] {
            assert!(all.unmet(ranks, bytes, one_node).unwrap().contains(part), "{part}");
        }
    }
}
