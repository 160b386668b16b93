//! Several ordered parameters together: a quadratic model of the logarithm of the cost over the logarithms of the values, fitted to all
//! that was measured, asks for the next point.
//!
//! The model is a linear regression with a prior (Bayesian ridge regression): without measurements that say otherwise a parameter
//! is a shallow valley, and parameters do not act on each other. Far from the best point a quadratic is wrong, so points there weigh less. The next
//! point is the one near the best whose cost may be smallest: the prediction less one and a half of its standard deviations (a lower confidence
//! bound; Cox and John, SDO: A statistical method for global optimization, 1997). The search ends where no point may be better by more than 1 %.

use super::{Axis, Costs, Point, best};

/// Octaves from the best point within which the next one lies: a quadratic says nothing about more.
const REACH: f64 = 3.0;
/// Standard deviations below the prediction at which a point is compared.
const EXPLORE: f64 = 1.5;
/// Gain in the logarithm of the cost below which nothing more is measured.
const GAIN: f64 = 0.01;
/// Standard deviation of a measured logarithm.
const NOISE: f64 = 0.05;
/// Error of the model per squared octave from the best point.
const MISFIT: f64 = 0.02;
/// Prior of a slope for an octave: standard deviation around zero.
const SLOPE: f64 = 0.3;
/// Prior of a curvature for an octave squared: mean, and standard deviation also of what parameters do together.
const CURVATURE: (f64, f64) = (0.03, 0.05);
/// Values that are nearer to each other than this, in octaves, are one.
const APART: f64 = 0.125;

/// Measures at most `evaluations` more points; returns all costs, `known` ones included.
pub(super) fn minimise<E>(
    axes: &[Axis],
    evaluations: usize,
    known: &Costs,
    evaluate: &mut dyn FnMut(&[u64]) -> Result<f64, E>,
) -> Result<Costs, E> {
    let mut measured = known.clone();
    let values: Vec<Vec<u64>> = axes.iter().map(thinned).collect();
    for _ in 0..evaluations {
        let next = match best(&measured) {
            Some((point, _)) => Model::of(point, &measured).next(&values, &measured),
            // Nothing is known, or nothing that worked: the start, and no guess beyond it.
            None => Some(start(axes)).filter(|start| !measured.contains_key(start)),
        };
        let Some(next) = next else { break };
        let cost = evaluate(&next)?;
        measured.insert(next, cost);
    }
    Ok(measured)
}

fn start(axes: &[Axis]) -> Point {
    axes.iter().map(|axis| axis.start.clamp(axis.min, axis.max)).collect()
}

/// The values of a parameter, none too near to another.
fn thinned(axis: &Axis) -> Vec<u64> {
    let mut kept: Vec<u64> = Vec::new();
    for value in axis.values() {
        if value == axis.max || kept.last().is_none_or(|last| octave(value) - octave(*last) >= APART) {
            kept.push(value);
        }
    }
    kept
}

/// Position of a value; a choice may be 0.
fn octave(value: u64) -> f64 {
    (value as f64 + 1.0).log2()
}

/// Coefficients of the quadratic around the best point.
struct Model {
    centre: Point,
    mean: Vec<f64>,
    covariance: Vec<Vec<f64>>,
}

impl Model {
    fn of(centre: &Point, measured: &Costs) -> Model {
        let mut model = Model {
            centre: centre.clone(),
            mean: Vec::new(),
            covariance: Vec::new(),
        };
        let least = measured[centre].max(f64::MIN_POSITIVE).ln();
        let (mut right, mut precision) = model.prior();
        let valid = measured.iter().filter(|(_, cost)| cost.is_finite() && **cost > 0.0);
        for (point, cost) in valid {
            let features = model.features(point);
            let distance: f64 = features[1..=centre.len()].iter().map(|octaves| octaves.powi(2)).sum();
            let weight = 1.0 / (NOISE.powi(2) + (MISFIT * distance).powi(2));
            for (i, feature) in features.iter().enumerate() {
                right[i] += weight * feature * (cost.ln() - least);
                for (j, other) in features.iter().enumerate() {
                    precision[i][j] += weight * feature * other;
                }
            }
        }
        model.covariance = inverse(precision);
        model.mean = model.covariance.iter().map(|row| dot(row, &right)).collect();
        model
    }

    /// Precision times mean, and precision.
    fn prior(&self) -> (Vec<f64>, Vec<Vec<f64>>) {
        let axes = self.centre.len();
        let mut of_each = vec![(0.0, 1.0)];
        of_each.extend(std::iter::repeat_n((0.0, SLOPE), axes));
        for i in 0..axes {
            of_each.extend((i..axes).map(|j| (if i == j { CURVATURE.0 } else { 0.0 }, CURVATURE.1)));
        }
        let count = of_each.len();
        let right = of_each
            .iter()
            .map(|(mean, deviation)| mean / deviation.powi(2))
            .collect();
        let mut precision = vec![vec![0.0; count]; count];
        for (i, (_, deviation)) in of_each.iter().enumerate() {
            precision[i][i] = 1.0 / deviation.powi(2);
        }
        (right, precision)
    }

    /// One, the octaves from the centre, and their products.
    fn features(&self, point: &Point) -> Vec<f64> {
        let from_centre = point.iter().zip(&self.centre);
        let octaves: Vec<f64> = from_centre
            .map(|(value, centre)| octave(*value) - octave(*centre))
            .collect();
        let mut features = vec![1.0];
        features.extend(&octaves);
        for (i, one) in octaves.iter().enumerate() {
            features.extend(octaves[i..].iter().map(|other| one * other));
        }
        features
    }

    /// Optimistic bound of the cost's logarithm, relative to the best point.
    fn least(&self, point: &Point) -> f64 {
        let features = self.features(point);
        let variance: f64 = self
            .covariance
            .iter()
            .zip(&features)
            .map(|(row, feature)| feature * dot(row, &features))
            .sum();
        dot(&self.mean, &features) - EXPLORE * variance.max(0.0).sqrt()
    }

    /// The most promising point that is not measured; `None` where none promises enough.
    fn next(&self, values: &[Vec<u64>], measured: &Costs) -> Option<Point> {
        let fresh = self
            .around(values)
            .into_iter()
            .filter(|point| !measured.contains_key(point));
        let promising = fresh
            .map(|point| (self.least(&point), point))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        promising.filter(|(least, _)| *least < -GAIN).map(|(_, point)| point)
    }

    /// The points within reach that differ from the best one in one or two parameters: with many parameters all combinations are too many.
    fn around(&self, values: &[Vec<u64>]) -> Vec<Point> {
        let near = |axis: usize| {
            let centre = octave(self.centre[axis]);
            let within = values[axis].iter().copied();
            within.filter(move |value| (octave(*value) - centre).abs() <= REACH)
        };
        let mut points = Vec::new();
        for first in 0..self.centre.len() {
            for value in near(first) {
                let mut point = self.centre.clone();
                point[first] = value;
                for second in first + 1..self.centre.len() {
                    for other in near(second) {
                        let mut point = point.clone();
                        point[second] = other;
                        points.push(point);
                    }
                }
                points.push(point);
            }
        }
        points
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Inverse of a symmetric positive definite matrix: the prior keeps it one, so that elimination needs no pivots.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    for column in 0..size {
        let pivot = matrix[column][column];
        matrix[column].iter_mut().for_each(|value| *value /= pivot);
        let own = matrix[column].clone();
        for (other, row) in matrix.iter_mut().enumerate() {
            if other != column {
                let factor = row[column];
                row.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
            }
        }
    }
    matrix.into_iter().map(|row| row[size..].to_vec()).collect()
}
