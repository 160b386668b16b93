//! Operators, and contributions that make their results exact.

use std::ops::Range;

use super::mix;

/// An operator on elements of one byte or of words of 32 bits. A word may stand for an integer or for a floating-point number that holds it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Sums of numbers below 1000: exact as integers and in floating point.
    Sum,
    /// Sums modulo 2^32, or 2^8 in elements of one byte.
    WrappingSum,
    /// The largest of numbers below 1000.
    Max,
    /// The least of few values, and of the places where it is found the lowest: ties are common.
    MinLoc,
    /// Composition of affine maps (elements of one byte, of one and of two words) or product of upper triangular matrices (of three words):
    /// associative, not commutative, and none that is given can be left out.
    Compose,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 5] = [
        Operator::Sum,
        Operator::WrappingSum,
        Operator::Max,
        Operator::MinLoc,
        Operator::Compose,
    ];

    /// True if operands may be exchanged.
    #[must_use]
    pub fn is_commutative(self) -> bool {
        self != Operator::Compose
    }

    /// Makes an element of any words one that results are exact with.
    pub fn prepare(self, words: &mut [u32]) {
        match self {
            Operator::WrappingSum => {}
            Operator::Sum | Operator::Max => words.iter_mut().for_each(|word| *word %= 1000),
            Operator::MinLoc => {
                let values = [3, 1000].into_iter().cycle();
                words.iter_mut().zip(values).for_each(|(word, values)| *word %= values);
            }
            // Odd slopes and diagonals have an inverse: an even one would hide some of what was combined before.
            Operator::Compose => words.iter_mut().for_each(|word| *word |= 1),
        }
    }

    /// `upper = lower o upper` for one element of words; `lower` is of lower ranks.
    ///
    /// # Panics
    /// If maps are composed that are of more than three words.
    #[inline]
    pub fn combine_words(self, lower: &[u32], upper: &mut [u32]) {
        let each = |upper: &mut [u32], of: fn(u32, u32) -> u32| {
            lower.iter().zip(upper).for_each(|(a, b)| *b = of(*a, *b));
        };
        match self {
            Operator::Sum | Operator::WrappingSum => each(upper, u32::wrapping_add),
            Operator::Max => each(upper, u32::max),
            Operator::MinLoc => {
                if lower <= &*upper {
                    upper.copy_from_slice(lower);
                }
            }
            Operator::Compose => match (lower, upper) {
                ([a], [b]) => *b = compose_halves(*a, *b),
                // t -> slope t + offset modulo 2^32; the map of the higher rank comes first.
                ([a0, a1], [b0, b1]) => {
                    (*b0, *b1) = (a0.wrapping_mul(*b0), a0.wrapping_mul(*b1).wrapping_add(*a1));
                }
                // Top left, top right, bottom right.
                ([a0, a1, a2], [b0, b1, b2]) => {
                    *b1 = a0.wrapping_mul(*b1).wrapping_add(a1.wrapping_mul(*b2));
                    (*b0, *b2) = (a0.wrapping_mul(*b0), a2.wrapping_mul(*b2));
                }
                (lower, _) => panic!("no maps of {} words", lower.len()),
            },
        }
    }

    /// `upper = lower o upper`, element by element, for elements of so many bytes.
    ///
    /// # Panics
    /// If there is no such operator on such elements.
    pub fn combine(self, element_bytes: usize, lower: &[u8], upper: &mut [u8]) {
        match (self, element_bytes) {
            (Operator::WrappingSum, 1) => lower.iter().zip(upper).for_each(|(a, b)| *b = b.wrapping_add(*a)),
            (Operator::Compose, 1) => lower.iter().zip(upper).for_each(|(a, b)| *b = compose_bytes(*a, *b)),
            (Operator::WrappingSum, _) => self.combine_as_words::<1>(lower, upper),
            (_, 4) => self.combine_as_words::<1>(lower, upper),
            (_, 8) => self.combine_as_words::<2>(lower, upper),
            (_, 12) => self.combine_as_words::<3>(lower, upper),
            _ => panic!("no {self:?} on elements of {element_bytes} bytes"),
        }
    }

    fn combine_as_words<const WORDS: usize>(self, lower: &[u8], upper: &mut [u8]) {
        let words = |bytes: &[u8]| {
            let mut words = [0; WORDS];
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *word = u32::from_ne_bytes(*bytes);
            }
            words
        };
        for (a, b) in lower.chunks_exact(4 * WORDS).zip(upper.chunks_exact_mut(4 * WORDS)) {
            let (lower, mut upper) = (words(a), words(b));
            self.combine_words(&lower, &mut upper);
            for (word, bytes) in upper.iter().zip(b.as_chunks_mut::<4>().0) {
                *bytes = word.to_ne_bytes();
            }
        }
    }

    /// The words of element `at` that `rank` gives: no other rank and place has them.
    pub fn words(self, rank: usize, at: usize, words: &mut [u32]) {
        for (place, pair) in words.chunks_mut(2).enumerate() {
            let hash = mix(((rank as u64) << 48) ^ ((place as u64) << 40) ^ (at as u64 + 1));
            let halves = [hash as u32, (hash >> 32) as u32];
            pair.copy_from_slice(&halves[..pair.len()]);
        }
        self.prepare(words);
    }

    /// The elements of this range that `rank` gives.
    #[must_use]
    pub fn contribution(self, rank: usize, at: Range<usize>, element_bytes: usize) -> Vec<u8> {
        let (mut data, mut words) = (
            Vec::with_capacity(at.len() * element_bytes),
            vec![0; element_bytes.div_ceil(4)],
        );
        for at in at {
            self.words(rank, at, &mut words);
            match (self, element_bytes) {
                // A slope of 1 to 4, as 0 would hide what was combined before, and an offset of 0 to 4.
                (Operator::Compose, 1) => data.push((1 + (words[0] >> 8) % 4) as u8 * 5 + ((words[0] >> 16) % 5) as u8),
                (_, 1) => data.push(words[0] as u8),
                _ => words.iter().for_each(|word| data.extend(word.to_ne_bytes())),
            }
        }
        data
    }
}

/// Affine maps t -> slope t + offset modulo 2^16, the slope in the lower half; the map of the higher rank comes first.
fn compose_halves(x: u32, y: u32) -> u32 {
    let (a, b, c, d) = (x & 0xFFFF, x >> 16, y & 0xFFFF, y >> 16);
    let factor = a.wrapping_mul(c) & 0xFFFF;
    let term = a.wrapping_mul(d).wrapping_add(b) & 0xFFFF;
    term << 16 | factor
}

/// Affine maps over the field of 5 elements, 5 slope + offset; the map of the higher rank comes first.
fn compose_bytes(x: u8, y: u8) -> u8 {
    let ((a, b), (c, d)) = ((x / 5, x % 5), (y / 5, y % 5));
    a * c % 5 * 5 + (a * d + b) % 5
}

#[cfg(test)]
mod tests {
    use super::Operator;

    /// Tests are as strong as the operators: each must notice a swap of operands, a missing and a doubled contribution.
    #[test]
    fn operators_are_associative_commutative_as_they_say_and_notice_what_they_should() {
        for operator in Operator::ALL {
            for element_bytes in [1, 4, 8, 12] {
                let is_defined = match operator {
                    Operator::WrappingSum | Operator::Compose => true,
                    Operator::MinLoc => element_bytes == 8,
                    Operator::Sum | Operator::Max => element_bytes != 1,
                };
                if !is_defined {
                    continue;
                }
                let label = format!("{operator:?} on {element_bytes} bytes");
                let combine = |left: &[u8], right: &[u8]| {
                    let mut result = right.to_vec();
                    operator.combine(element_bytes, left, &mut result);
                    result
                };
                let [a, b, c] = [0, 1, 2].map(|rank| operator.contribution(rank, 0..50, element_bytes));
                let (ab, bc) = (combine(&a, &b), combine(&b, &c));
                assert_eq!(combine(&ab, &c), combine(&a, &bc), "{label}: associative");
                assert_eq!(ab == combine(&b, &a), operator.is_commutative(), "{label}: commutative");
                let is_idempotent = matches!(operator, Operator::Max | Operator::MinLoc);
                assert_eq!(combine(&a, &ab) == ab, is_idempotent, "{label}: idempotent");
                assert!(
                    combine(&ab, &c) != ab && combine(&ab, &c) != combine(&a, &c),
                    "{label}: one is missing"
                );
            }
        }
    }

    #[test]
    fn contributions_differ_from_rank_to_rank_and_from_place_to_place() {
        for (element_bytes, distinct) in [(4, 1), (8, 1), (12, 1), (1, 8)] {
            let of = |rank, at: usize| Operator::WrappingSum.contribution(rank, at..at + distinct, element_bytes);
            let all: Vec<Vec<u8>> = (0..20).flat_map(|rank| (0..20).map(move |at| of(rank, at))).collect();
            for (i, one) in all.iter().enumerate() {
                assert!(!all[..i].contains(one), "{element_bytes} bytes");
            }
        }
        let (whole, part) = (
            Operator::Compose.contribution(3, 0..9, 12),
            Operator::Compose.contribution(3, 4..9, 12),
        );
        assert_eq!(whole[48..], part);
    }
}
