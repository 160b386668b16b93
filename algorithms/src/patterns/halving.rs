//! Data halved among a power of two of ranks, nearest partners first, so that operands stay in rank order.

use std::ops::Range;

use super::two;
use crate::overlap::exchange;
use crate::schedule::{Division, Fold, elements, floor_log2, fold_around, fold_rank_around, in_bytes};
use crate::{Transport, TransportError};

/// An active rank of a halving ([`crate::schedule::fold_around`]), and the data that is halved.
///
/// The data is cut into as many parts as there are active ranks, `2^rounds`. In each round, partners halve what they both
/// work on; for four ranks:
///
/// ```text
/// number       0     1     2     3
/// start       0-3   0-3   0-3   0-3
/// round 0     0-1   2-3   0-1   2-3     0 <-> 1, 2 <-> 3
/// round 1      0     2     1     3      0 <-> 2, 1 <-> 3
/// ```
#[derive(Debug, Clone, Copy)]
pub(crate) struct Active {
    p: usize,
    /// A rank that is active in any case.
    kept: usize,
    number: usize,
    folded: Option<usize>,
    rounds: u32,
    element_bytes: usize,
    parts: Division,
}

impl Active {
    /// The place of this rank in the halving of `bytes` bytes, with the rank `kept` active in any case; `Err` with the rank
    /// that this one is folded into.
    pub(crate) fn new<T: Transport>(transport: &T, bytes: usize, kept: usize) -> Result<Active, usize> {
        let p = transport.size();
        let element_bytes = transport.element_bytes();
        let rounds = floor_log2(p);
        match fold_around(kept, transport.rank(), p) {
            Fold::Folded { into } => Err(into),
            Fold::Active { number, folded } => Ok(Active {
                p,
                kept,
                number,
                folded,
                rounds,
                element_bytes,
                parts: Division::new(elements(bytes, element_bytes), 1 << rounds),
            }),
        }
    }

    /// The rank folded into this one.
    pub(crate) fn folded(&self) -> Option<usize> {
        self.folded
    }

    /// The partner of a round: its number and its rank.
    #[inline]
    fn partner(&self, round: u32) -> (usize, usize) {
        let number = self.number ^ (1 << round);
        (number, fold_rank_around(self.kept, number, self.p))
    }

    /// Byte range of the parts that an active rank works on before a round.
    #[inline]
    fn bytes_before(&self, round: u32, number: usize) -> Range<usize> {
        let parts = parts_before(round, number, self.rounds);
        let begin = self.parts.block(parts.start).start;
        in_bytes(begin..self.parts.block(parts.end - 1).end, self.element_bytes)
    }
}

/// The parts of the data that an active rank works on before a round; there are as many as active ranks, `2^rounds`.
#[inline]
fn parts_before(round: u32, number: usize, rounds: u32) -> Range<usize> {
    // Each bit of the number, lowest first, chooses a half.
    let length = 1_usize << (rounds - round);
    let start = (0..round).map(|bit| (number >> bit & 1) << (rounds - 1 - bit)).sum();
    start..start + length
}

/// Combines all ranks' inputs, of which each active rank gets one part, in its place in `result`; the rest of `result` is
/// undefined. A rank that is folded sends its input to the active one instead of calling this.
///
/// There are at least two ranks; `result` and `spare` are as long as the input.
pub(crate) fn reduce_scatter<T: Transport>(
    transport: &mut T,
    active: &Active,
    input: &[u8],
    result: &mut [u8],
    spare: &mut [u8],
) -> Result<(), TransportError> {
    let &Active {
        number, folded, rounds, ..
    } = active;
    let (mut held, mut spare) = (result, spare);
    // A combination with a higher partner lands in the buffer that its data came in. Started in the right one of the two,
    // the data ends in `result` without a copy: numbers are higher where a bit of the own one is 0.
    if (number.count_zeros() - (usize::BITS - rounds)) % 2 == 1 {
        std::mem::swap(&mut held, &mut spare);
    }
    let rank = transport.rank();
    let mut is_untouched = true;
    if let Some(neighbour) = folded {
        is_untouched = false;
        if neighbour > rank {
            transport.recv(neighbour, held)?;
            transport.reduce_local(input, held)?;
        } else {
            transport.recv(neighbour, spare)?;
            transport.copy(input, held);
            transport.reduce_local(spare, held)?;
        }
    }
    for round in 0..rounds {
        let (partner_number, partner) = active.partner(round);
        let kept = active.bytes_before(round + 1, number);
        let given = active.bytes_before(round + 1, partner_number);
        let source = if is_untouched { input } else { &*held };
        exchange(transport, partner, &source[given], partner, &mut spare[kept.clone()])?;
        if partner_number < number {
            if is_untouched {
                transport.copy(&input[kept.clone()], &mut held[kept.clone()]);
            }
            if !kept.is_empty() {
                transport.reduce_local(&spare[kept.clone()], &mut held[kept])?;
            }
        } else {
            if !kept.is_empty() {
                transport.reduce_local(&source[kept.clone()], &mut spare[kept])?;
            }
            std::mem::swap(&mut held, &mut spare);
        }
        is_untouched = false;
    }
    Ok(())
}

/// Gives every active rank all parts of `data`, of which each has the one that [`reduce_scatter`] left it.
pub(crate) fn allgather<T: Transport>(
    transport: &mut T,
    active: &Active,
    data: &mut [u8],
) -> Result<(), TransportError> {
    for round in (0..active.rounds).rev() {
        let (partner_number, partner) = active.partner(round);
        let own = active.bytes_before(round + 1, active.number);
        let missing = active.bytes_before(round + 1, partner_number);
        let (sent, received) = two(data, own, missing);
        exchange(transport, partner, sent, partner, received)?;
    }
    Ok(())
}

/// Gives the rank that is active in any case all parts of `data`, of which each active rank has the one that
/// [`reduce_scatter`] left it; on other ranks some parts of `data` are other ranks' afterwards.
pub(crate) fn gather<T: Transport>(transport: &mut T, active: &Active, data: &mut [u8]) -> Result<(), TransportError> {
    let Fold::Active { number: root, .. } = fold_around(active.kept, active.kept, active.p) else {
        return Ok(());
    };
    for round in (0..active.rounds).rev() {
        let (partner_number, partner) = active.partner(round);
        // The rank of a pair whose number agrees with the root's in this and all higher bits goes on.
        if (active.number ^ root) >> round & 1 == 1 {
            let own = &data[active.bytes_before(round + 1, active.number)];
            return if own.is_empty() {
                Ok(())
            } else {
                transport.send(partner, own)
            };
        }
        let missing = &mut data[active.bytes_before(round + 1, partner_number)];
        if !missing.is_empty() {
            transport.recv(partner, missing)?;
        }
    }
    Ok(())
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
