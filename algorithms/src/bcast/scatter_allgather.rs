//! Scatter-allgather broadcast: the root's blocks down a binomial tree, then round the ring.
//!
//! Source: Barnett et al., SHPCC 1994, 357-364, doi:10.1109/SHPCC.1994.296665 (the composition); Thakur, Rabenseifner and
//!         Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing. Any root, any count, also less than `p`.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   ceil(log2 p) + p - 1 rounds; 2n(p-1)/p bytes, at the root
//!         = (ceil(log2 p) + p - 1)*alpha + 2n(p-1)/p*beta
//!         (n = bytes, p = ranks; alpha in s, beta in s/byte); exact where p divides the count.
//!
//! At most twice the volume over each link, whatever `p`, without a segment size to choose: for large sizes.
//!
//! Block `i` ends the scatter on rank `i`, where it belongs in the output. For three ranks and root 0, blocks a, b and c:
//!
//! ```text
//!            rank 0   rank 1   rank 2
//! start      abc
//! scatter    abc               c        0 -> 2
//!            abc      b        c        0 -> 1
//! ring       abc      ab       bc       a to the right from 0, b from 1; none to 0, which has all
//!            abc      abc      abc      c from 0, a from 1
//! ```

use crate::patterns::{binomial, ring};
use crate::schedule::{Division, Halving, ceil_log2, elements, in_bytes};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.scatter_allgather";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "blocks down a binomial tree, then round the ring (large sizes)",
    source: "Barnett et al. 1994, doi:10.1109/SHPCC.1994.296665; Thakur et al. 2005, doi:10.1177/1094342005051521",
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
    let steps = (p_ranks - 1) as f64;
    Cost {
        rounds: f64::from(ceil_log2(p_ranks)) + steps,
        bytes_sent: 2.0 * steps * (n_bytes as f64 / p_ranks as f64),
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { output, root, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let element_bytes = transport.element_bytes();
    let blocks = Division::new(elements(output.len(), element_bytes), p);
    let block_of = |index: usize| in_bytes(blocks.block(index), element_bytes);
    binomial::scatter_in_place(transport, &Halving::new(rank, root, p), output, block_of)?;
    ring::allgather(transport, output, block_of, Some(root))
}
