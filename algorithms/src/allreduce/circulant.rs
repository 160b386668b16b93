//! Circulant allreduce: the circulant reduce-scatter, then the circulant allgather.
//!
//! Source: Traeff, arXiv:2410.14234, 2024, doi:10.48550/arXiv.2410.14234.
//! Needs:  a commutative operator. Any count, also 0 and less than `p`.
//! Shapes: input `[n]`, output `[n]`; scratch `floor(p / 2) [ceil(n / p)]`.
//! Cost:   2 ceil(log2 p) rounds; 2n(p-1)/p bytes sent; n(p-1)/p bytes combined, on every rank
//!         = 2 ceil(log2 p)*alpha + 2n(p-1)/p*beta + n(p-1)/p*gamma
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact where p divides the count. The
//!         final rotation within the output is not counted.
//!
//! The volume and the computation of the ring in the rounds of Rabenseifner's algorithm, which has these only where `p` is
//! a power of two: for medium and large sizes.
//!
//! The data is cut into `p` blocks, numbered on each rank from its own on; for three ranks, letters are the blocks of ranks
//! 0 to 2, `a:0,1` is block `a`, combined from ranks 0 and 1:
//!
//! ```text
//!              rank 0         rank 1         rank 2
//! distance 2   c -> 2         a -> 0         b -> 1        combined where it came
//!              a:0,1  b:0     b:1,2  c:1     c:2,0  a:2
//! distance 1   b:0 -> 1       c:1 -> 2       a:2 -> 0      complete
//! distance 1   ab             bc             ca            own blocks down
//! distance 2   abc            bca            cab           one block down
//! rotated      abc            abc            abc
//! ```

use crate::patterns::circulant::{self, Turned};
use crate::schedule::{block, ceil_log2};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.circulant";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "reduce-scatter and allgather over a circulant graph (medium and large sizes)",
    source: "Traeff 2024, doi:10.48550/arXiv.2410.14234",
    needs: &[Need::Commutative],
    parameters: &[],
    cost,
    scratch,
};

pub(crate) fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let bytes = (p_ranks - 1) as f64 * (n_bytes as f64 / p_ranks as f64);
    Cost {
        rounds: 2.0 * f64::from(ceil_log2(p_ranks)),
        bytes_sent: 2.0 * bytes,
        bytes_reduced: bytes,
    }
}

fn scratch(setting: &Setting<'_>) -> usize {
    let spare_bytes = circulant::spare_bytes(setting.p_ranks, crate::scratch::block(setting));
    crate::scratch::kept(spare_bytes)
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p, n_bytes) = (transport.rank(), transport.size(), input.len());
    if n_bytes == 0 || p == 1 {
        transport.copy(input, output);
        return Ok(());
    }
    let element_bytes = transport.element_bytes();
    let count = n_bytes / element_bytes;
    let start = |rank: usize| block(count, p, rank).start * element_bytes;
    let turned = Turned::new(rank, p, start);

    // Block 0 is the longest.
    let spare_bytes = circulant::spare_bytes(p, start(1));
    let mut scratch = transport.take_scratch(spare_bytes)?;
    circulant::reduce_scatter(transport, input, output, &mut scratch[..spare_bytes], &turned)?;
    transport.give_scratch(scratch);
    circulant::allgather(transport, output, &turned)?;
    output.rotate_right(start(rank));
    Ok(())
}
