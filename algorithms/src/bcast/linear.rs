//! Linear broadcast: the root sends its data to every rank.
//!
//! Source: Pjesivac-Grbovic et al., Cluster Computing 10(2):127-143, 2007, doi:10.1007/s10586-007-0012-0.
//! Needs:  nothing. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   p-1 rounds of n bytes, at the root
//!         = (p-1)*alpha + (p-1)n*beta
//!         (n = bytes, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! No rank waits for another but the root: the fewest hops, for few ranks. For five ranks and root 1:
//!
//! ```text
//! round    0        1        2        3
//!          1 -> 2   1 -> 3   1 -> 4   1 -> 0
//! ```

use crate::overlap::send_each;
use crate::schedule::absolute;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "from the root straight to each rank (few ranks)",
    source: "Pjesivac-Grbovic et al. 2007, doi:10.1007/s10586-007-0012-0",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let messages = (p_ranks - 1) as f64;
    Cost {
        rounds: messages,
        bytes_sent: messages * n_bytes as f64,
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { output, root, .. } = arguments;
    let p = transport.size();
    if output.is_empty() {
        return Ok(());
    }
    if transport.rank() != root {
        return transport.recv(root, output);
    }
    let output: &[u8] = output;
    send_each(transport, (1..p).map(|relative| (absolute(relative, root, p), output)))
}
