//! Recursive-doubling allgather: partners at distance 1, 2, 4, ... exchange all blocks they hold.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing.
//! Shapes: input `[b]`, output `[p * b]`; no scratch.
//! Cost:   k = floor(log2 p) rounds and n(p-1)/p bytes where p is a power of two; else two more messages, with b and n
//!         bytes, and in round i the 2^i + min(2^i, p - 2^k) blocks of the fullest rank
//!         = k*alpha + n(p-1)/p*beta for a power of two
//!         (n = p * b = bytes of the result, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! The fewest rounds possible and the least volume where `p` is a power of two: for small sizes; else Bruck's algorithm
//! has both. Where `p` is no power of two, neighbours are folded first ([`crate::schedule::fold`]) and get the result
//! last. For five ranks, letters are the blocks of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! fold      ab       b ->0    c        d        e
//! round 0   abc               abc      de       de       0 <-> 2, 3 <-> 4
//! round 1   abcde             abcde    abcde    abcde    0 <-> 3, 2 <-> 4
//! unfold    abcde    abcde                               0 -> 1
//! ```

use std::ops::Range;

use crate::patterns::two;
use crate::schedule::{Fold, doubling_group, floor_log2, fold, fold_rank, fold_run};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.recursive_doubling";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "pairwise exchange of all blocks held at distance 1, 2, 4, ... (small sizes, 2^k ranks)",
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
    let rounds = floor_log2(p_ranks);
    // Rank 0 is among those that hold most.
    let exchanged: usize = (0..rounds).map(|round| fold_run(0..1 << round, p_ranks).len()).sum();
    let (messages, folded_blocks) = if p_ranks.is_power_of_two() {
        (0.0, 0)
    } else {
        (2.0, 1 + p_ranks)
    };
    Cost {
        rounds: f64::from(rounds) + messages,
        bytes_sent: (exchanged + folded_blocks) as f64 * (n_bytes as f64 / p_ranks as f64),
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if input.is_empty() {
        return Ok(());
    }
    let blocks_of = |ranks: Range<usize>| ranks.start * input.len()..ranks.end * input.len();
    let (number, folded) = match fold(rank, p) {
        Fold::Active { number, folded } => (number, folded),
        Fold::Folded { into } => {
            transport.send(into, input)?;
            return transport.recv(into, output);
        }
    };
    transport.copy(input, &mut output[blocks_of(rank..rank + 1)]);
    if let Some(neighbour) = folded {
        transport.recv(neighbour, &mut output[blocks_of(neighbour..neighbour + 1)])?;
    }
    for round in 0..floor_log2(p) {
        let partner = number ^ (1 << round);
        let own = blocks_of(fold_run(doubling_group(number, round), p));
        let missing = blocks_of(fold_run(doubling_group(partner, round), p));
        let (sent, received) = two(output, own, missing);
        let partner = fold_rank(partner, p);
        transport.sendrecv(partner, sent, partner, received)?;
    }
    folded.map_or(Ok(()), |neighbour| transport.send(neighbour, output))
}
