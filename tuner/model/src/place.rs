//! Place of a job, as far as guidelines depend on it, and the volumes that are measured there.

use kilter_algorithms::Collective;
use kilter_protocol::expression::Side;
use kilter_protocol::task::Functionality;

/// Properties of the job that the plan depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of ranks.
    pub ranks: usize,
    /// Size of an element that is combined, in bytes. Data that is only moved is counted in bytes.
    pub element_bytes: u64,
    /// True if the ranks are on several nodes.
    pub several_nodes: bool,
    /// True if each rank is known to be on a node of its own.
    pub each_alone: bool,
}

impl Place {
    /// Ranks of one node, elements of one byte.
    #[must_use]
    pub fn on_one_node(ranks: usize) -> Place {
        Place {
            ranks,
            element_bytes: 1,
            several_nodes: false,
            each_alone: false,
        }
    }

    /// Volume at which a plain collective is measured if `bytes` are requested.
    #[must_use]
    pub fn volume(&self, collective: Collective, bytes: u64) -> u64 {
        measured_bytes(
            bytes,
            self.unit_bytes(&Side::of(collective), Functionality::Function(collective)),
        )
    }

    /// Divisor of the volume of a side, in bytes, where it carries out a task of this functionality.
    #[must_use]
    pub fn unit_bytes(&self, side: &Side, functionality: Functionality) -> u64 {
        let element_bytes = if functionality.has_operator() {
            self.element_bytes
        } else {
            1
        };
        side.unit_bytes(self.ranks as u64, element_bytes)
    }
}

/// Rounds up to a multiple of `unit` bytes.
#[must_use]
pub fn measured_bytes(bytes: u64, unit: u64) -> u64 {
    bytes.next_multiple_of(unit.max(1))
}
