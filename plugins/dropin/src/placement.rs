//! The nodes of a communicator's ranks, where a rule asks for them.

use kilter_mpi::MPI_Comm;
use kilter_profile::Placement;

use crate::rules::Rules;
use crate::started::Started;
use crate::tell;

/// The placement of a communicator's ranks, the same on all of them. Ranks tell each other their nodes only where a rule for so many of them
/// asks for that and they are on several; else a placement of these ranks is given for which the same rules hold. `None`: they could not tell.
///
/// # Safety
/// All ranks of the intracommunicator, which has so many, make this call, and they follow the same profile.
pub(crate) unsafe fn of(
    comm: MPI_Comm,
    (ranks, one_node): (usize, bool),
    started: &'static Started,
) -> Option<Placement> {
    let asks = |rules: &Rules| rules.ask_for_nodes(ranks);
    if one_node || !started.rules.as_ref().is_ok_and(asks) {
        return Some(Placement::even(1, ranks));
    }
    // SAFETY: by this function's contract.
    let nodes = unsafe { tell::gather(comm, [started.node], ranks) }.ok()?;
    Placement::of(nodes)
}
