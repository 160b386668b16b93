//! Pipelined-chain reduce: segments pass from rank to rank to the root, combined on the way.
//!
//! Source: Pjesivac-Grbovic et al., Cluster Computing 10(2):127-143, 2007, doi:10.1007/s10586-007-0012-0.
//! Needs:  a commutative operator. Any root.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `[n]` on inner ranks.
//! Cost:   m + p - 2 rounds; n + (p-2)s bytes sent, as many combined, at the root
//!         = (m + p - 2)*alpha + (n + (p-2)s)*(beta + gamma)
//!         (n = bytes per rank, p = ranks, s = bytes of a segment, at most n, m = ceil(n/s); alpha in s, beta and gamma
//!         in s/byte). Each term is exact where a whole number of elements fills a segment; the sum is an upper bound,
//!         since the combination of a segment overlaps the messages of others.
//!
//! For `n` much larger than `p*s`, `n` bytes over one link, whatever `p`: for large sizes. Where the ring's `2(p-1)`
//! blocks are short, the chain's segments need not be.
//!
//! Segments 1 to 3 on five ranks, root 2; `ri` = receives and combines segment i, `si` = sends it on:
//!
//! ```text
//! round    0    1      2      3      4      5
//! rank 1   s1   s2     s3
//! rank 0   r1   r2 s1  r3 s2  s3
//! rank 4        r1     r2 s1  r3 s2  s3
//! rank 3               r1     r2 s1  r3 s2  s3
//! rank 2                      r1     r2     r3
//! ```
//!
//! The chain begins at the root and wraps round the end of the ranks: hence the need. A chain in rank order would load
//! the links of a root in its middle twice.

use crate::patterns::pipeline::{self, Neighbours, SEGMENT_BYTES};
use crate::schedule::{absolute, relative};
use crate::{Algorithm, Arguments, Collective, Need, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.pipelined_chain";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "segments from rank to rank to the root, many under way (large sizes)",
    source: "Pjesivac-Grbovic et al. 2007, doi:10.1007/s10586-007-0012-0",
    needs: &[Need::Commutative],
    parameters: &[SEGMENT_BYTES],
    cost: pipeline::combining_chain_cost,
    scratch: crate::scratch::one_volume_inside,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        root,
        parameters,
        ..
    } = arguments;
    let p = transport.size();
    let segment = pipeline::call_segment(transport, parameters);
    let chain = Neighbours::in_chain(relative(transport.rank(), root, p), p);
    let chain = chain.map(|relative| absolute(relative, root, p));
    pipeline::reduce(transport, input, output, segment, chain)
}
