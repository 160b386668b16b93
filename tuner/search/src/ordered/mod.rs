//! Search over the ordered parameters of one change (segment size, fan-out, requests in flight, eager limit) under noise.
//!
//! Each value costs cluster time: it is rounded to one that can be deployed and measured once, and the answer is the best measured value, not
//! the last. One parameter is searched by golden section ([`golden`], argmin). Several are searched together by a quadratic model of the
//! measured costs ([`quadratic`]): the best length of a segment depends on the fan-out, and walking one parameter after the other ends where
//! neither step alone improves. `benches/ordered.rs` compares the strategies; its numbers are in `docs/method/search.md`.

mod golden;
mod quadratic;

use std::collections::BTreeMap;

/// Spacing of an axis's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Powers of two.
    Log2,
    /// Integers.
    Linear,
}

/// The range of one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// The best value known so far.
    pub start: u64,
    /// Spacing.
    pub scale: Scale,
}

/// The ranges of all parameters, and the measurements that a search may spend on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// One per parameter.
    pub axes: Vec<Axis>,
    /// Points measured at most.
    pub evaluations: usize,
}

/// A value of each parameter.
pub type Point = Vec<u64>;

/// Points with their costs.
pub type Costs = BTreeMap<Point, f64>;

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The best values.
    pub values: Point,
    /// Their cost.
    pub cost: f64,
    /// Every point that was asked for, with its cost.
    pub measured: Costs,
}

impl Axis {
    /// The values that are worth measuring, ascending: powers of two and both ends, or integers.
    #[must_use]
    pub fn values(&self) -> Vec<u64> {
        match self.scale {
            Scale::Linear => (self.min..=self.max).collect(),
            Scale::Log2 => {
                let powers = (0..u64::BITS).map(|exponent| 1_u64 << exponent);
                let mut all: Vec<u64> = powers.filter(|value| (self.min..=self.max).contains(value)).collect();
                all.extend([self.min, self.max]);
                all.sort_unstable();
                all.dedup();
                all
            }
        }
    }
}

/// Looks for the point with the smallest cost; `None` where nothing could be measured.
///
/// `known` are points that were measured before: they are not measured again. Costs are times or ratios of times. A point whose cost is
/// infinite (a candidate that failed) is avoided, not an error; an error of `evaluate` ends the search.
pub fn minimise<E>(
    space: &Space,
    known: &Costs,
    evaluate: &mut dyn FnMut(&[u64]) -> Result<f64, E>,
) -> Result<Option<Found>, E> {
    if space.evaluations == 0 {
        return Ok(None);
    }
    let measured = match space.axes.as_slice() {
        [axis] => golden::minimise(*axis, space.evaluations, &mut |value| {
            let point = [value];
            known
                .get(point.as_slice())
                .map_or_else(|| evaluate(&point), |cost| Ok(*cost))
        })?,
        axes => quadratic::minimise(axes, space.evaluations, known, evaluate)?,
    };
    Ok(best(&measured).map(|(values, cost)| Found {
        values: values.clone(),
        cost,
        measured: measured.clone(),
    }))
}

/// The point with the smallest finite cost.
fn best(costs: &Costs) -> Option<(&Point, f64)> {
    let finite = costs.iter().filter(|(_, cost)| cost.is_finite());
    finite
        .min_by(|a, b| a.1.total_cmp(b.1))
        .map(|(point, cost)| (point, *cost))
}

#[cfg(test)]
mod tests;
