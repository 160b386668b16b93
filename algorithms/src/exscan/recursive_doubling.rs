//! Recursive-doubling exclusive scan: each rank sends what it holds 1, 2, 4, ... ranks to the right.
//!
//! Source: Kogge and Stone, IEEE Trans. Computers C-22(8):786-793, 1973, doi:10.1109/TC.1973.5009159; on parallel
//!         machines: Hillis and Steele, CACM 29(12):1170-1183, 1986, doi:10.1145/7902.7903 (inclusive scans).
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]` except on rank 0; scratch `[2 n]` or less, none on ranks 0 and 1 of two.
//! Cost:   k = ceil(log2 p) rounds of n bytes; at most 2(k-1)n bytes combined
//!         = k*(alpha + n*beta) + c*n*gamma
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte), c <= 2(k-1) counted round by round. Each
//!         term is exact for every p; the sum is an upper bound, since the longest chain of combinations need not be the
//!         longest chain of messages.
//!
//! The fewest rounds possible, each with all the data, in both directions of a link at once: for small sizes. A rank holds
//! two combinations: the prefix that it keeps, and that prefix with its own operand, which it sends; so most rounds combine
//! twice. To shift the data by one rank and scan it inclusively would combine once, and cost a round more for most `p`.
//!
//! For five ranks, letters are the contributions of ranks 0 to 4; what is sent next, and what is kept:
//!
//! ```text
//!              rank 0   rank 1   rank 2   rank 3   rank 4
//! start        a        b        c        d        e
//! distance 1   a        ab, a    bc, b    c        d
//! distance 2   a        a        ab       abc      bcd
//! distance 4   a        a        ab       abc      abcd
//! ```
//!
//! Nothing is combined to be sent where nobody is left to send it to (rank 1 above has nobody at distance 4).

use crate::patterns::doubling::{Shift, distances};
use crate::patterns::lent;
use crate::schedule::ceil_log2;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "exscan.recursive_doubling";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Exscan,
    summary: "everything held goes 1, 2, 4, ... ranks to the right (small sizes)",
    source: "Kogge and Stone 1973, doi:10.1109/TC.1973.5009159; Hillis and Steele 1986, doi:10.1145/7902.7903",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::two_volumes,
};

/// Combinations of one rank in the round of this distance: into what it sends in the next one, and into what it keeps.
fn combinations(rank: usize, distance: usize, p: usize) -> [bool; 2] {
    let receives = rank >= distance;
    [receives && rank + 2 * distance < p, receives && distance > 1]
}

/// Combinations one after the other until the last rank is done.
fn chain_of_combinations(p: usize) -> usize {
    let mut done = vec![0; p];
    for distance in distances(p) {
        // From the right: what comes from the left is of the round before.
        for rank in (distance..p).rev() {
            let own = combinations(rank, distance, p)
                .into_iter()
                .filter(|&is_done| is_done)
                .count();
            done[rank] = done[rank].max(done[rank - distance]) + own;
        }
    }
    done.into_iter().max().unwrap_or(0)
}

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let rounds = f64::from(ceil_log2(p_ranks));
    Cost {
        rounds,
        bytes_sent: rounds * n_bytes as f64,
        bytes_reduced: chain_of_combinations(p_ranks) as f64 * n_bytes as f64,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let bytes = input.len();
    if bytes == 0 || p == 1 {
        return Ok(());
    }
    let [grows, _] = combinations(rank, 1, p);
    let window_bytes = if grows { bytes } else { 0 };
    let spare_bytes = if rank > 1 { bytes } else { 0 };
    let mut scratch = lent::take(transport, window_bytes + spare_bytes)?;
    let (window, spare) = scratch.split_at_mut(window_bytes);
    if grows {
        transport.copy(input, window);
    }
    for distance in distances(p) {
        let is_first = distance == 1;
        let shift = Shift::new(rank, distance, p);
        let sent = if is_first || !grows { input } else { &*window };
        // The first prefix is received where it stays.
        let received = if is_first {
            &mut *output
        } else {
            &mut spare[..spare_bytes]
        };
        shift.exchange(transport, sent, received)?;
        let [to_send, to_keep] = combinations(rank, distance, p);
        if to_send {
            transport.reduce_local(received, window)?;
        }
        if to_keep {
            transport.reduce_local(&spare[..bytes], output)?;
        }
    }
    lent::give(transport, scratch);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ceil_log2, chain_of_combinations};

    #[test]
    fn no_chain_is_longer_than_two_combinations_in_all_rounds_but_one() {
        let chains: Vec<_> = (1..10).map(chain_of_combinations).collect();
        assert_eq!(chains, [0, 0, 1, 2, 3, 3, 4, 4, 5]);
        for p in 2..600 {
            assert!(chain_of_combinations(p) <= 2 * (ceil_log2(p) as usize - 1), "p = {p}");
        }
    }
}
