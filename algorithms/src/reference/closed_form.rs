//! Content of which each byte and each combination follows from a formula, so that thousands of ranks take no longer than two.
//!
//! Data that is moved is hashed: a block in the wrong place shows. Bytes that are combined (with a bitwise OR) are sparse: at each byte at most
//! four ranks give a bit, each its own, so that a missing rank, a shifted byte and a prefix of the wrong length all show, and with many ranks the
//! OR does not saturate. Numbers that are combined (with a sum) are small and whole: every order of adding them gives the same bytes, in
//! floating point too. A slice tells calls on successive data apart.

use std::ops::Range;

use super::mix;

/// Bytes that share a hash, each of which has a byte of it.
const BYTES_OF_HASH: usize = size_of::<u64>();

/// Byte `i` that `rank` gives to be moved.
#[inline]
#[must_use]
pub fn moved(rank: usize, slice: usize, i: usize) -> u8 {
    byte_of_hash(((rank as u64) << 48) ^ ((slice as u64) << 36), i)
}

/// The bytes of [`moved`] from `at` on.
pub fn write_moved(rank: usize, slice: usize, at: usize, to: &mut [u8]) {
    write_hashes(((rank as u64) << 48) ^ ((slice as u64) << 36), at, to, |byte| byte);
}

/// Byte `i` of the hashes that a seed gives.
#[inline]
fn byte_of_hash(seed: u64, i: usize) -> u8 {
    hash(seed, i / BYTES_OF_HASH)[i % BYTES_OF_HASH]
}

/// The hash of number `number`.
#[inline]
fn hash(seed: u64, number: usize) -> [u8; BYTES_OF_HASH] {
    mix(seed ^ (number as u64 + 1)).to_le_bytes()
}

/// Writes what bytes of hashes become, from byte `at` on.
#[inline]
fn write_hashes(seed: u64, at: usize, to: &mut [u8], becomes: impl Fn(u8) -> u8) {
    let until_next = at.next_multiple_of(BYTES_OF_HASH) - at;
    let (first, others) = to.split_at_mut(until_next.min(to.len()));
    for (byte, i) in first.iter_mut().zip(at..) {
        *byte = becomes(byte_of_hash(seed, i));
    }
    let numbers = (at + until_next) / BYTES_OF_HASH..;
    for (bytes, number) in others.chunks_mut(BYTES_OF_HASH).zip(numbers) {
        for (byte, of_hash) in bytes.iter_mut().zip(hash(seed, number)) {
            *byte = becomes(of_hash);
        }
    }
}

/// Ranks that give a bit at one byte of a reduction.
const RANKS_PER_BYTE: usize = 4;

/// Ranks that give each number once among them. A prime that no usual number of cores is a multiple of, so that neither a tree's part nor
/// the ranks of a node are whole groups: where one such part is summed twice and another not at all, the sum is wrong.
const GROUP: usize = 29;

/// The sum over the ranks of a group: 1 + 2 + ... + 29.
const SUM_OF_GROUP: u32 = 435;

/// Element `i` that `rank` gives to be summed: 1 to 29, so that no rank's is nothing and sums of 2^20 ranks are exact in `f32`; in an
/// order of the group's own.
#[inline]
#[must_use]
pub fn small_number(rank: usize, slice: usize, i: usize) -> u32 {
    let group = (rank / GROUP) as u64;
    let first = mix((group << 48) ^ ((slice as u64) << 36) ^ (i as u64 + 1)) >> 32;
    ((first + rank as u64) % GROUP as u64) as u32 + 1
}

/// Element `i` of the sum of what the ranks of a range give. Takes no longer for more ranks: it is asked for at every byte.
#[inline]
#[must_use]
pub fn sum_of_small_numbers(ranks: Range<usize>, slice: usize, i: usize) -> u32 {
    let one_by_one = |ranks: Range<usize>| -> u32 { ranks.map(|rank| small_number(rank, slice, i)).sum() };
    let (first, end) = (ranks.start.next_multiple_of(GROUP), ranks.end / GROUP * GROUP);
    if first >= end {
        return one_by_one(ranks);
    }
    one_by_one(ranks.start..first) + ((end - first) / GROUP) as u32 * SUM_OF_GROUP + one_by_one(end..ranks.end)
}

/// Whole groups in a range of ranks, and the ranks that are in none of them.
fn groups(ranks: Range<usize>) -> (usize, impl Iterator<Item = usize>) {
    let (first, end) = (ranks.start.next_multiple_of(GROUP), ranks.end / GROUP * GROUP);
    let (first, end) = if first >= end {
        (ranks.end, ranks.end)
    } else {
        (first, end)
    };
    ((end - first) / GROUP, (ranks.start..first).chain(end..ranks.end))
}

/// Least and largest element `i` of those that the ranks of a range give: 30 and 0 if there is none.
#[inline]
#[must_use]
pub fn bounds_of_small_numbers(ranks: Range<usize>, slice: usize, i: usize) -> (u32, u32) {
    let (whole, others) = groups(ranks);
    if whole > 0 {
        return (1, GROUP as u32);
    }
    others.fold((GROUP as u32 + 1, 0), |(least, most), rank| {
        let one = small_number(rank, slice, i);
        (one.min(least), one.max(most))
    })
}

/// Power of two that element `i` of the product of what the ranks of a range give is. A rank gives 2 where its small number is 1 or 2, and else 1, so
/// that products of some hundred ranks are exact.
#[inline]
#[must_use]
pub fn twos_in_product(ranks: Range<usize>, slice: usize, i: usize) -> u32 {
    let (whole, others) = groups(ranks);
    2 * whole as u32 + others.filter(|rank| small_number(*rank, slice, i) <= 2).count() as u32
}

/// Byte `i` of the OR of what the ranks of a range give to be combined.
///
/// The ranks are dealt into `ceil(p/4)` groups; byte `i` belongs to one group, whose members set one bit each, side by side
/// from a bit that depends on `i`.
#[inline]
#[must_use]
pub fn or_of_bits(ranks: Range<usize>, p_ranks: usize, slice: usize, i: usize) -> u8 {
    let groups = groups_of_bits(p_ranks);
    let seed = (slice as u64) << 36;
    let (group, first) = if groups <= MOST_GROUPS_OF_A_BYTE {
        group_and_first_bit(groups, byte_of_hash(seed, i))
    } else {
        group_and_first_bit_of_many(groups, seed, i)
    };
    bits_of(&ranks, groups, group).rotate_left(first)
}

/// The bytes of [`or_of_bits`] from `at` on. What depends on a byte of a hash alone is worked out once.
pub fn write_or_of_bits(ranks: &Range<usize>, p_ranks: usize, slice: usize, at: usize, to: &mut [u8]) {
    let groups = groups_of_bits(p_ranks);
    if groups <= MOST_GROUPS_OF_A_BYTE {
        let of_byte = |byte| {
            let (group, first) = group_and_first_bit(groups, byte);
            bits_of(ranks, groups, group).rotate_left(first)
        };
        let table: [u8; 256] = std::array::from_fn(|byte| of_byte(byte as u8));
        write_hashes((slice as u64) << 36, at, to, |byte| table[usize::from(byte)]);
    } else {
        for (byte, i) in to.iter_mut().zip(at..) {
            *byte = or_of_bits(ranks.clone(), p_ranks, slice, i);
        }
    }
}

/// Groups that five bits tell apart, each about as often as the others.
const MOST_GROUPS_OF_A_BYTE: usize = 16;

fn groups_of_bits(p_ranks: usize) -> usize {
    p_ranks.div_ceil(RANKS_PER_BYTE).max(1)
}

/// The group that a byte with this byte of a hash belongs to, and the bit that its first member sets: the upper five bits as a fraction of the groups,
/// and the lower three.
#[inline]
fn group_and_first_bit(groups: usize, of_hash: u8) -> (usize, u32) {
    ((usize::from(of_hash >> 3) * groups) >> 5, u32::from(of_hash & 7))
}

/// The same of byte `i` where there are more groups than five bits tell apart: a hash for each byte.
#[inline]
fn group_and_first_bit_of_many(groups: usize, seed: u64, i: usize) -> (usize, u32) {
    let hash = mix(seed ^ (i as u64 + 1));
    // The upper half as a fraction of the groups: this is asked for at every byte, where a division takes longer than the hash.
    let group = (((hash >> 32) * groups as u64) >> 32) as usize;
    (group, (hash & 7) as u32)
}

/// Bits of the members of a group that are in a range of ranks, the first member's lowest.
#[inline]
fn bits_of(ranks: &Range<usize>, groups: usize, group: usize) -> u8 {
    // Members of the group below a rank.
    let below = |rank: usize| match rank {
        0 => 0,
        // Every group has as many, or all ranks.
        _ if groups == 1 => rank,
        _ => (rank + groups - 1 - group) / groups,
    };
    let bits = |members: usize| (1_u32 << members) - 1;
    (bits(below(ranks.end)) & !bits(below(ranks.start))) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_shows_in_a_reduction_and_four_at_most_at_one_byte() {
        for p_ranks in [1, 2, 4, 5, 8, 9, 64, 200] {
            let n_bytes = 64 * p_ranks;
            let result: Vec<u8> = (0..n_bytes).map(|i| or_of_bits(0..p_ranks, p_ranks, 0, i)).collect();
            assert!(
                result
                    .iter()
                    .all(|byte| (1..=4).contains(&byte.count_ones()) || p_ranks > 4),
                "p={p_ranks}"
            );
            assert!(result.iter().all(|byte| byte.count_ones() <= 4), "p={p_ranks}");
            for rank in 0..p_ranks {
                let without: Vec<u8> = (0..n_bytes)
                    .map(|i| or_of_bits(0..rank, p_ranks, 0, i) | or_of_bits(rank + 1..p_ranks, p_ranks, 0, i))
                    .collect();
                assert_ne!(without, result, "p={p_ranks}: rank {rank} does not show");
            }
        }
    }

    #[test]
    fn bytes_together_are_those_one_by_one() {
        for (p_ranks, ranks) in [
            (1, 0..1),
            (4, 1..3),
            (8, 0..8),
            (8, 3..4),
            (64, 2..61),
            (65, 0..65),
            (4096, 7..1000),
        ] {
            for at in [0, 5, 1023] {
                let one_by_one: Vec<u8> = (at..at + 700)
                    .map(|i| or_of_bits(ranks.clone(), p_ranks, 3, i))
                    .collect();
                let mut together = vec![0xFF; 700];
                write_or_of_bits(&ranks, p_ranks, 3, at, &mut together);
                assert_eq!(together, one_by_one, "p={p_ranks}: {ranks:?} from {at}");
                let one_by_one: Vec<u8> = (at..at + 700).map(|i| moved(ranks.start, 3, i)).collect();
                write_moved(ranks.start, 3, at, &mut together);
                assert_eq!(together, one_by_one);
            }
        }
    }

    #[test]
    fn a_sum_is_that_of_its_ranks_and_shows_a_part_that_is_summed_twice() {
        for i in 0..40 {
            for range in [0..0, 0..1, 5..12, 0..29, 1..30, 28..90, 29..87, 3..1000, 58..58] {
                let one_by_one: u32 = range.clone().map(|rank| small_number(rank, 2, i)).sum();
                assert_eq!(sum_of_small_numbers(range.clone(), 2, i), one_by_one, "{range:?} {i}");
            }
        }
        // The ranks of a node, or of a subtree, in place of those of the next one.
        for part in [1, 2, 4, 8, 13, 16, 24, 26, 28, 32, 48, 52, 56, 64, 104, 128, 1024] {
            let shows = (0..40).any(|i| {
                let [one, next] = [0, part].map(|begin| sum_of_small_numbers(begin..begin + part, 0, i));
                one != next
            });
            assert!(shows, "{part}");
        }
    }

    #[test]
    fn bounds_and_products_are_those_of_the_ranks() {
        for i in 0..40 {
            for range in [0..0, 0..1, 5..12, 0..29, 1..30, 28..90, 3..1000, 58..58] {
                let numbers = || range.clone().map(|rank| small_number(rank, 2, i));
                let bounds = (numbers().min().unwrap_or(30), numbers().max().unwrap_or(0));
                assert_eq!(bounds_of_small_numbers(range.clone(), 2, i), bounds, "{range:?} {i}");
                let twos = numbers().filter(|number| *number <= 2).count();
                assert_eq!(twos_in_product(range.clone(), 2, i) as usize, twos, "{range:?} {i}");
            }
        }
    }

    #[test]
    fn slices_and_shifted_data_differ() {
        let data = |slice: usize, shift: usize| -> Vec<(u8, u8)> {
            (shift..shift + 64)
                .map(|i| (moved(1, slice, i), or_of_bits(0..3, 3, slice, i)))
                .collect()
        };
        assert!(data(0, 0) != data(1, 0) && data(0, 0) != data(0, 1));
    }
}
