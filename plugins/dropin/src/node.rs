//! The node on which this process runs, and how the ranks of a communicator lie on nodes.

use kilter_host::code;
use kilter_mpi::{MPI_Comm, info};
use kilter_profile::Placement;

use crate::started::Started;
use crate::tell;

/// The same on ranks that share a node's memory, and no others: containers of one node with names of their own count as nodes of their own.
pub(crate) fn node() -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    code::hash(code::hash(1, &boot), info::host_name().unwrap_or_default().as_bytes())
}

/// How the ranks of a communicator lie, the same on all of them. Ranks tell each other their nodes only where a rule for so many of them
/// asks for that and they are on several; else a placement of these ranks is given for which the same rules hold. `None`: they could not tell.
///
/// # Safety
/// All ranks of the intracommunicator, which has so many, make this call, and they follow the same profile.
pub(crate) unsafe fn placement(
    comm: MPI_Comm,
    (ranks, one_node): (usize, bool),
    started: &'static Started,
) -> Option<Placement> {
    let asks = |rules: &crate::rules::Rules| rules.ask_for_nodes(ranks);
    if one_node || !started.rules.as_ref().is_ok_and(asks) {
        return Some(Placement::even(1, ranks));
    }
    // SAFETY: by this function's contract.
    let nodes = unsafe { tell::gather(comm, [started.node], ranks) }.ok()?;
    Placement::of(nodes)
}
