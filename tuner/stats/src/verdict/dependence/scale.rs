//! The test of a cell whose launches form too few units for a test of ranks: by how much, not only how often.
//!
//! Five units reach no p-value below 1/32 by their signs, and a run of a hundred cells asks for 1/2000. A cell that takes twice its
//! bound in every launch is clear all the same: its ratio lies far beyond whatever the launches differ by. So the **mean of the
//! logarithms of the ratios is compared with their spread**, by Student's t.
//!
//! *Three units or more*: the means of units, which, as means of logarithms, are close to normal. The method of batch means. Neighbouring
//! units may still correlate by as much as their length was chosen for ([`length::MOST`](super::length::MOST)), which makes the mean that
//! much less sure.
//!
//! *Fewer*: launches are taken for an autoregressive process whose neighbours correlate by [`CORRELATION`], more than anything
//! that was seen. Its best estimate of the mean, and of the spread of what is new in each launch, have a ratio that is Student's t. Where
//! launches correlate less, the mean is surer than this takes it to be, and p is too large. Dependence of another shape, such as
//! a jump between two groups, leaves fewer values than launches: only [`FREEDOM`] degrees of freedom are counted.
//!
//! *What it asks for*: log ratios that are about normal. Heavier tails widen the spread more than they move the mean (Student's t is known
//! to err on the safe side there). `kilter validate-statistics` has the rates.
//!
//! Sources: batch means: Law and Carson, Operations Research 27(5):1011-1025, 1979, doi:10.1287/opre.27.5.1011; an autoregressive
//! process by generalised least squares: Prais and Winsten, Cowles Commission Discussion Paper 383, 1954.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Correlation of neighbouring launches that is assumed where no unit is known.
const CORRELATION: f64 = 0.9;

/// Degrees of freedom where no unit is known, as if three values were independent.
const FREEDOM: f64 = 2.0;

/// Units that have a spread of their own.
pub(super) const LEAST_UNITS: usize = 3;

/// A mean logarithm, how sure it is, and the degrees of freedom of that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    mean: f64,
    error: f64,
    freedom: f64,
}

impl Mean {
    /// Mean of units whose neighbours correlate by at most this; `None` for too few, and for equal ones, whose error nothing tells.
    pub(super) fn of_units(logarithms: &[f64], correlation: f64) -> Option<Mean> {
        let count = logarithms.len() as f64;
        let mean = logarithms.iter().sum::<f64>() / count;
        let square: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
        let inflated = (1.0 + correlation) / (1.0 - correlation);
        let error = (square / (count - 1.0) / count * inflated).sqrt();
        (logarithms.len() >= LEAST_UNITS && error > 0.0).then_some(Mean {
            mean,
            error,
            freedom: count - 1.0,
        })
    }

    /// Mean of launches that depend on each other, in order; `None` as above.
    pub(super) fn of_launches(logarithms: &[f64]) -> Option<Mean> {
        let first = *logarithms.first()?;
        // Whitened: the first value by the spread of the process, the others by what is new in them.
        let of_first = (1.0 - CORRELATION * CORRELATION).sqrt();
        let of_others = 1.0 - CORRELATION;
        let weight = of_first * of_first + (logarithms.len() - 1) as f64 * of_others * of_others;
        let new = || logarithms.windows(2).map(|pair| pair[1] - CORRELATION * pair[0]);
        let mean = (of_first * of_first * first + of_others * new().sum::<f64>()) / weight;
        let square =
            (of_first * (first - mean)).powi(2) + new().map(|new| (new - of_others * mean).powi(2)).sum::<f64>();
        let error = (square / (logarithms.len() as f64 - 1.0) / weight).sqrt();
        (logarithms.len() > FREEDOM as usize && error > 0.0).then_some(Mean {
            mean,
            error,
            freedom: FREEDOM,
        })
    }

    fn student(self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.freedom).ok()
    }

    /// One-sided p-value of "the left side takes longer".
    pub(super) fn p_left_greater(self) -> f64 {
        self.student().map_or(1.0, |student| student.sf(self.mean / self.error))
    }

    /// Ends of the interval of the ratio.
    pub(super) fn interval(self, confidence: f64) -> (f64, f64) {
        let wide = self.student().map_or(f64::INFINITY, |student| {
            student.inverse_cdf(f64::midpoint(1.0, confidence))
        });
        let end = |sign: f64| (self.mean + sign * wide * self.error).exp();
        (end(-1.0), end(1.0))
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn units_are_judged_by_students_t() {
        // scipy.stats.ttest_1samp([0.1, 0.3, 0.2, 0.25, 0.15], 0, alternative="greater"): t = 5.656854, p = 0.002406
        let mean = Mean::of_units(&[0.1, 0.3, 0.2, 0.25, 0.15], 0.0).unwrap();
        approx::assert_relative_eq!(mean.mean / mean.error, 5.656_854, max_relative = 1e-6);
        approx::assert_relative_eq!(mean.p_left_greater(), 0.002_406_3, max_relative = 1e-3);
        let (low, high) = mean.interval(0.95);
        // 0.2 -+ 2.776445 * 0.0353553.
        approx::assert_relative_eq!(low.ln(), 0.2 - 0.098_162, epsilon = 1e-5);
        approx::assert_relative_eq!(high.ln(), 0.2 + 0.098_162, epsilon = 1e-5);
        assert!(Mean::of_units(&[0.1, 0.2], 0.0).is_none() && Mean::of_units(&[0.1; 5], 0.0).is_none());
        let correlated = Mean::of_units(&[0.1, 0.3, 0.2, 0.25, 0.15], 0.1).unwrap();
        approx::assert_relative_eq!(correlated.error / mean.error, 1.105_542, max_relative = 1e-6);
    }

    #[test]
    fn what_lies_far_beyond_its_own_spread_is_clear_in_seven_dependent_launches() {
        // Bcast of 256 KiB against Scatter and Allgather on eight virtual hosts, while another program ran: milliseconds.
        let left = [16.581, 16.590, 16.615, 16.614, 16.610, 16.614, 16.576];
        let right = [8.346, 8.424, 8.510, 8.447, 8.577, 8.937, 8.754];
        let ratios: Vec<f64> = left
            .iter()
            .zip(right)
            .map(|(left, right): (&f64, f64)| (left / right).ln())
            .collect();
        let mean = Mean::of_launches(&ratios).unwrap();
        assert!(mean.p_left_greater() < 0.01, "{mean:?}");
        let (low, high) = mean.interval(0.95);
        assert!((1.3..1.9).contains(&low) && (1.95..2.6).contains(&high), "{low} {high}");
        // A twentieth of that is not.
        let near: Vec<f64> = ratios.iter().map(|ratio| ratio - 0.63).collect();
        assert!(Mean::of_launches(&near).unwrap().p_left_greater() > 0.05);
    }

    fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        let (a, b): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Number of series, of 20000 with equal sides, that have a p of at most `level`.
    fn rate(launches: usize, level: f64, mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> Vec<f64>) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(launches as u64);
        let alarms = (0..20_000).filter(|_| {
            let series = draw(&mut random);
            Mean::of_launches(&series).is_some_and(|mean| mean.p_left_greater() <= level)
        });
        alarms.count() as f64 / 20_000.0
    }

    #[test]
    fn no_launches_correlate_so_much_that_equal_sides_are_violated() {
        for launches in [5, 7, 10, 20] {
            for correlation in [0.0, 0.3, 0.6, 0.9_f64] {
                let rate = rate(launches, 0.01, |random| {
                    let mut state = normal(random);
                    let step = (1.0 - correlation * correlation).sqrt();
                    let next = |_| {
                        let next = correlation * state + step * normal(random);
                        std::mem::replace(&mut state, next)
                    };
                    (0..launches).map(next).collect()
                });
                assert!(
                    rate <= 0.01,
                    "{rate} of {launches} launches that correlate by {correlation}"
                );
            }
            // Four launches share their luck.
            let rate = rate(launches, 0.01, |random| {
                let luck: Vec<f64> = (0..=launches / 4).map(|_| normal(random)).collect();
                (0..launches)
                    .map(|launch| luck[launch / 4] + 0.2 * normal(random))
                    .collect()
            });
            assert!(rate <= 0.01, "{rate} of {launches} launches in groups of four");
        }
    }
}
