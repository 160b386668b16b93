//! Neighbour-exchange allgather: with the left and the right neighbour in turn, each gives what it got last.
//!
//! Source: Chen, Zhang, Zhang and Yuan, HPC Asia 2005, doi:10.1109/HPCASIA.2005.75.
//! Needs:  an even number of ranks.
//! Shapes: input `[b]`, output `[p * b]`; no scratch.
//! Cost:   p/2 rounds; n(p-1)/p bytes: one block in the first round, two in each other
//!         = p/2*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every even p.
//!
//! Half the rounds of the ring for the same volume, between neighbours only: for medium sizes. Neighbours become a pair
//! by exchanging their blocks; then pairs of blocks travel. Even ranks go right, left, right, ..., odd ones the other
//! way, so two blocks move on by one pair in each round. For six ranks, letters are the blocks of ranks 0 to 5:
//!
//! ```text
//!          rank 0   rank 1   rank 2   rank 3   rank 4   rank 5
//! start    a        b        c        d        e        f
//! round 0  ab       ab       cd       cd       ef       ef       0 <-> 1, 2 <-> 3, 4 <-> 5
//! round 1  ab ef    ab cd    ab cd    cd ef    cd ef    ab ef    1 <-> 2, 3 <-> 4, 5 <-> 0
//! round 2  abcdef   abcdef   abcdef   abcdef   abcdef   abcdef   0 <-> 1, 2 <-> 3, 4 <-> 5
//! ```

use crate::patterns::two;
use crate::schedule::{ring_next, ring_previous};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.neighbour_exchange";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "pairs of blocks between neighbours, left and right in turn (medium sizes, even p)",
    source: "Chen et al. 2005, doi:10.1109/HPCASIA.2005.75",
    needs: &[Need::EvenRanks],
    parameters: &[],
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    Cost {
        rounds: (p_ranks / 2) as f64,
        bytes_sent: (p_ranks - 1) as f64 * (n_bytes as f64 / p_ranks as f64),
        bytes_reduced: 0.0,
    }
}

/// The pair of blocks that a rank has after this round and had not before; `pairs` is half the number of ranks.
fn pair_after(rank: usize, round: usize, pairs: usize) -> usize {
    let steps = round.div_ceil(2);
    // Even ranks get pairs -1, +1, -2, +2, ... pairs away, odd ones the opposite.
    let is_upward = rank.is_multiple_of(2) == round.is_multiple_of(2);
    (rank / 2 + if is_upward { steps } else { pairs - steps }) % pairs
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if input.is_empty() {
        return Ok(());
    }
    let block = |rank: usize| rank * input.len()..(rank + 1) * input.len();
    let pair = |pair: usize| 2 * pair * input.len()..2 * (pair + 1) * input.len();
    transport.copy(input, &mut output[block(rank)]);
    for round in 0..p / 2 {
        let partner = if rank.is_multiple_of(2) == round.is_multiple_of(2) {
            ring_next(rank, p)
        } else {
            ring_previous(rank, p)
        };
        let (own, missing) = match round {
            0 => (block(rank), block(partner)),
            _ => (
                pair(pair_after(rank, round - 1, p / 2)),
                pair(pair_after(rank, round, p / 2)),
            ),
        };
        let (sent, received) = two(output, own, missing);
        transport.sendrecv(partner, sent, partner, received)?;
    }
    Ok(())
}
