//! Number of launches that make a unit whose neighbours no longer resemble it.
//!
//! Each length from two launches on is tried. The lag-1 correlation of neighbouring units' means is pooled over the
//! cells that have all launches. Few values that are centred by their own mean show far less correlation than there is:
//! for independent values the estimate lies below 0, and for five values of correlation 0.3 it lies 0.15 above that.
//! The true correlation is therefore read off from what an autoregressive process of as many values would show. The
//! length is taken at which the estimate plus one standard deviation over permuted units stays below [`MOST`].
//!
//! Cells that all shift together tell no more than one of them, though they be a hundred: the standard deviation stays above 0.1 at any length that
//! leaves enough units, and luck would choose the length. So the estimate alone has to stay below [`MOST`] from the length on
//! at which an autoregressive process would be free of it, whose launches correlate by their estimate plus one standard deviation.
//!
//! Fewer than [`LEAST_UNITS`] units cannot tell. If no length leaves as many, the length follows from the correlation
//! of the launches, taken as an autoregressive process. Its unit means lose their correlation slowly, so that this
//! answer is cautious.

use super::pooled::{Products, deviation_of_lag_one};

/// Correlation of neighbouring units that is taken for none.
pub(super) const MOST: f64 = 0.1;

/// Units that can tell whether they resemble each other.
const LEAST_UNITS: usize = 4;

/// Correlations that are tried.
const STEP: f64 = 0.01;

/// The correlation of neighbours.
pub(super) fn correlation(products: &Products) -> f64 {
    invert(products.len(), shown(products))
}

/// Launches of a unit; `None` if all launches are not enough for one.
pub(super) fn of_units(launches: &Products) -> Option<usize> {
    let count = launches.len();
    let likely = of_autoregression(invert(count, shown(launches) + deviation(launches)));
    let enough = |length: &usize| {
        let units = (count / length).max(1);
        let groups: Vec<usize> = (0..count).map(|launch| (launch / length).min(units - 1)).collect();
        let grouped = launches.grouped(&groups);
        let estimate = shown(&grouped);
        invert(units, estimate + deviation(&grouped)) <= MOST || (*length >= likely && invert(units, estimate) <= MOST)
    };
    (2..=count / LEAST_UNITS)
        .find(enough)
        .or_else(|| Some(of_autoregression(correlation(launches))).filter(|length| *length <= count))
}

/// Standard deviation of [`shown`] over the orders.
fn deviation(products: &Products) -> f64 {
    deviation_of_lag_one(products) / products.trace().max(f64::MIN_POSITIVE)
}

/// The lag-1 sum by the sum of squares, above what independent values give.
fn shown(products: &Products) -> f64 {
    let order: Vec<usize> = (0..products.len()).collect();
    products.lag_one(&order) / products.trace().max(f64::MIN_POSITIVE) + 1.0 / products.len() as f64
}

/// The correlation of an autoregressive process of which `count` values show as much.
fn invert(count: usize, shown: f64) -> f64 {
    let mut correlation = -0.9;
    while correlation < 0.95 && shown_by(count, correlation) < shown {
        correlation += STEP;
    }
    correlation
}

/// The expectation of [`shown`] for an autoregressive process: its covariances, centred. A row of these has the powers of the correlation up to
/// both ends.
fn shown_by(count: usize, correlation: f64) -> f64 {
    let powers = std::iter::successors(Some(1.0), |power| Some(power * correlation));
    let up_to: Vec<f64> = powers
        .take(count)
        .scan(0.0, |sum, power| {
            *sum += power;
            Some(*sum)
        })
        .collect();
    let rows: Vec<f64> = (0..count)
        .map(|a| (up_to[a] + up_to[count - 1 - a] - 1.0) / count as f64)
        .collect();
    let all = rows.iter().sum::<f64>() / count as f64;
    let squares: f64 = rows.iter().map(|row| 1.0 - 2.0 * row + all).sum();
    let neighbours: f64 = rows.windows(2).map(|pair| correlation - pair[0] - pair[1] + all).sum();
    neighbours / squares.max(f64::MIN_POSITIVE) + 1.0 / count as f64
}

/// The smallest length at which the means of an autoregressive process correlate by at most [`MOST`].
fn of_autoregression(correlation: f64) -> usize {
    let r = correlation.clamp(0.0, 0.95);
    let between = |length: i32| {
        let apart = r * ((1.0 - r.powi(length)) / (1.0 - r)).powi(2);
        let n = f64::from(length);
        let whole = n * (1.0 + r) / (1.0 - r) - 2.0 * r * (1.0 - r.powi(length)) / (1.0 - r).powi(2);
        apart / whole
    };
    (2..1000).find(|length| between(*length) <= MOST).unwrap_or(1000) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_few_values_show_is_read_back() {
        for count in [5, 10, 20] {
            for correlation in [0.0, 0.3, 0.6] {
                let read = invert(count, shown_by(count, correlation));
                assert!((read - correlation).abs() < 2.0 * STEP, "{count} {correlation}: {read}");
            }
        }
        // Worked out by hand for five values.
        approx::assert_relative_eq!(shown_by(5, 0.3), 0.151, max_relative = 0.01);
    }

    #[test]
    fn the_more_launches_resemble_each_other_the_longer_a_unit() {
        assert_eq!(of_autoregression(0.0), 2);
        assert_eq!(of_autoregression(0.3), 4);
        assert_eq!(of_autoregression(0.6), 12);
        assert!(of_autoregression(0.9) > 40);
    }
}
