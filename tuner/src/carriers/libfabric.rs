//! libfabric's providers, as an MPI library names them, or by libfabric's log of those that connect:
//!
//! ```text
//! libfabric provider: tcp;ofi_rxm - 192.0.2.0/24
//! libfabric:123:1795640042::ofi_rxm:ep_ctrl:rxm_process_connreq():678<info> connreq for 0x5603bca1eea0
//! libfabric:123:1795640042::tcp:fabric:ofi_wait_del_fd():208<info> Given fd (25) not found in wait list - 0x5603bca14340
//! ```
//!
//! Every provider prints while it is asked what it could do; only those in use connect peers and wait for sockets.

use super::Names;

/// Begins what MPICH and Intel MPI say.
const NAMED: &str = "libfabric provider: ";

pub(super) fn read(text: &str) -> Names {
    let named = text.lines().find_map(|line| Some(line.split_once(NAMED)?.1));
    if let Some(named) = named {
        let name = named.split_whitespace().next().unwrap_or_default();
        return name.split(';').map(str::to_owned).collect();
    }
    text.lines().filter_map(connecting).collect()
}

/// The provider of a line of the log, if the line shows that it is in use.
fn connecting(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("libfabric:")?.1.split_once("::")?;
    let mut words = rest.split(':');
    let (provider, subsystem, function) = (words.next()?, words.next()?, words.next()?);
    let is_address = function.contains("resolve_addr");
    let connects = subsystem == "ep_ctrl" && !is_address || subsystem == "fabric" && function.starts_with("ofi_wait_");
    connects.then(|| provider.to_owned())
}
