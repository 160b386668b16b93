//! Sites of a communicator: calls that are compared with each other.

use kilter_algorithms::Collective;
use kilter_mpi::layout::Layout;
use kilter_mpi::{constants, info};

use crate::given::{Given, Number};
use crate::rules::Implementation;

/// The facts that all calls of a site have in common, the same on all ranks: an implementation is legal for all of its calls or for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) collective: Collective,
    /// Binary logarithm of the total volume, rounded down; 0 for a barrier.
    pub(crate) class: u8,
    /// True if the operator commutes.
    commutes: bool,
    /// True if padding would show the operator elements that the program does not have.
    must_not_pad: bool,
}

impl Key {
    /// The site of a call of so many bytes. `None` leaves the call to the library: its volume is not known on all ranks, or no implementation can
    /// combine its elements.
    #[inline]
    pub(crate) fn of<N: Number, D: Number>(
        collective: Collective,
        p_ranks: usize,
        given: &Given<N, D>,
        bytes: u64,
    ) -> Option<Key> {
        let mut key = Key {
            collective,
            class: bytes.checked_ilog2().unwrap_or(0) as u8,
            commutes: true,
            must_not_pad: false,
        };
        if !collective.has_operator() {
            return Some(key);
        }
        if given.op == constants::op_null() || given.recv_type == constants::datatype_null() {
            return None;
        }
        let is_predefined = constants::predefined_ops().contains(&given.op);
        if !is_predefined {
            key.commutes = info::is_commutative(given.op).unwrap_or(false);
            let count: i64 = given.recv_count.try_into().ok()?;
            key.must_not_pad = i64::try_from(p_ranks).map_or(true, |size| count % size != 0);
        }
        Layout::of(given.recv_type)
            .is_ok_and(|layout| layout.is_separable())
            .then_some(key)
    }

    /// True if an implementation may carry out all calls of the site.
    pub(crate) fn admits(self, implementation: &Implementation, (p_ranks, one_node): (usize, bool)) -> bool {
        let needs = implementation.needs();
        let row = &implementation.callable.row;
        row.collective == self.collective
            && (self.commutes || !needs.commutative)
            && (!self.must_not_pad || !needs.predefined_operator)
            // Volumes of class 30 are below 2^31.
            && (self.class < 31 || !needs.int_volume)
            && (one_node || !needs.one_node)
            && (p_ranks.is_power_of_two() || !needs.power_of_two_ranks)
            && (p_ranks.is_multiple_of(2) || !needs.even_ranks)
    }

    /// Smallest and largest volume of the class.
    pub(crate) fn bytes(self) -> (u64, u64) {
        if self.collective == Collective::Barrier {
            return (0, 0);
        }
        let smallest = 1_u64 << self.class;
        (smallest, smallest + (smallest - 1))
    }

    /// True if what is learnt here serves other jobs. Sites of operators that allow less have fewer candidates.
    pub(crate) fn is_usual(self) -> bool {
        self.commutes && !self.must_not_pad
    }
}

/// True if calls of this collective can be compared: all ranks know how much they move. A barrier moves nothing.
pub(crate) const fn is_comparable(collective: Collective) -> bool {
    collective.volume_is_known() || matches!(collective, Collective::Barrier)
}
