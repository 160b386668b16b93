//! Blocks combined while the ranks are halved, farthest partners first, so that each rank ends with its own block.

use std::ops::Range;

use crate::overlap::exchange;
use crate::patterns::lent;
use crate::schedule::{Fold, floor_log2, fold, fold_rank, fold_run};
use crate::{Cost, Setting, Transport, TransportError, scratch};

/// Cost of [`reduce_scatter`].
pub(crate) fn reduce_scatter_cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let rounds = floor_log2(p_ranks);
    let active = 1_usize << rounds;
    let folded = p_ranks - active;
    // Ranks that are folded are the lowest, so the lowest half has the most blocks in each round.
    let blocks: usize = (1..=rounds)
        .map(|round| active >> round)
        .map(|half| half + folded.min(half))
        .sum();
    let (n, block_bytes) = (n_bytes as f64, n_bytes as f64 / p_ranks as f64);
    let halved = blocks as f64 * block_bytes;
    let (folds, folded_bytes, unfolded_bytes) = if folded > 0 {
        (2.0, n, block_bytes)
    } else {
        (0.0, 0.0, 0.0)
    };
    Cost {
        rounds: f64::from(rounds) + folds,
        bytes_sent: folded_bytes + halved + unfolded_bytes,
        bytes_reduced: folded_bytes + halved,
    }
}

/// Scratch of [`reduce_scatter`] as rows state it: where ranks are folded, both ranks' data and what the first round brings; else what
/// the first two rounds bring.
pub(crate) fn reduce_scatter_kept(setting: &Setting<'_>) -> usize {
    let (p, n_bytes) = (setting.p_ranks, setting.n_bytes);
    scratch::kept(match p {
        0..=2 => 0,
        _ if !p.is_power_of_two() => n_bytes.saturating_mul(2),
        4 => n_bytes.div_ceil(2),
        _ => n_bytes.div_ceil(4).saturating_mul(3),
    })
}

/// The numbers of the active ranks whose blocks the rank of this number combines after a round, and of those whose blocks
/// its partner does; the highest bit of a number is decided first.
#[inline]
fn halves(number: usize, round: u32, rounds: u32) -> (Range<usize>, Range<usize>) {
    let half = 1_usize << (rounds - 1 - round);
    let kept = number / half * half;
    let given = kept ^ half;
    (kept..kept + half, given..given + half)
}

/// Combines block `r` of all ranks' inputs in `result` on rank `r`. The operator must be commutative: the first partner's
/// operands come from `p/2` ranks away.
pub(crate) fn reduce_scatter<T: Transport>(
    transport: &mut T,
    input: &[u8],
    result: &mut [u8],
    block_of: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    if p == 1 {
        transport.copy(input, result);
    }
    if p == 1 || input.is_empty() {
        return Ok(());
    }
    let (number, folded) = match fold(rank, p) {
        Fold::Active { number, folded } => (number, folded),
        Fold::Folded { into } => {
            transport.send(into, input)?;
            if !result.is_empty() {
                transport.recv(into, result)?;
            }
            return Ok(());
        }
    };
    let rounds = floor_log2(p);
    let bytes_of = |numbers: Range<usize>| {
        let ranks = fold_run(numbers, p);
        block_of(ranks.start).start..block_of(ranks.end - 1).end
    };
    let kept_after = |round| bytes_of(halves(number, round, rounds).0);

    // The held data begins as both ranks' input, or as the result of the first round. After that, all data is received in
    // `spare`. Without a folded rank, the last round combines in the result.
    let first = kept_after(0);
    let (held_range, spare_bytes) = match folded {
        Some(_) => (0..input.len(), first.len()),
        None if rounds == 1 => (0..0, 0),
        None if rounds == 2 => (first, 0),
        None => (first, kept_after(1).len()),
    };
    let held_bytes = held_range.len();
    let mut scratch = lent::take(transport, held_bytes + spare_bytes)?;
    let (held, spare) = scratch.split_at_mut(held_bytes);
    let in_held = |range: Range<usize>| range.start - held_range.start..range.end - held_range.start;
    if let Some(neighbour) = folded {
        transport.recv(neighbour, held)?;
        transport.reduce_local(input, held)?;
    }
    for round in 0..rounds {
        let (kept, given) = halves(number, round, rounds);
        let partner = fold_rank(given.start + (number - kept.start), p);
        let (kept, given) = (bytes_of(kept), bytes_of(given));
        let is_input = round == 0 && folded.is_none();
        let is_last = round + 1 == rounds && folded.is_none();
        if is_last {
            let (source, given, kept) = if is_input {
                (input, given, kept)
            } else {
                (&*held, in_held(given), in_held(kept))
            };
            exchange(transport, partner, &source[given], partner, result)?;
            combine(transport, &source[kept], result)?;
        } else if is_input {
            let received = &mut held[..kept.len()];
            exchange(transport, partner, &input[given], partner, received)?;
            combine(transport, &input[kept], received)?;
        } else {
            let received = &mut spare[..kept.len()];
            exchange(transport, partner, &held[in_held(given)], partner, received)?;
            combine(transport, received, &mut held[in_held(kept)])?;
        }
    }
    if let Some(neighbour) = folded {
        let other = &held[in_held(block_of(neighbour))];
        if !other.is_empty() {
            transport.send(neighbour, other)?;
        }
        transport.copy(&held[in_held(block_of(rank))], result);
    }
    lent::give(transport, scratch);
    Ok(())
}

fn combine<T: Transport>(transport: &mut T, input: &[u8], inout: &mut [u8]) -> Result<(), TransportError> {
    if inout.is_empty() {
        Ok(())
    } else {
        transport.reduce_local(input, inout)
    }
}

#[cfg(test)]
mod tests {
    use super::halves;

    #[test]
    fn each_rank_ends_with_its_own_block() {
        for rounds in 1..7 {
            for number in 0..1_usize << rounds {
                let mut held = 0..1 << rounds;
                for round in 0..rounds {
                    let (kept, given) = halves(number, round, rounds);
                    assert_eq!(
                        (kept.start.min(given.start), kept.end.max(given.end)),
                        (held.start, held.end)
                    );
                    let partner = given.start + (number - kept.start);
                    assert_eq!(halves(partner, round, rounds), (given, kept.clone()));
                    held = kept;
                }
                assert_eq!(held, number..number + 1);
            }
        }
    }
}
