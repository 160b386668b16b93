//! Ring allgather: every rank passes on to the right what came from the left.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing.
//! Shapes: input `[b]`, output `[p * b]`; no scratch.
//! Cost:   p-1 rounds of n/p bytes
//!         = (p-1)*(alpha + n/p*beta)
//!         (n = p * b = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! The least volume, between neighbours only: for large sizes. For three ranks, letters are the blocks of ranks 0 to 2:
//!
//! ```text
//!          rank 0   rank 1   rank 2
//! start    a        b        c
//! step 0   a c      a b      b c
//! step 1   a b c    a b c    a b c
//! ```

use crate::patterns::ring;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.ring";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "blocks from neighbour to neighbour (large sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
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
        rounds: steps,
        bytes_sent: steps * (n_bytes as f64 / p_ranks as f64),
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let block_bytes = input.len();
    let block_of = |index: usize| index * block_bytes..(index + 1) * block_bytes;
    transport.copy(input, &mut output[block_of(transport.rank())]);
    ring::allgather(transport, output, block_of, None)
}
