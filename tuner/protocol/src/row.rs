//! The description of a row: an implementation of a collective that the drop-in can run, be it an algorithm, a mock-up or a plugin's.
//!
//! Kilter's own rows are described by tables (`kilter_algorithms`), and all of them by structures of the plugin ABI (`kilter_abi`). Whatever
//! else speaks of a row speaks of a [`Row`].

use kilter_algorithms::closing::Closing;
use kilter_algorithms::mockup::Mockup;
use kilter_algorithms::scratch::ELEMENT_BYTES;
use kilter_algorithms::{Algorithm, Collective, Need};
use serde::{Deserialize, Serialize};

/// The rows of a plugin: `kilter-worker rows FILE` prints them as one line of JSON. The tuner, which links no MPI library, cannot load a
/// plugin itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// [`crate::VERSION`].
    pub v: u32,
    /// The rows, in the plugin's order.
    pub rows: Vec<Row>,
}

crate::json_line::json_lines![Rows];

/// A row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Row {
    /// The row's id, such as `bcast.example_chain`.
    pub id: String,
    /// The collective that it implements.
    #[serde(with = "by_name")]
    pub collective: Collective,
    /// Needs that a call must meet.
    pub needs: Needs,
    /// Its tunables.
    pub parameters: Vec<Parameter>,
    /// Scratch memory that it keeps, if it says so. Kilter's own rows do not: their tables say it more closely.
    #[serde(default)]
    pub scratch: Option<Scratch>,
}

/// Needs of a row that a call must meet: the bits of `kilter_algorithm.needs`, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Needs {
    /// The operator commutes.
    pub commutative: bool,
    /// The operator is one of MPI's own, or the number of elements a multiple of the ranks: the row pads with elements that an operator of the
    /// program's must not see.
    pub predefined_operator: bool,
    /// The number of ranks is a power of two.
    pub power_of_two_ranks: bool,
    /// The number of ranks is even.
    pub even_ranks: bool,
    /// The volume is counted by an int.
    pub int_volume: bool,
    /// All ranks are on one node.
    pub one_node: bool,
}

/// Scratch memory of a row on the rank that needs most: at most the sum of these. `kilter_scratch` of `kilter_plugin.h`.
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

/// The parameter of Kilter's rows that says how many ranks of each node carry a piece of the data.
pub const LANES: &str = "lanes";

impl Scratch {
    /// Bytes of scratch for calls of a volume.
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Parameter {
    /// The name in profiles.
    pub name: String,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// Value where nothing is said.
    pub default: u64,
}

impl Row {
    /// The default of each parameter.
    #[must_use]
    pub fn default_parameters(&self) -> Vec<u64> {
        self.parameters.iter().map(|parameter| parameter.default).collect()
    }
}

impl From<&Algorithm> for Row {
    fn from(algorithm: &Algorithm) -> Row {
        Row {
            id: algorithm.id.to_owned(),
            collective: algorithm.collective,
            needs: algorithm.needs.iter().copied().collect(),
            parameters: algorithm.parameters.iter().map(Parameter::from).collect(),
            scratch: None,
        }
    }
}

impl From<&Mockup> for Row {
    fn from(mockup: &Mockup) -> Row {
        Row {
            id: mockup.id.to_owned(),
            collective: mockup.collective,
            needs: Needs {
                // They call the library's functions with int counts.
                int_volume: true,
                commutative: mockup.needs_commutative(),
                predefined_operator: mockup.pads_for_operator(),
                ..Needs::default()
            },
            parameters: Vec::new(),
            scratch: None,
        }
    }
}

impl From<&Closing> for Row {
    fn from(closing: &Closing) -> Row {
        Row {
            id: closing.id.to_owned(),
            collective: closing.collective,
            needs: Needs {
                // They call the library's functions with int counts where nothing is deployed.
                int_volume: true,
                ..Needs::default()
            },
            parameters: vec![Parameter::from(closing.way.parameter())],
            scratch: None,
        }
    }
}

impl From<&kilter_algorithms::Parameter> for Parameter {
    fn from(parameter: &kilter_algorithms::Parameter) -> Parameter {
        Parameter {
            name: parameter.name.to_owned(),
            min: parameter.min,
            max: parameter.max,
            default: parameter.default,
        }
    }
}

impl FromIterator<Need> for Needs {
    fn from_iter<I: IntoIterator<Item = Need>>(of_row: I) -> Needs {
        let mut needs = Needs::default();
        for need in of_row {
            match need {
                Need::Commutative => needs.commutative = true,
                Need::PowerOfTwoRanks => needs.power_of_two_ranks = true,
                Need::EvenRanks => needs.even_ranks = true,
                Need::OneNode => needs.one_node = true,
            }
        }
        needs
    }
}

/// A collective as its name.
pub(crate) mod by_name {
    use kilter_algorithms::Collective;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(collective: &Collective, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(collective.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Collective, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Needs {
    /// The reason why a call does not suit, whatever its operator; `None` if it does.
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
    use kilter_algorithms::{Collective, closing, mockup, registry};

    use super::{Needs, Row, Scratch};

    #[test]
    fn a_row_survives_its_json_and_names_its_collective() {
        let rows = registry::algorithms()
            .map(Row::from)
            .chain(mockup::MOCKUPS.iter().map(Row::from))
            .chain(closing::CLOSING.iter().map(Row::from));
        for row in rows {
            let text = serde_json::to_string(&row).unwrap();
            assert!(
                text.contains(&format!("\"collective\":\"{}\"", row.collective)),
                "{text}"
            );
            assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
        }
        let unknown = serde_json::from_str::<Row>(r#"{"id":"broadcast.a","collective":"broadcast"}"#);
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .contains("`broadcast` is not a collective")
        );
    }

    #[test]
    fn the_tables_of_kilter_say_what_their_rows_need() {
        let ring = Row::from(registry::find("reduce.ring").unwrap());
        assert_eq!(ring.collective, Collective::Reduce);
        assert!(ring.needs.commutative && !ring.needs.one_node);
        let chain = registry::find("reduce.pipelined_chain").unwrap();
        assert_eq!(Row::from(chain).default_parameters(), chain.default_parameters());
        let needs = |id: &str| Row::from(mockup::find(id).unwrap()).needs;
        let padded = needs("allreduce.as_reduce_scatter_block_allgather");
        assert!(padded.int_volume && padded.predefined_operator);
        assert!(!needs("bcast.as_scatter_allgather").predefined_operator);
        // Ranks of a node are combined before those of others, wherever they stand.
        assert!(
            needs("reduce.over_lanes").commutative && !needs("bcast.over_lanes").commutative && !padded.commutative
        );
    }

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
            ..none
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
