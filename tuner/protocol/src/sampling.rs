//! Collective calls whose waiting is measured: one in so many, chosen by the communicator's own count of such calls, so that all its ranks
//! choose the same ones.

/// Variable with the interval: one call in so many is sampled, none if it is 0.
pub const VARIABLE: &str = "KILTER_TRACER_SAMPLE";

/// Interval where nobody says otherwise.
pub const INTERVAL: u32 = 8;

/// Largest interval.
pub const MAX_INTERVAL: u32 = 1 << 24;

/// The calls that are sampled.
///
/// Choices are nested: what half of the share chooses, the whole share chooses, too. So a rank whose memory is full can go on with half of its
/// samples, and what is left is a choice that another rank can make, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Numbers that are below it when they are mixed are chosen.
    below: u64,
}

impl Choice {
    /// One call in `interval`, halved so often; no call if the interval is 0.
    #[must_use]
    pub fn new(interval: u32, halvings: u32) -> Choice {
        let whole = if interval == 0 {
            0
        } else {
            u64::MAX / u64::from(interval)
        };
        Choice {
            below: whole.checked_shr(halvings).unwrap_or(0),
        }
    }

    /// True if the call of this number on its communicator, from 0, is sampled.
    #[inline]
    #[must_use]
    pub fn has(self, number: u64) -> bool {
        mixed(number) < self.below
    }
}

/// The finisher of a hash (MurmurHash3's 64 bits): the bits of neighbours have nothing in common, so that a program which repeats a sequence of calls
/// has no call of it that is never chosen. 0 stays 0: the first call is always chosen.
#[inline]
fn mixed(number: u64) -> u64 {
    let mut bits = number;
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_in_so_many_is_chosen_of_every_repeated_sequence() {
        for interval in [1, 3, 8, 100] {
            for period in [1, 2, 8, 13, 144] {
                for phase in [0, period - 1] {
                    const CALLS: u64 = 100_000;
                    let choice = Choice::new(interval, 0);
                    let chosen = (0..CALLS).filter(|call| choice.has(call * period + phase)).count() as f64;
                    // A binomial count: five standard deviations around its mean.
                    let share = 1.0 / f64::from(interval);
                    let mean = CALLS as f64 * share;
                    let bound = 5.0 * (mean * (1.0 - share)).sqrt() + 1.0;
                    assert!((chosen - mean).abs() <= bound, "{interval} {period} {phase}: {chosen}");
                }
            }
        }
    }

    #[test]
    fn half_a_choice_is_within_the_whole_and_has_the_first_call() {
        for halvings in 0..6 {
            let (whole, half) = (Choice::new(5, halvings), Choice::new(5, halvings + 1));
            assert!(half.has(0));
            assert!((0..10_000).all(|number| whole.has(number) || !half.has(number)));
        }
        assert!(!Choice::new(0, 0).has(0));
        assert!(!Choice::new(1, 64).has(0));
    }
}
