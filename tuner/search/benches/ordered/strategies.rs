//! The strategies compared: each measures points, then chooses the best measured one.

use std::cell::RefCell;

use argmin::core::{CostFunction, Executor};
use argmin::solver::neldermead::NelderMead;
use kilter_search::ordered::{Axis, Costs, Scale, Space, minimise};

use crate::Bench;
use crate::simplex::{self, Position};
use crate::surfaces::every;

/// Measurements that one parameter after the other may take, each.
const ALONE: usize = 7;
/// Measurements that several parameters together may take.
const TOGETHER: usize = 10;
/// Octaves, or integers, to the other vertices of the first simplex.
const STEP: f64 = 2.0;

/// A way to search.
pub(crate) struct Strategy {
    pub(crate) name: &'static str,
    pub(crate) search: fn(&mut Bench<'_>),
}

/// All strategies.
pub(crate) const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "the screening alone",
        search: |_| (),
    },
    Strategy {
        name: "one after the other",
        search: one_after_the_other,
    },
    Strategy {
        name: "Nelder and Mead",
        search: nelder_and_mead,
    },
    Strategy {
        name: "quadratic model",
        search: quadratic,
    },
    Strategy {
        name: "every value",
        search: |bench| {
            for point in every(&bench.surface.axes) {
                bench.measure(&point);
            }
        },
    },
];

/// Golden section for each parameter. One that the library left at its default is searched from its smallest value.
fn one_after_the_other(bench: &mut Bench<'_>) {
    let unset = bench.surface.screened[0].clone();
    let first = bench.best();
    for (i, axis) in bench.surface.axes.iter().enumerate() {
        let base = bench.best();
        let start = if first[i] == unset[i] { axis.min } else { base[i] };
        let space = Space {
            axes: vec![Axis { start, ..*axis }],
            evaluations: ALONE,
        };
        minimise::<()>(&space, &Costs::new(), &mut |value| {
            let mut point = base.clone();
            point[i] = value[0];
            Ok(bench.measure(&point))
        })
        .unwrap();
    }
}

fn quadratic(bench: &mut Bench<'_>) {
    let known = bench.known.clone();
    let mut space = Space {
        axes: bench.surface.axes.clone(),
        evaluations: TOGETHER,
    };
    if space.axes.len() > 1 {
        minimise::<()>(&space, &known, &mut |point| Ok(bench.measure(point))).unwrap();
        return;
    }
    // One parameter is searched by golden section; beside another that has one value only it is not.
    space.axes.push(Axis {
        min: 0,
        max: 0,
        start: 0,
        scale: Scale::Linear,
    });
    let known = known
        .into_iter()
        .map(|(point, cost)| (vec![point[0], 0], cost))
        .collect();
    minimise::<()>(&space, &known, &mut |point| Ok(bench.measure(&point[..1]))).unwrap();
}

/// The coordinate of a value: octaves, or integers.
fn position(axis: &Axis, value: u64) -> f64 {
    match axis.scale {
        Scale::Log2 => (value.max(1) as f64).log2(),
        Scale::Linear => value as f64,
    }
}

fn value(axis: &Axis, position: f64) -> u64 {
    let value = match axis.scale {
        Scale::Log2 => position.round().exp2(),
        Scale::Linear => position.round(),
    };
    (value.max(0.0) as u64).clamp(axis.min, axis.max)
}

struct Problem<'b, 'a>(RefCell<&'b mut Bench<'a>>);

impl CostFunction for &Problem<'_, '_> {
    type Param = Position;
    type Output = f64;

    fn cost(&self, position: &Position) -> Result<f64, argmin::core::Error> {
        let mut bench = self.0.borrow_mut();
        let axes = &bench.surface.axes;
        let point: Vec<u64> = position.0.iter().zip(axes).map(|(x, axis)| value(axis, *x)).collect();
        if !bench.known.contains_key(&point) && bench.asked >= TOGETHER {
            return Err(std::io::Error::other("the measurements are spent").into());
        }
        Ok(bench.measure(&point))
    }
}

/// The simplex of Nelder and Mead from the best point of the screening, vertices rounded.
fn nelder_and_mead(bench: &mut Bench<'_>) {
    let axes = bench.surface.axes.clone();
    let best = bench.best();
    let start: Vec<f64> = best
        .iter()
        .zip(&axes)
        .map(|(value, axis)| position(axis, *value))
        .collect();
    let vertices = simplex::around(&start, |i, value| {
        let middle = f64::midpoint(position(&axes[i], axes[i].min), position(&axes[i], axes[i].max));
        if value < middle { STEP } else { -STEP }
    });
    let problem = Problem(RefCell::new(bench));
    // argmin panics where a first vertex has no cost; measured ones have.
    for vertex in &vertices {
        (&problem).cost(vertex).unwrap();
    }
    // An error says that the measurements are spent.
    let _ = Executor::new(&problem, NelderMead::new(vertices))
        .configure(|state| state.max_iters(40))
        .run();
}
