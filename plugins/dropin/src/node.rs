//! The node on which this process runs.

use kilter_host::code;
use kilter_mpi::info;

/// The same on ranks that share a node's memory, and no others: containers of one node with names of their own count as nodes of their own.
pub(crate) fn node() -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    code::hash(code::hash(1, &boot), info::host_name().unwrap_or_default().as_bytes())
}
