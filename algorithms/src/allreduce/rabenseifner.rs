//! Rabenseifner's allreduce: reduce-scatter by halving the data and doubling the distance, then the same way back.
//!
//! Source: Rabenseifner, ICCS 2004, LNCS 3036:1-9, doi:10.1007/978-3-540-24685-5_1; Thakur, Rabenseifner and Gropp, IJHPCA
//!         19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative. Any count, also less than `p`.
//! Shapes: input `[n]`, output `[n]`; scratch `[n]`.
//! Cost:   2k rounds with 2n(1 - 1/a) bytes, half of which are combined; two more messages of n bytes and one more
//!         combination where p is no power of two
//!         = (2k + 2f)*alpha + (2n(1 - 1/a) + 2fn)*beta + (n(1 - 1/a) + fn)*gamma,
//!         k = floor(log2 p), a = 2^k, f = 0 if p = a, else 1
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact where a divides the count.
//!
//! The least volume in logarithmically many rounds: for medium and large sizes. Where `p` is no power of two, neighbours
//! are folded first ([`crate::schedule::fold`]) and get the result last. For five ranks, `h:r..s` = part `h` of the data,
//! combined from ranks `r..s`, parts are quarters 0 to 3:
//!
//! ```text
//!             rank 0      rank 1     rank 2      rank 3      rank 4
//! fold        0-3:0,1     ->0        0-3:2       0-3:3       0-3:4
//! round 0     0-1:0..2               2-3:0..2    0-1:3,4     2-3:3,4     0 <-> 2, 3 <-> 4
//! round 1     0:all                  2:all       1:all       3:all       0 <-> 3, 2 <-> 4
//! round 2     0-1                    2-3         0-1         2-3         0 <-> 3, 2 <-> 4
//! round 3     0-3                    0-3         0-3         0-3         0 <-> 2, 3 <-> 4
//! unfold      0-3         0-3                                            0 -> 1
//! ```
//!
//! Near partners come first, so that what a rank holds is always a run of consecutive ranks' contributions.

use std::ops::Range;

use crate::overlap::exchange;
use crate::parts::two;
use crate::schedule::{Fold, block, doubling_partners, floor_log2, fold, fold_rank, in_bytes};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.rabenseifner";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "reduce-scatter by recursive halving, allgather by doubling (medium and large sizes)",
    source: "Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1; Thakur et al. 2005, doi:10.1177/1094342005051521",
    needs: &[],
    parameters: &[],
    cost,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let folds = if p_ranks.is_power_of_two() { 0.0 } else { 1.0 };
    let rounds = floor_log2(p_ranks);
    let n = n_bytes as f64;
    let scattered = n - n / f64::from(rounds).exp2();
    Cost {
        rounds: 2.0 * f64::from(rounds) + 2.0 * folds,
        bytes_sent: 2.0 * scattered + 2.0 * folds * n,
        bytes_reduced: scattered + folds * n,
    }
}

/// The parts of the data that an active rank works on before a round; there are as many as active ranks, `2^rounds`.
fn parts_before(round: u32, number: usize, rounds: u32) -> Range<usize> {
    // Each bit of the number, lowest first, chooses a half.
    let length = 1_usize << (rounds - round);
    let start = (0..round).map(|bit| (number >> bit & 1) << (rounds - 1 - bit)).sum();
    start..start + length
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if input.is_empty() {
        return Ok(());
    }
    let (number, folded) = match fold(rank, p) {
        Fold::Active { number, folded } => (number, folded),
        Fold::Folded { into } => {
            transport.send(into, input)?;
            return transport.recv(into, output);
        }
    };
    let rounds = floor_log2(p);
    let element_bytes = transport.element_bytes();
    let part = |index: usize| block(input.len() / element_bytes, 1 << rounds, index);
    let bytes_of = |parts: Range<usize>| in_bytes(part(parts.start).start..part(parts.end - 1).end, element_bytes);

    let mut scratch = transport.take_scratch(input.len())?;
    let (mut held, mut spare) = (&mut *output, &mut scratch[..input.len()]);
    // A combination with a higher partner lands in the buffer that its data came in. Started in the right one of the
    // two, the data ends in `output` without a copy.
    if doubling_partners(number, p).filter(|&partner| partner > rank).count() % 2 == 1 {
        std::mem::swap(&mut held, &mut spare);
    }
    match folded {
        Some(neighbour) => {
            transport.recv(neighbour, held)?;
            transport.reduce_local(input, held)?;
        }
        None => transport.copy(input, held),
    }
    for (round, partner) in (0..rounds).zip(doubling_partners(number, p)) {
        let kept = bytes_of(parts_before(round + 1, number, rounds));
        let given = bytes_of(parts_before(round + 1, number ^ (1 << round), rounds));
        exchange(transport, partner, &held[given], partner, &mut spare[kept.clone()])?;
        if partner < rank {
            if !kept.is_empty() {
                transport.reduce_local(&spare[kept.clone()], &mut held[kept])?;
            }
        } else {
            if !kept.is_empty() {
                transport.reduce_local(&held[kept.clone()], &mut spare[kept])?;
            }
            std::mem::swap(&mut held, &mut spare);
        }
    }
    transport.give_scratch(scratch);

    for round in (0..rounds).rev() {
        let own = bytes_of(parts_before(round + 1, number, rounds));
        let missing = bytes_of(parts_before(round + 1, number ^ (1 << round), rounds));
        let partner = fold_rank(number ^ (1 << round), p);
        let (sent, received) = two(output, own, missing);
        exchange(transport, partner, sent, partner, received)?;
    }
    folded.map_or(Ok(()), |neighbour| transport.send(neighbour, output))
}

#[cfg(test)]
mod tests {
    use super::parts_before;

    #[test]
    fn partners_halve_what_they_share() {
        for rounds in 0..6 {
            for number in 0..1 << rounds {
                assert_eq!(parts_before(0, number, rounds), 0..1 << rounds);
                for round in 0..rounds {
                    let shared = parts_before(round, number, rounds);
                    assert_eq!(shared, parts_before(round, number ^ (1 << round), rounds));
                    let (own, other) = (
                        parts_before(round + 1, number, rounds),
                        parts_before(round + 1, number ^ (1 << round), rounds),
                    );
                    let (low, high) = if own.start < other.start {
                        (own, other)
                    } else {
                        (other, own)
                    };
                    assert_eq!((low.start, low.end, high.end), (shared.start, high.start, shared.end));
                }
            }
        }
    }
}
