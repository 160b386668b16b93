//! The needs of a row, and the calls that meet them.

use kilter_abi::Arguments;
use kilter_algorithms::Collective;
use kilter_mpi::layout::Layout;
use kilter_mpi::{constants, info};
use kilter_protocol::row::Needs;

/// True if a row with these needs may carry the call out on so many ranks. Only facts that all ranks share decide.
#[must_use]
pub fn suits(needs: Needs, collective: Collective, arguments: &Arguments, (size, one_node): (usize, bool)) -> bool {
    if needs.unmet(size, arguments.bytes, one_node).is_some() {
        return false;
    }
    if !collective.has_operator() {
        return true;
    }
    let commutes = || info::is_commutative(arguments.op).unwrap_or(false);
    let separable = || Layout::of(arguments.recv_type).is_ok_and(|layout| layout.is_separable());
    if (needs.commutative && !commutes()) || !separable() {
        return false;
    }
    // The same on all ranks, as MPI has it: the operator and the count.
    let pads = || i64::try_from(size).map_or(true, |size| arguments.recv_count % size != 0);
    !(needs.predefined_operator && pads() && !constants::predefined_ops().contains(&arguments.op))
}
