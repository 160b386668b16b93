//! Rows that close guidelines: a call split into smaller ones, or padded to a larger one, of the same collective.
//!
//! A mock-up is the right side of a pattern guideline as a row; these are the right sides of split-robustness (`f(n) <= k f(n / k)`) and of
//! monotony (`f(n) <= f(n + k)`). Their calls are carried out as they are deployed, so that what is deployed for another volume serves
//! this one as well.

use crate::{Collective, Parameter, scratch};

/// Change of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Calls on parts, one after the other.
    Split,
    /// One call on more data than there is.
    Padded,
}

impl Way {
    /// Both.
    pub const ALL: [Way; 2] = [Way::Split, Way::Padded];

    /// The row's one parameter: the total volume of the calls inside.
    #[must_use]
    pub fn parameter(self) -> &'static Parameter {
        match self {
            Way::Split => &PART_BYTES,
            Way::Padded => &TO_BYTES,
        }
    }
}

static PART_BYTES: Parameter = Parameter {
    name: "part_bytes",
    min: 1,
    max: 1 << 30,
    default: 4096,
    summary: "total volume of each call inside, rounded down to whole elements (at least one of each block)",
};

static TO_BYTES: Parameter = Parameter {
    name: "to_bytes",
    min: 1,
    max: 1 << 22,
    default: 4096,
    summary: "total volume of the call inside, rounded down to whole elements of equal blocks",
};

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// Stable id: `<collective>.split` or `<collective>.padded`.
    pub id: &'static str,
    /// The collective that it carries out, and that it calls.
    pub collective: Collective,
    /// The change of its volume.
    pub way: Way,
}

macro_rules! closing {
    ($($collective:ident $split:literal $padded:literal;)*) => {
        /// All of them, by collective.
        pub static CLOSING: &[Closing] = &[$(
            Closing { id: $split, collective: Collective::$collective, way: Way::Split },
            Closing { id: $padded, collective: Collective::$collective, way: Way::Padded },
        )*];
    };
}

closing! {
    Allgather "allgather.split" "allgather.padded";
    Allreduce "allreduce.split" "allreduce.padded";
    Alltoall "alltoall.split" "alltoall.padded";
    Bcast "bcast.split" "bcast.padded";
    Exscan "exscan.split" "exscan.padded";
    Gather "gather.split" "gather.padded";
    Reduce "reduce.split" "reduce.padded";
    ReduceScatter "reduce_scatter.split" "reduce_scatter.padded";
    ReduceScatterBlock "reduce_scatter_block.split" "reduce_scatter_block.padded";
    Scan "scan.split" "scan.padded";
    Scatter "scatter.split" "scatter.padded";
}

/// The row with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Closing> {
    CLOSING.iter().find(|row| row.id == id)
}

impl Closing {
    /// Elements of the calls inside, of each block or of the whole where there are no blocks; `None` if the row does not fit the call, which is
    /// then the library's. `count` are the elements of the call, of `element_bytes` of data each, and `value` is the row's parameter: what all ranks
    /// know alike.
    #[must_use]
    pub fn inside(&self, (p_ranks, count, element_bytes): (usize, usize, usize), value: u64) -> Option<usize> {
        let blocks = if self.collective.has_blocks() {
            p_ranks.max(1)
        } else {
            1
        };
        let own = count / blocks;
        let wanted = usize::try_from(value).unwrap_or(usize::MAX) / element_bytes.max(1) / blocks;
        match self.way {
            Way::Split => Some(wanted.max(1)).filter(|inside| *inside < own),
            Way::Padded => Some(wanted).filter(|inside| *inside > own && own > 0),
        }
    }

    /// Bytes that a communicator keeps for its calls with `n_bytes` of contiguous data, at most, on the rank that needs most; what the
    /// calls inside take is not counted.
    #[must_use]
    pub fn scratch(&self, p_ranks: usize, n_bytes: usize, value: u64) -> usize {
        let value = usize::try_from(value).unwrap_or(usize::MAX);
        let row_bytes = p_ranks.saturating_mul(scratch::ELEMENT_BYTES);
        let is_smaller = value < n_bytes;
        match self.way {
            Way::Split if is_smaller && self.collective.has_blocks() => {
                scratch::kept(value.saturating_add(row_bytes)).saturating_mul(2)
            }
            Way::Padded if !is_smaller && n_bytes > 0 => scratch::kept(value).saturating_mul(2),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_collective_and_way() {
        for row in CLOSING {
            let way = match row.way {
                Way::Split => "split",
                Way::Padded => "padded",
            };
            assert_eq!(row.id, format!("{}.{way}", row.collective));
            assert_eq!(find(row.id), Some(row));
        }
        assert_eq!(CLOSING.len(), 22);
    }

    #[test]
    fn calls_inside_are_whole_elements_of_equal_blocks() {
        let inside = |id: &str, call, value| find(id).unwrap().inside(call, value);
        // 100 elements of 8 bytes: parts of 3.
        assert_eq!(inside("allreduce.split", (4, 100, 8), 31), Some(3));
        // A part is one element at least, and there are two parts at least.
        assert_eq!(inside("bcast.split", (4, 100, 8), 1), Some(1));
        assert_eq!(inside("bcast.split", (4, 1, 8), 1), None);
        assert_eq!(inside("scan.split", (4, 100, 8), 800), None);
        // Four blocks of 25 elements: a part has 6 of each.
        assert_eq!(inside("alltoall.split", (4, 100, 8), 200), Some(6));
        assert_eq!(inside("gather.split", (4, 100, 1), 1), Some(1));
        assert_eq!(inside("allreduce.padded", (4, 100, 8), 1000), Some(125));
        assert_eq!(inside("allreduce.padded", (4, 100, 8), 807), None);
        assert_eq!(inside("scatter.padded", (4, 100, 8), 900), Some(28));
        assert_eq!(inside("scatter.padded", (4, 100, 8), 831), None);
        assert_eq!(inside("scatter.padded", (4, 0, 8), 831), None);
    }
}
