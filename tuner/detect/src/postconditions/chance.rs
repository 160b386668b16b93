//! Chance: equal data are no evidence of a collective in a program whose unrelated data are equal, too, and the same holds for numbers that some
//! arithmetic explains.
//!
//! A program makes `trials`, and `hits` of them show what is looked for. Either they are shown because a collective is there, and then someone has to
//! say which of the trials these are: that takes log2 C(trials, hits) bits. Or they are shown by chance, which takes log2(1/p) bits for each
//! coincidence, where p is how often unrelated data coincide in this very trace. Chance is refuted if the first takes fewer bits, by a margin.
//! Nothing is to be said if all trials are hits; chance explains nothing if no unrelated data coincide.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::Operation;
use crate::arena::Arena;
use crate::provenance::TELLING_BYTES;

/// Odds, in bits, by which chance must be refuted: 1 to 128.
const MARGIN_BITS: f64 = 7.0;

/// Coincidences among unrelated data.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Coincidences {
    pub(crate) seen: u64,
    /// Number of those that were looked at.
    pub(crate) of: u64,
}

/// True if chance explains so many hits of so many trials, each with so many coincidences on average.
pub(crate) fn explains(unrelated: Coincidences, trials: u64, hits: u64, per_hit: f64) -> bool {
    if unrelated.seen == 0 || hits == 0 || hits >= trials {
        return false;
    }
    let bits = (unrelated.of as f64 / unrelated.seen as f64).log2();
    hits as f64 * per_hit * bits < ways_bits(trials, hits) + MARGIN_BITS
}

/// Bits that say which of the trials are the hits.
fn ways_bits(trials: u64, hits: u64) -> f64 {
    let few = hits.min(trials - hits);
    (0..few)
        .map(|at| ((trials - at) as f64 / (few - at) as f64).log2())
        .sum()
}

/// True if the messages of these operations, which spread data by one group of call sites, carry the same data by chance: others by these call sites, of
/// the same lengths, do so, too.
pub(crate) fn spreads_by_chance(arena: &Arena<'_>, groups: &[u32], used: &[bool], operations: &[Operation]) -> bool {
    let Some(&first) = operations.iter().find_map(|one| one.messages.first()) else {
        return false;
    };
    let lengths: BTreeSet<u64> = operations
        .iter()
        .flat_map(|one| &one.messages)
        .map(|&id| arena.messages[id as usize].sent.bytes)
        .collect();
    // Longer data that are equal are the same data, sent once more.
    if lengths.last().is_some_and(|&bytes| bytes >= TELLING_BYTES) {
        return false;
    }
    let explained: BTreeSet<u32> = operations.iter().flat_map(|one| &one.messages).copied().collect();
    let (mut among_all, mut by_sender) = (Tally::default(), BTreeMap::<u32, Tally>::new());
    for (id, message) in (0..).zip(&arena.messages) {
        let is_one = !used[id as usize]
            && groups[id as usize] == groups[first as usize]
            && lengths.contains(&message.sent.bytes);
        // Data of equal bytes are not looked at, here and there.
        if is_one && !message.sent.is_constant {
            let content = (message.sent.bytes, message.sent.crc32);
            among_all.add(content, explained.contains(&id));
            by_sender
                .entry(message.from)
                .or_default()
                .add(content, explained.contains(&id));
        }
    }
    // Data of one rank are more alike than those of several, where they are no broadcast, either.
    let of_senders = by_sender.values().fold(Coincidences::default(), |sum, one| {
        let own = one.coincidences();
        Coincidences {
            seen: sum.seen + own.seen,
            of: sum.of + own.of,
        }
    });
    let hits = operations.len() as u64;
    let trials = among_all.total.0 * hits / (explained.len() as u64).max(1);
    let coincidences: u64 = operations.iter().map(|one| coincidences(arena, one)).sum();
    let per_hit = coincidences as f64 / hits as f64;
    let by_chance = |unrelated: Coincidences| explains(unrelated, trials, hits, per_hit);
    by_chance(among_all.coincidences()) || by_chance(of_senders)
}

/// Messages by content: all, and those of operations.
#[derive(Debug, Default)]
struct Tally {
    contents: FxHashMap<(u64, u32), (u64, u64)>,
    total: (u64, u64),
}

impl Tally {
    fn add(&mut self, content: (u64, u32), is_explained: bool) {
        let known = self.contents.entry(content).or_default();
        for count in [known, &mut self.total] {
            count.0 += 1;
            count.1 += u64::from(is_explained);
        }
    }

    /// Coincidences of pairs that are not both of operations: data of operations are equal on purpose, if they are some, and may be sent once more.
    fn coincidences(&self) -> Coincidences {
        let pairs = |count: u64| count * count.saturating_sub(1) / 2;
        let unrelated = |(all, own): (u64, u64)| pairs(all) - pairs(own);
        Coincidences {
            seen: self.contents.values().map(|&counts| unrelated(counts)).sum(),
            of: unrelated(self.total),
        }
    }
}

/// Messages of an operation whose data another of its messages has already.
fn coincidences(arena: &Arena<'_>, operation: &Operation) -> u64 {
    let data = |&id: &u32| {
        let payload = arena.messages[id as usize].sent;
        (payload.bytes, payload.crc32)
    };
    let distinct: BTreeSet<(u64, u32)> = operation.messages.iter().map(data).collect();
    (operation.messages.len() - distinct.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_to_choose_are_counted_in_bits() {
        assert!((ways_bits(5, 2) - 10_f64.log2()).abs() < 1e-12);
        assert!((ways_bits(5, 3) - 10_f64.log2()).abs() < 1e-12);
        assert!(ways_bits(7, 0).abs() < 1e-12);
    }

    #[test]
    fn rare_coincidences_are_no_chance_and_frequent_ones_are() {
        let rare = Coincidences { seen: 1, of: 1 << 20 };
        let frequent = Coincidences { seen: 2, of: 5 };
        assert!(!explains(rare, 64, 13, 2.0));
        assert!(explains(frequent, 64, 13, 2.0));
        // All are hits, or nothing coincides beside them.
        assert!(!explains(frequent, 13, 13, 2.0));
        assert!(!explains(Coincidences { seen: 0, of: 9 }, 64, 1, 1.0));
    }
}
