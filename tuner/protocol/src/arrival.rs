//! Arrival patterns: offsets at which the ranks begin a repetition, on the time that they share.
//!
//! Offsets are a pure function of the pattern, the rank and the number of the repetition. So a line of the plan says all of them in a few
//! numbers, every rank knows its own without a message, and all items with the same pattern meet the same offsets.

use serde::{Deserialize, Serialize};

/// Offsets of the ranks in the repetitions of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArrivalPattern {
    /// Form of the pattern.
    pub shape: Shape,
    /// Offset of the last rank from the first one, in seconds. A pattern of listed offsets has its own.
    pub seconds: f64,
    /// Seed of the drawn offsets.
    pub seed: u64,
}

/// Form of an arrival pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// All ranks come together but one, which comes last.
    LateOne {
        /// That rank; the last one without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rank: Option<usize>,
    },
    /// Each rank comes a step after the one before it.
    Linear,
    /// A drawn rank comes last and the others at drawn times before it, other ones in each repetition.
    Random,
    /// Seconds of each rank.
    Listed {
        /// One for each rank.
        seconds: Vec<f64>,
    },
}

impl ArrivalPattern {
    /// Offset of a rank in a repetition, in nanoseconds.
    #[must_use]
    pub fn offset_ns(&self, rank: usize, ranks: usize, repetition: u64) -> u64 {
        let whole = |fraction: f64| (fraction * self.seconds.max(0.0) * 1e9).round() as u64;
        let last = ranks.saturating_sub(1);
        match &self.shape {
            Shape::LateOne { rank: late } => whole(f64::from(u8::from(rank == late.unwrap_or(last).min(last)))),
            Shape::Linear if last == 0 => 0,
            Shape::Linear => whole(rank as f64 / last as f64),
            Shape::Random => {
                let latest = (self.drawn(repetition, u64::MAX) % ranks.max(1) as u64) as usize;
                if rank == latest {
                    return whole(1.0);
                }
                // The upper 53 bits fill a double's fraction.
                let drawn = self.drawn(repetition, rank as u64) >> 11;
                whole(drawn as f64 / (1_u64 << 53) as f64)
            }
            Shape::Listed { seconds } => (seconds.get(rank).copied().unwrap_or(0.0).max(0.0) * 1e9).round() as u64,
        }
    }

    /// A number of a repetition that looks drawn: SplitMix64's finaliser (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).
    fn drawn(&self, repetition: u64, of: u64) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        [repetition, of].iter().fold(self.seed, |state, one| {
            let mut z = (state ^ one.wrapping_mul(GOLDEN)).wrapping_add(GOLDEN);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(shape: Shape, ranks: usize, repetition: u64) -> Vec<u64> {
        let pattern = ArrivalPattern {
            shape,
            seconds: 1e-3,
            seed: 7,
        };
        (0..ranks)
            .map(|rank| pattern.offset_ns(rank, ranks, repetition))
            .collect()
    }

    #[test]
    fn one_rank_is_late_or_each_is_later_than_the_one_before() {
        assert_eq!(offsets(Shape::LateOne { rank: None }, 4, 0), [0, 0, 0, 1_000_000]);
        assert_eq!(offsets(Shape::LateOne { rank: Some(1) }, 3, 5), [0, 1_000_000, 0]);
        assert_eq!(offsets(Shape::Linear, 5, 3), [0, 250_000, 500_000, 750_000, 1_000_000]);
        assert_eq!(offsets(Shape::Linear, 1, 0), [0]);
        let listed = Shape::Listed {
            seconds: vec![2e-6, 0.0],
        };
        assert_eq!(offsets(listed, 2, 0), [2_000, 0]);
    }

    #[test]
    fn drawn_offsets_reach_the_magnitude_and_differ_between_repetitions() {
        for ranks in [1, 2, 7, 64] {
            let all: Vec<Vec<u64>> = (0..20).map(|one| offsets(Shape::Random, ranks, one)).collect();
            assert!(all.iter().all(|one| one.iter().max() == Some(&1_000_000)), "{ranks}");
            assert_eq!(all[3], offsets(Shape::Random, ranks, 3), "the same on every rank");
            assert!(ranks == 1 || all[0] != all[1]);
        }
        let latest = |one: u64| offsets(Shape::Random, 4, one).iter().position(|ns| *ns == 1_000_000);
        let last: std::collections::BTreeSet<_> = (0..40).map(latest).collect();
        assert_eq!(last.len(), 4, "every rank is the last one now and then");
        let mean = (0..1000).map(|one| offsets(Shape::Random, 65, one)[..].iter().sum::<u64>() as f64);
        let mean = mean.sum::<f64>() / 1000.0 / 65.0;
        assert!(
            (mean - 507_692.0).abs() < 20_000.0,
            "evenly before the last one: {mean}"
        );
    }

    #[test]
    fn a_pattern_is_a_few_numbers_in_the_plan() {
        let pattern = ArrivalPattern {
            shape: Shape::Random,
            seconds: 1.5e-5,
            seed: 3,
        };
        let text = serde_json::to_string(&pattern).unwrap();
        assert!(text.contains(r#""shape":"random""#) && text.len() < 60, "{text}");
        assert_eq!(serde_json::from_str::<ArrivalPattern>(&text).unwrap(), pattern);
    }
}
