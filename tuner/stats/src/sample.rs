//! A checked sample: at least one value, every value finite.

use thiserror::Error;

/// Reason why values are not a sample.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum SampleError {
    /// There is no value.
    #[error("a sample needs at least one value, none was given; measure this cell again")]
    Empty,
    /// A value is NaN or infinite.
    #[error("value {index} of the sample is {value}, allowed are finite numbers; measure this cell again")]
    NotFinite {
        /// Position in the given order, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
}

/// Values in the order of measurement, and the same values in ascending order.
///
/// Negative zero is stored as zero, so that values that compare equal are also equal in every order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
    sorted: Vec<f64>,
}

impl Sample {
    /// Checks and sorts the values, in O(n log n). An error if there is no value, or one that is NaN or infinite.
    pub fn new(mut values: Vec<f64>) -> Result<Sample, SampleError> {
        if values.is_empty() {
            return Err(SampleError::Empty);
        }
        for (index, value) in values.iter_mut().enumerate() {
            if !value.is_finite() {
                return Err(SampleError::NotFinite { index, value: *value });
            }
            *value += 0.0;
        }
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Ok(Sample { values, sorted })
    }

    /// The values in the order in which they were given.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values in ascending order.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// Number of values; never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a sample is never empty")]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The smallest value.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    /// The middle value; the mean of the two middle ones where the number of values is even.
    #[must_use]
    pub fn median(&self) -> f64 {
        median_of_sorted(&self.sorted)
    }

    /// The `q`-quantile, linear between order statistics: definition 7 of Hyndman and Fan, The American Statistician
    /// 50(4):361-365, 1996, doi:10.2307/2684934, the default of R and NumPy.
    ///
    /// `q` below 0 counts as 0, above 1 as 1, NaN as 0.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        let last = self.sorted.len() - 1;
        let q = if q.is_nan() { 0.0 } else { q.clamp(0.0, 1.0) };
        let position = q * last as f64;
        let below = (position.floor() as usize).min(last);
        let above = (below + 1).min(last);
        let (low, high) = (self.sorted[below], self.sorted[above]);
        let weight = position - below as f64;
        // Rounding must not carry the value beyond its neighbours.
        (low * (1.0 - weight) + high * weight).clamp(low, high)
    }
}

/// The median of values in ascending order. The caller passes at least one value.
pub(super) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        sorted[middle - 1].midpoint(sorted[middle])
    }
}

/// The values at these places of the ascending order, from 0; the places ascend. The rest is not sorted: O(n), where sorting takes
/// O(n log n).
pub(super) fn order_statistics<const N: usize>(values: &mut [f64], places: [usize; N]) -> [f64; N] {
    // All values before this place are in order.
    let mut settled = 0;
    places.map(|place| {
        if place >= settled {
            values[settled..].select_nth_unstable_by(place - settled, f64::total_cmp);
            settled = place + 1;
        }
        values[place]
    })
}

/// The places, from 0, of the middle values among so many: the same one twice where that is odd. At least one value.
pub(super) fn middle_places(count: usize) -> [usize; 2] {
    [(count - 1) / 2, count / 2]
}

/// The median of values in any order, and the `rank`-th smallest and largest of them, from 1: lowest, median, highest. The rank is at most
/// half of the values, rounded up.
pub(super) fn median_and_ends(values: &mut [f64], rank: usize) -> (f64, f64, f64) {
    let [below, above] = middle_places(values.len());
    let places = [rank - 1, below, above, values.len() - rank];
    let [low, below, above, high] = order_statistics(values, places);
    (low, below.midpoint(above), high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_nan_and_infinity_are_refused() {
        assert_eq!(Sample::new(vec![]), Err(SampleError::Empty));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Sample::new(vec![1.0, value]).unwrap_err();
            assert!(matches!(error, SampleError::NotFinite { index: 1, .. }), "{error}");
            assert!(error.to_string().starts_with("value 1 of the sample is "), "{error}");
        }
    }

    #[test]
    fn the_given_order_is_kept_beside_the_sorted_one() {
        let sample = Sample::new(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!(sample.values(), [3.0, 1.0, 2.0]);
        assert_eq!(sample.sorted(), [1.0, 2.0, 3.0]);
        assert_eq!((sample.len(), sample.min(), sample.max()), (3, 1.0, 3.0));
    }

    #[test]
    fn medians_of_one_two_three_and_four_values() {
        for (values, median) in [
            (vec![5.0], 5.0),
            (vec![5.0, 1.0], 3.0),
            (vec![5.0, 1.0, 4.0], 4.0),
            (vec![5.0, 1.0, 4.0, 2.0], 3.0),
            (vec![f64::MAX, f64::MAX], f64::MAX),
        ] {
            assert_eq!(Sample::new(values.clone()).unwrap().median(), median, "{values:?}");
        }
    }

    #[test]
    fn quantiles_outside_the_unit_interval_are_the_extremes() {
        let sample = Sample::new(vec![2.0, 8.0, 4.0]).unwrap();
        for (q, value) in [
            (-1.0, 2.0),
            (0.0, 2.0),
            (0.25, 3.0),
            (0.5, 4.0),
            (0.75, 6.0),
            (1.0, 8.0),
            (2.0, 8.0),
        ] {
            assert_eq!(sample.quantile(q), value, "quantile {q}");
        }
        assert_eq!(sample.quantile(f64::NAN), 2.0);
        assert_eq!(Sample::new(vec![7.0]).unwrap().quantile(0.3), 7.0);
    }

    #[test]
    fn what_is_selected_is_what_sorting_gives() {
        // A linear congruential sequence; a third of the values come twice.
        let drawn = |count: u64| (0..count).map(move |at| (at * at * 7919 + at * 104_729) % (count - count / 3));
        for count in [1, 2, 3, 4, 7, 10, 55, 400, 3240] {
            let values: Vec<f64> = drawn(count).map(|value| value as f64 / 7.0).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            for rank in [1, values.len().div_ceil(4), values.len().div_ceil(2)] {
                let (low, median, high) = median_and_ends(&mut values.clone(), rank);
                let expected = (sorted[rank - 1], median_of_sorted(&sorted), sorted[values.len() - rank]);
                assert_eq!((low, median, high), expected, "{count} {rank}");
            }
        }
    }

    #[test]
    fn both_zeros_are_one_value() {
        let sample = Sample::new(vec![0.0, -0.0]).unwrap();
        assert!(sample.sorted().iter().all(|value| value.is_sign_positive()));
    }
}
