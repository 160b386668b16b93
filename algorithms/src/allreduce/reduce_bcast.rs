//! Reduce-broadcast allreduce: everything up a binomial tree to rank 0, and the result down again.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; scratch `[n]` on ranks with more than one child.
//! Cost:   2 ceil(log2 p) rounds of n bytes, combined in the first half of them
//!         = ceil(log2 p)*(2 alpha + 2n*beta + n*gamma)
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p.
//!
//! Fewer messages than recursive doubling, `2(p-1)` over all ranks, but twice the rounds: where links are shared. The
//! way up is the tree of [`crate::schedule::Halving`], the way down that of [`crate::bcast::binomial`]; for five ranks, letters are the
//! contributions of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! round 0   a        b        c        d        e        1 -> 0, 4 -> 3
//! round 1   ab                c        de                2 -> 0
//! round 2   abc                        de                3 -> 0
//! round 3   abcde                                        0 -> 4
//! round 4   abcde                               abcde    0 -> 2
//! round 5   abcde             abcde             abcde    0 -> 1, 2 -> 3
//! ```

use crate::patterns::{binomial, k_nomial};
use crate::schedule::{Halving, ceil_log2};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.reduce_bcast";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "everything up a binomial tree and down again (small sizes)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::one_volume,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let rounds = f64::from(ceil_log2(p_ranks));
    let bytes = rounds * n_bytes as f64;
    Cost {
        rounds: 2.0 * rounds,
        bytes_sent: 2.0 * bytes,
        bytes_reduced: bytes,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let n_bytes = input.len();
    if n_bytes == 0 {
        return Ok(());
    }
    let place = Halving::new(transport.rank(), 0, transport.size());
    match (place.parent, place.children().len()) {
        (Some(parent), 0) => transport.send(parent, input)?,
        // All children are higher ranks, since rank 0 is the root: an only one's data is combined where it came.
        (parent, 0 | 1) => {
            binomial::reduce(transport, &place, input, output, &mut [])?;
            send_up(transport, parent, output)?;
        }
        (parent, _) => {
            let mut scratch = transport.take_scratch(n_bytes)?;
            binomial::reduce(transport, &place, input, output, &mut scratch[..n_bytes])?;
            transport.give_scratch(scratch);
            send_up(transport, parent, output)?;
        }
    }
    k_nomial::broadcast(transport, 0, k_nomial::BINOMIAL, output)
}

fn send_up<T: Transport>(transport: &mut T, parent: Option<usize>, data: &[u8]) -> Result<(), TransportError> {
    parent.map_or(Ok(()), |parent| transport.send(parent, data))
}
