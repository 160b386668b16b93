//! Pipelined-chain broadcast: segments pass from rank to rank, closely behind each other.
//!
//! Source: Pjesivac-Grbovic et al., Cluster Computing 10(2):127-143, 2007, doi:10.1007/s10586-007-0012-0.
//! Needs:  nothing. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   m + p - 2 rounds; n + (p-2)s bytes, on the last rank
//!         = (m + p - 2)*alpha + (n + (p-2)s)*beta
//!         (n = bytes, p = ranks, s = bytes of a segment, at most n, m = ceil(n/s); alpha in s, beta in s/byte); exact for
//!         every p where a whole number of elements fills a segment.
//!
//! For `n` much larger than `p*s`, `n` bytes over one link, whatever `p`: for large sizes. `segment_bytes` weighs the
//! time to fill the chain, `p-2` segments, against the start-up of `m` messages.
//!
//! Segments 1 to 3 on five ranks, root 2; `ri` = receives segment i, `si` = sends it on:
//!
//! ```text
//! round    0    1      2      3      4      5
//! rank 2   s1   s2     s3
//! rank 3   r1   r2 s1  r3 s2  s3
//! rank 4        r1     r2 s1  r3 s2  s3
//! rank 0               r1     r2 s1  r3 s2  s3
//! rank 1                      r1     r2     r3
//! ```

use crate::patterns::pipeline::{self, Neighbours, SEGMENT_BYTES};
use crate::schedule::{absolute, relative};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.pipelined_chain";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "segments from rank to rank, many under way (large sizes)",
    source: "Pjesivac-Grbovic et al. 2007, doi:10.1007/s10586-007-0012-0",
    needs: &[],
    parameters: &[SEGMENT_BYTES],
    cost: pipeline::chain_cost,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        output,
        root,
        parameters,
        ..
    } = arguments;
    let p = transport.size();
    let segment = pipeline::call_segment(transport, parameters);
    let chain = Neighbours::in_chain(relative(transport.rank(), root, p), p);
    pipeline::broadcast(transport, output, segment, chain.map(|rank| absolute(rank, root, p)))
}
