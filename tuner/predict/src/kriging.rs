//! Residuals between layouts: kriging, the mean of a Gaussian process that goes through what was measured
//! (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press 2006, algorithm 2.1).
//!
//! A place is a layout and a volume; places are alike as far as they are near each other in octaves. Numbers of ranks that are a power of two and
//! others are further from each other, whatever their octaves. The variance is that of the residuals, and says how far from measured places a
//! prediction can be wrong; where prices were fitted to hardly more times than there are prices, residuals say little, and a usual error counts.

use kilter_model::layout::Layout;

use crate::between::is_odd;

/// Octaves of nodes and of ranks on each over which residuals resemble each other.
const LAYOUT_OCTAVES: f64 = 2.0;
/// Octaves of volume over which they do.
const VOLUME_OCTAVES: f64 = 3.0;
/// Distance of powers of two and others, beside their octaves: a correlation of 0.6.
const ODD: f64 = 1.0;
/// Error of a model that is usual, and times that it weighs as many as: a model that is right at few places is right by chance.
const USUAL_DEVIATION: f64 = 0.15;
const USUAL_WEIGHT: f64 = 4.0;
/// Times are never thought to be more exact.
const LEAST_NOISE: f64 = 0.002;

/// A layout and a volume, in octaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place([f64; 4]);

impl Place {
    pub(crate) fn of(layout: Layout, bytes: u64) -> Place {
        let octaves = |number: usize, length: f64| (number as f64).log2() / length;
        Place([
            octaves(layout.nodes, LAYOUT_OCTAVES),
            octaves(layout.per_node, LAYOUT_OCTAVES),
            (bytes.max(1) as f64).log2() / VOLUME_OCTAVES,
            if is_odd(layout) { ODD } else { 0.0 },
        ])
    }

    fn correlation(self, other: Place) -> f64 {
        let squares: f64 = self.0.iter().zip(other.0).map(|(a, b)| (a - b).powi(2)).sum();
        (-0.5 * squares).exp()
    }
}

/// Residuals at places, and what they say of others.
#[derive(Debug, Clone)]
pub(crate) struct Residuals {
    places: Vec<Place>,
    /// Lower triangle of the places' correlations, noise included.
    triangle: Vec<Vec<f64>>,
    weights: Vec<f64>,
    variance: f64,
}

impl Residuals {
    /// `seen`: place, residual of the logarithm, noise of the time; `prices`: how many were fitted to the times.
    pub(crate) fn of(seen: &[(Place, f64, f64)], prices: usize) -> Residuals {
        let free = seen.len().saturating_sub(prices) as f64 + USUAL_WEIGHT;
        let usual = USUAL_WEIGHT * USUAL_DEVIATION.powi(2);
        let squares: f64 = seen.iter().map(|(_, residual, _)| residual.powi(2)).sum();
        let spread = (squares + usual) / free;
        let matrix: Vec<Vec<f64>> = seen
            .iter()
            .enumerate()
            .map(|(row, (place, _, noise))| {
                let before = seen[..=row].iter().map(|(other, _, _)| place.correlation(*other));
                let mut line: Vec<f64> = before.collect();
                // Noise is relative to the variance, which is not known yet: the plain mean of squares stands for it.
                line[row] += noise.max(LEAST_NOISE).powi(2) / spread;
                line
            })
            .collect();
        let triangle = cholesky(matrix);
        let residuals: Vec<f64> = seen.iter().map(|(_, residual, _)| *residual).collect();
        let half = forward(&triangle, &residuals);
        let variance = (half.iter().map(|value| value.powi(2)).sum::<f64>() + usual) / free;
        Residuals {
            places: seen.iter().map(|(place, _, _)| *place).collect(),
            weights: backward(&triangle, &half),
            triangle,
            variance,
        }
    }

    /// Expected residual at a place, and its standard deviation.
    pub(crate) fn at(&self, place: Place) -> (f64, f64) {
        let alike: Vec<f64> = self.places.iter().map(|other| place.correlation(*other)).collect();
        let mean = alike.iter().zip(&self.weights).map(|(a, b)| a * b).sum();
        let explained: f64 = forward(&self.triangle, &alike).iter().map(|value| value.powi(2)).sum();
        (mean, (self.variance * (1.0 - explained).max(0.0)).sqrt())
    }
}

/// `L` with `L L^T = matrix`, of which the lower triangle is given. A pivot that rounding made negative becomes small.
fn cholesky(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for row in 0..matrix.len() {
        for column in 0..=row {
            let before: f64 = (0..column).map(|k| matrix[row][k] * matrix[column][k]).sum();
            let rest = matrix[row][column] - before;
            matrix[row][column] = if row == column {
                rest.max(1e-12).sqrt()
            } else {
                rest / matrix[column][column]
            };
        }
    }
    matrix
}

/// `x` with `L x = right`.
fn forward(triangle: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut solved: Vec<f64> = Vec::with_capacity(right.len());
    for (row, line) in triangle.iter().enumerate() {
        let before: f64 = line[..row].iter().zip(&solved).map(|(a, b)| a * b).sum();
        solved.push((right[row] - before) / line[row]);
    }
    solved
}

/// `x` with `L^T x = right`.
fn backward(triangle: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut solved = right.to_vec();
    for row in (0..triangle.len()).rev() {
        let after: f64 = (row + 1..triangle.len()).map(|k| triangle[k][row] * solved[k]).sum();
        solved[row] = (solved[row] - after) / triangle[row][row];
    }
    solved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(nodes: usize, per_node: usize, bytes: u64) -> Place {
        Place::of(Layout { nodes, per_node }, bytes)
    }

    #[test]
    fn residuals_are_met_where_they_were_measured_and_fade_away_from_there() {
        let seen = [(place(4, 1, 1024), 0.3, 0.0), (place(32, 1, 1024), -0.2, 0.0)];
        let residuals = Residuals::of(&seen, 0);
        for (place, residual, _) in seen {
            let (mean, deviation) = residuals.at(place);
            assert!((mean - residual).abs() < 0.01 && deviation < 0.02, "{mean} {deviation}");
        }
        let (far, uncertain) = residuals.at(place(4096, 64, 1 << 24));
        assert!(far.abs() < 0.01 && uncertain > 0.2, "{far} {uncertain}");
        let (between, less) = residuals.at(place(8, 1, 1024));
        assert!((-0.2..0.3).contains(&between) && less < uncertain, "{between} {less}");
    }

    #[test]
    fn powers_of_two_say_less_about_other_numbers() {
        let residuals = Residuals::of(&[(place(8, 1, 1024), 0.3, 0.0), (place(16, 1, 1024), 0.3, 0.0)], 0);
        let deviation = |nodes| residuals.at(place(nodes, 1, 1024)).1;
        assert!(deviation(12) > 3.0 * deviation(8), "{} {}", deviation(12), deviation(8));
    }

    #[test]
    fn noisy_times_are_not_followed_to_the_end() {
        let at = place(8, 1, 1024);
        let exact = Residuals::of(&[(at, 0.1, 0.0)], 0).at(at).0;
        let noisy = Residuals::of(&[(at, 0.1, 0.1)], 0).at(at).0;
        assert!(exact > 0.099 && (0.04..0.08).contains(&noisy), "{exact} {noisy}");
    }

    #[test]
    fn residuals_of_as_many_prices_as_times_say_nothing_of_the_error() {
        let seen = [(place(4, 1, 1024), 0.001, 0.0), (place(8, 1, 1024), -0.001, 0.0)];
        let far = |prices| Residuals::of(&seen, prices).at(place(1024, 16, 1 << 22)).1;
        assert!(far(2) > 0.14 && far(0) < far(2), "{} {}", far(2), far(0));
    }

    #[test]
    fn nothing_was_seen() {
        let (mean, deviation) = Residuals::of(&[], 0).at(place(8, 1, 8));
        assert!(
            mean == 0.0 && (deviation - USUAL_DEVIATION).abs() < 1e-9,
            "{mean} {deviation}"
        );
    }
}
