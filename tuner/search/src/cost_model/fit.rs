//! Prices from measured times: least squares on relative errors, no price below zero, outliers held down.
//!
//! Times span orders of magnitude and their noise grows with them, so the fit minimises the sum of `((x * theta - t) / t)^2`. Three prices make
//! the constraint easy: the best non-negative solution is the unconstrained one on the prices that are not zero, so all seven sets of prices are
//! solved and the best feasible one is taken. Huber's weights hold down disturbed launches (P. J. Huber, Robust estimation of a location
//! parameter, Annals of Mathematical Statistics 35(1), 1964, doi:10.1214/aoms/1177703732), solved again until they settle.
//!
//! The equations have three unknowns: elimination is a dozen lines here, a crate for matrices would be most of the build.

use kilter_algorithms::Cost;

/// Fewer points say nothing about three prices.
pub const MIN_POINTS: usize = 6;

/// A model decides nothing if less than the share [`MOST`] of fitted times lies within this factor of the measured ones. Beyond it two
/// predictions would have to be a factor of six apart, which is more than most algorithms differ by.
pub const MAX_MISFIT: f64 = 2.0;

/// Share of the times that the [misfit](Fit::misfit) covers. With all of them, one disturbed time, or one algorithm that the model does not
/// describe, decides: nothing was ever left out of recorded contests of 2 to 8 ranks. The share was chosen by these, so that they are no test
/// of it.
pub const MOST: f64 = 0.8;

/// A larger misfit is as bad, and may be infinite.
const WORST: f64 = 1e6;

/// Relative noise of a measured time at least: a fit of few points may be exact by chance.
const LEAST_NOISE: f64 = 0.02;

/// Weight of a residual falls from this many standard deviations on: 95 % efficiency for normal errors.
const HUBER: f64 = 1.345;

/// Solutions with new weights.
const ITERATIONS: usize = 20;

/// Keeps prices apart that the points do not tell apart: their uncertainty becomes huge, not infinite.
const RIDGE: f64 = 1e-10;

/// Three numbers: of rounds, bytes sent, bytes reduced.
type Triple = [f64; 3];

/// Fitted prices.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Seconds per round.
    pub alpha: f64,
    /// Seconds per byte sent.
    pub beta: f64,
    /// Seconds per byte combined.
    pub gamma: f64,
    /// Times that it was fitted to.
    pub points: usize,
    /// The factor between measured times and the fitted ones, either way, within which [`MOST`] of them lie; at least 1.
    pub misfit: f64,
    covariance: [Triple; 3],
}

/// A predicted time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// The model's time.
    pub seconds: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Fit {
    /// Fits prices to counts and seconds; `None` where there are fewer than [`MIN_POINTS`], or all cost nothing.
    ///
    /// Times that are not positive and finite are left out.
    #[must_use]
    pub fn of(points: &[(Cost, f64)]) -> Option<Fit> {
        // Divided by the time, every equation reads `x * theta = 1`, and residuals are relative errors.
        let rows: Vec<Triple> = points
            .iter()
            .filter(|(_, seconds)| seconds.is_finite() && *seconds > 0.0)
            .map(|(cost, seconds)| counts(*cost).map(|count| count / seconds))
            .filter(|row| row.iter().any(|count| *count > 0.0))
            .collect();
        if rows.len() < MIN_POINTS {
            return None;
        }
        let mut weights = vec![1.0; rows.len()];
        let mut theta = solve(&rows, &weights)?;
        let mut noise = LEAST_NOISE;
        for _ in 0..ITERATIONS {
            let residuals: Vec<f64> = rows.iter().map(|row| (dot(row, &theta) - 1.0).abs()).collect();
            noise = spread(&residuals).max(LEAST_NOISE);
            weights = residuals.iter().map(|r| (HUBER * noise / r).min(1.0)).collect();
            let next = solve(&rows, &weights)?;
            let moved = (0..3).any(|i| (next[i] - theta[i]).abs() > 1e-9 * next[i].abs());
            theta = next;
            if !moved {
                break;
            }
        }
        let mut factors: Vec<f64> = rows
            .iter()
            .map(|row| dot(row, &theta).ln().abs().exp().min(WORST))
            .collect();
        factors.sort_by(f64::total_cmp);
        let misfit = factors[((factors.len() - 1) as f64 * MOST).ceil() as usize];
        let [alpha, beta, gamma] = theta;
        Some(Fit {
            alpha,
            beta,
            gamma,
            points: rows.len(),
            misfit,
            covariance: covariance(&rows, &weights, noise),
        })
    }

    /// True if it fits well enough to decide anything.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.misfit <= MAX_MISFIT
    }

    /// Predicted time of a call with these counts; `None` if it costs nothing in the model.
    ///
    /// The interval is the fit's [`misfit`](Fit::misfit) either way, widened by two standard errors of the prediction: a call that
    /// depends on a price which the points do not tell has an interval that excludes nothing.
    #[must_use]
    pub fn predict(&self, cost: Cost) -> Option<Predicted> {
        let seconds = cost.seconds(self.alpha, self.beta, self.gamma);
        if !(seconds.is_finite() && seconds > 0.0) {
            return None;
        }
        let relative = counts(cost).map(|count| count / seconds);
        let variance: f64 = (0..3).map(|i| relative[i] * dot(&self.covariance[i], &relative)).sum();
        let factor = self.misfit * (2.0 * variance.max(0.0).sqrt()).exp();
        Some(Predicted {
            seconds,
            low: seconds / factor,
            high: seconds * factor,
        })
    }
}

fn counts(cost: Cost) -> Triple {
    [cost.rounds, cost.bytes_sent, cost.bytes_reduced]
}

fn dot(a: &Triple, b: &Triple) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum()
}

/// Standard deviation of normal errors with this median of absolute residuals.
fn spread(absolute: &[f64]) -> f64 {
    let mut sorted = absolute.to_vec();
    sorted.sort_by(f64::total_cmp);
    1.4826 * sorted[sorted.len() / 2]
}

/// `A^T W A` with every column at unit length, the lengths, and `A^T W 1` likewise.
fn normal(rows: &[Triple], weights: &[f64]) -> ([Triple; 3], Triple, Triple) {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for (row, weight) in rows.iter().zip(weights) {
        for i in 0..3 {
            right[i] += weight * row[i];
            for j in 0..3 {
                matrix[i][j] += weight * row[i] * row[j];
            }
        }
    }
    let lengths = [0, 1, 2].map(|i: usize| if matrix[i][i] > 0.0 { matrix[i][i].sqrt() } else { 1.0 });
    for i in 0..3 {
        right[i] /= lengths[i];
        for j in 0..3 {
            matrix[i][j] /= lengths[i] * lengths[j];
        }
    }
    (matrix, lengths, right)
}

/// The non-negative prices with the least weighted sum of squares.
fn solve(rows: &[Triple], weights: &[f64]) -> Option<Triple> {
    let (matrix, lengths, right) = normal(rows, weights);
    let mut best: Option<(f64, Triple)> = None;
    for set in 1..8_usize {
        let used: Vec<usize> = (0..3).filter(|i| set & (1 << i) != 0).collect();
        let Some(scaled) = eliminate(&matrix, &right, &used) else {
            continue;
        };
        if scaled.iter().any(|price| *price < 0.0) {
            continue;
        }
        let theta: Triple = [0, 1, 2].map(|i: usize| scaled[i] / lengths[i]);
        let squares = |(row, weight): (&Triple, &f64)| weight * (dot(row, &theta) - 1.0).powi(2);
        let sum: f64 = rows.iter().zip(weights).map(squares).sum();
        if best.is_none_or(|(least, _)| sum < least) {
            best = Some((sum, theta));
        }
    }
    best.map(|(_, theta)| theta)
}

/// Solves for the unknowns in `used`, the others being zero; `None` where the equations do not determine them.
fn eliminate(matrix: &[Triple; 3], right: &Triple, used: &[usize]) -> Option<Triple> {
    let mut rows: Vec<Vec<f64>> = used
        .iter()
        .map(|&i| used.iter().map(|&j| matrix[i][j]).chain([right[i]]).collect())
        .collect();
    let size = used.len();
    for column in 0..size {
        let pivot = (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        // Columns have unit length: a pivot this small is rounding.
        if rows[column][column].abs() < RIDGE {
            return None;
        }
        let own = rows[column].clone();
        for (other, row) in rows.iter_mut().enumerate() {
            if other != column {
                let factor = row[column] / own[column];
                row.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
            }
        }
    }
    let mut solution = [0.0; 3];
    for (position, &unknown) in used.iter().enumerate() {
        solution[unknown] = rows[position][size] / rows[position][position];
    }
    Some(solution)
}

/// Covariance of the prices, in their units squared.
fn covariance(rows: &[Triple], weights: &[f64], noise: f64) -> [Triple; 3] {
    let (mut matrix, lengths, _) = normal(rows, weights);
    for (i, row) in matrix.iter_mut().enumerate() {
        row[i] += RIDGE;
    }
    let unit = |j: usize| [0, 1, 2].map(|i: usize| if i == j { 1.0 } else { 0.0 });
    let columns = [0, 1, 2].map(|j| eliminate(&matrix, &unit(j), &[0, 1, 2]).unwrap_or([f64::INFINITY; 3]));
    [0, 1, 2].map(|i: usize| [0, 1, 2].map(|j: usize| noise * noise * columns[j][i] / (lengths[i] * lengths[j])))
}
