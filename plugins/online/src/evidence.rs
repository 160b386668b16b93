//! Evidence that an event is more, or less, frequent than half: a bet that may be looked at at any time.
//!
//! The weight of `w` hits in `n` trials is `2^n / ((n + 1) C(n, w))`, the ratio of the likelihood mixed evenly over all frequencies to that of one half
//! (Robbins 1970, doi:10.1214/aoms/1177696786). If each trial hits with probability one half given the ones before, the weight ever reaches `x` with
//! probability `1/x` at most (Ville's inequality), however often it is looked at. It is kept in integers of 2^-32, rounded down, which can
//! only hide evidence.

/// Weights are kept up to this one: more is never asked for.
const MOST: u128 = 1 << 96;
const ONE: u128 = 1 << 32;

/// Hits and misses so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evidence {
    hits: u32,
    trials: u32,
    weight: u128,
}

impl Evidence {
    pub(crate) const NONE: Evidence = Evidence {
        hits: 0,
        trials: 0,
        weight: ONE,
    };

    pub(crate) fn add(&mut self, hit: bool) {
        // The chance that the mixture gave to what happened, over one half.
        let of_its_kind = if hit { self.hits } else { self.trials - self.hits };
        self.weight = (self.weight * 2 * u128::from(of_its_kind + 1) / u128::from(self.trials + 2)).min(MOST);
        self.hits += u32::from(hit);
        self.trials += 1;
    }

    pub(crate) fn trials(&self) -> u32 {
        self.trials
    }

    /// True if so much evidence says that hits are more frequent than misses.
    pub(crate) fn shows_more(&self, weight: u64) -> bool {
        2 * u64::from(self.hits) > u64::from(self.trials) && self.reaches(weight)
    }

    /// True if so much evidence says that hits are less frequent than misses.
    pub(crate) fn shows_less(&self, weight: u64) -> bool {
        2 * u64::from(self.hits) < u64::from(self.trials) && self.reaches(weight)
    }

    fn reaches(&self, weight: u64) -> bool {
        self.weight >= u128::from(weight).saturating_mul(ONE).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hits: u32, misses: u32) -> Evidence {
        let mut evidence = Evidence::NONE;
        for at in 0..hits.max(misses) {
            if at < hits {
                evidence.add(true);
            }
            if at < misses {
                evidence.add(false);
            }
        }
        evidence
    }

    #[test]
    fn the_weight_is_that_of_the_formula() {
        // 2^10 / 11, 2^11 / (12 * 11), and 2^4 / (5 * 6).
        for (hits, misses, expected) in [(10, 0, 1024.0 / 11.0), (10, 1, 2048.0 / 132.0), (2, 2, 16.0 / 30.0)] {
            let weight = of(hits, misses).weight as f64 / ONE as f64;
            assert!((weight - expected).abs() < 1e-6, "{hits} {misses}: {weight} {expected}");
            assert_eq!(of(hits, misses).weight / 1000, of(misses, hits).weight / 1000);
        }
        assert!(of(14, 0).shows_more(800) && !of(13, 0).shows_more(800));
        assert!(of(0, 14).shows_less(800) && !of(0, 14).shows_more(800));
        assert_eq!(of(100_000, 0).weight, MOST, "it neither overflows nor forgets");
    }

    /// All 2^16 courses of a fair coin: the weight reaches 20 in at most a twentieth of them.
    #[test]
    fn a_fair_coin_seldom_shows_anything() {
        let reaches = |course: u32| {
            let mut evidence = Evidence::NONE;
            (0..16).any(|at| {
                evidence.add(course >> at & 1 == 1);
                evidence.reaches(20)
            })
        };
        let found = (0..1 << 16).filter(|course| reaches(*course)).count();
        assert!(found > 0 && found <= (1 << 16) / 20, "{found}");
    }
}
