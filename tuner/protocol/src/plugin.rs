//! What a worker says of a plugin: `kilter-worker rows FILE` prints a [`Rows`] as one line of JSON. The tuner, which links no MPI
//! library, cannot load one itself.

use kilter_algorithms::scratch::ELEMENT_BYTES;
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
    /// What it keeps of scratch, where it says so.
    #[serde(default)]
    pub scratch: Option<Scratch>,
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

/// What a row keeps of scratch on the rank that needs most: at most the sum of these. `kilter_scratch` of `kilter_plugin.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Scratch {
    /// Whatever the call.
    pub fixed_bytes: u64,
    /// Times the number of ranks.
    pub bytes_per_rank: u64,
    /// Times the volume.
    pub volumes: u64,
    /// Times a rank's block of it.
    pub blocks: u64,
    /// Times the row's parameter [`SEGMENT`].
    pub segments: u64,
}

/// The parameter of a row that cuts its messages.
pub const SEGMENT: &str = "segment_bytes";

impl Scratch {
    /// Its bytes for calls of a volume.
    #[must_use]
    pub fn bytes(self, p_ranks: usize, n_bytes: u64, segment_bytes: Option<u64>) -> u64 {
        let ranks = p_ranks.max(1) as u64;
        let block = n_bytes.div_ceil(ranks).checked_next_multiple_of(ELEMENT_BYTES as u64);
        [
            (self.bytes_per_rank, ranks),
            (self.volumes, n_bytes),
            (self.blocks, block.map_or(n_bytes, |block| block.min(n_bytes))),
            (
                self.segments,
                segment_bytes.map_or(n_bytes, |segment| segment.min(n_bytes)),
            ),
        ]
        .iter()
        .fold(self.fixed_bytes, |sum, (times, bytes)| {
            sum.saturating_add(times.saturating_mul(*bytes))
        })
    }
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
    use super::{Needs, Scratch};

    #[test]
    fn scratch_is_the_sum_of_what_is_kept() {
        let of = |scratch: Scratch| scratch.bytes(8, 1000, Some(64));
        let none = Scratch::default();
        assert_eq!(of(none), 0);
        let all = Scratch {
            fixed_bytes: 5,
            bytes_per_rank: 2,
            volumes: 1,
            blocks: 3,
            segments: 2,
        };
        // A block of 125 bytes is 4 elements of 32.
        assert_eq!(of(all), 5 + 2 * 8 + 1000 + 3 * 128 + 2 * 64);
        // Neither a block nor a segment is longer than the volume.
        assert_eq!(all.bytes(8, 10, Some(64)), 5 + 2 * 8 + 10 + 3 * 10 + 2 * 10);
        assert_eq!(Scratch { segments: 2, ..none }.bytes(8, 1000, None), 2000);
        assert_eq!(Scratch { volumes: 2, ..all }.bytes(1, u64::MAX, None), u64::MAX);
    }

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
