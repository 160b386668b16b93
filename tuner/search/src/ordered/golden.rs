//! One ordered parameter: argmin's golden-section search.
//!
//! The landscape over a size parameter is usually a valley on a logarithmic scale: too small pays latency, too large loses
//! overlap. Golden section needs few evaluations; values are rounded, to powers of two on the logarithmic scale.
//!
//! A library's change of protocol (eager to rendezvous) makes two valleys of one, and golden section may end in the wrong one: a
//! chain of eight hosts broadcast 8 MiB in 75 ms with segments of 32 KiB, in 128 ms with 256 KiB and in 160 ms with 128 KiB. So the
//! neighbours of the value known so far are measured before golden section begins.
//!
//! Reference: J. Kiefer, Sequential minimax search for a maximum, Proc. AMS 4(3), 1953, doi:10.1090/S0002-9939-1953-0055639-3.

use std::cell::RefCell;
use std::collections::BTreeMap;

use argmin::core::{CostFunction, Executor};
use argmin::solver::goldensectionsearch::GoldenSectionSearch;

use super::{Axis, Costs, Scale};

/// Ends the search early; told apart from a measuring error, which is kept beside it.
#[derive(Debug, thiserror::Error)]
#[error("the search was ended")]
struct Ended;

struct Problem<'a, E> {
    axis: Axis,
    evaluations: usize,
    inner: RefCell<Inner<'a, E>>,
}

struct Inner<'a, E> {
    evaluate: &'a mut dyn FnMut(u64) -> Result<f64, E>,
    measured: BTreeMap<u64, f64>,
    failure: Option<E>,
}

impl Axis {
    fn position(&self, value: u64) -> f64 {
        match self.scale {
            Scale::Log2 => (value.max(1) as f64).log2(),
            Scale::Linear => value as f64,
        }
    }

    fn value(&self, position: f64) -> u64 {
        let value = match self.scale {
            Scale::Log2 => position.round().exp2(),
            Scale::Linear => position.round(),
        };
        (value as u64).clamp(self.min, self.max)
    }
}

impl<E> CostFunction for Problem<'_, E> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, position: &f64) -> Result<f64, argmin::core::Error> {
        let value = self.axis.value(*position);
        let mut inner = self.inner.borrow_mut();
        if let Some(cost) = inner.measured.get(&value) {
            return Ok(*cost);
        }
        if inner.measured.len() >= self.evaluations {
            return Err(Ended.into());
        }
        match (inner.evaluate)(value) {
            Ok(cost) => {
                inner.measured.insert(value, cost);
                Ok(cost)
            }
            Err(error) => {
                inner.failure = Some(error);
                Err(Ended.into())
            }
        }
    }
}

/// The values that were asked for, with their costs, after at most `evaluations`.
pub(super) fn minimise<E>(
    axis: Axis,
    evaluations: usize,
    evaluate: &mut dyn FnMut(u64) -> Result<f64, E>,
) -> Result<Costs, E> {
    if axis.min >= axis.max {
        return Ok(Costs::new());
    }
    let problem = Problem {
        axis,
        evaluations,
        inner: RefCell::new(Inner {
            evaluate,
            measured: BTreeMap::new(),
            failure: None,
        }),
    };
    if !problem.look_around() {
        return problem.into_costs();
    }
    // Golden section never looks at the ends of its interval; one step beyond them, clamped, it does.
    let (low, high) = (axis.position(axis.min) - 1.0, axis.position(axis.max) + 1.0);
    let start = axis.position(axis.start.clamp(axis.min, axis.max));
    if let Ok(solver) = GoldenSectionSearch::new(low, high).and_then(|solver| solver.with_tolerance(0.02)) {
        // argmin takes its problem by value and drops it when it fails, so it gets a reference to ours. An `Err` is `Ended`:
        // the budget is spent, or `failure` says why.
        let _ = Executor::new(Shared(&problem), solver)
            .configure(|state| state.param(start).max_iters(64))
            .run();
    }
    problem.into_costs()
}

impl<E> Problem<'_, E> {
    /// Measures the value known so far and one step to each side; false where the search ended meanwhile.
    fn look_around(&self) -> bool {
        let axis = self.axis;
        let start = axis.position(axis.start.clamp(axis.min, axis.max));
        [start, start + 1.0, start - 1.0]
            .iter()
            .all(|position| self.cost(position).is_ok())
    }

    fn into_costs(self) -> Result<Costs, E> {
        let inner = self.inner.into_inner();
        match inner.failure {
            Some(error) => Err(error),
            None => Ok(inner
                .measured
                .into_iter()
                .map(|(value, cost)| (vec![value], cost))
                .collect()),
        }
    }
}

struct Shared<'p, 'a, E>(&'p Problem<'a, E>);

impl<E> CostFunction for Shared<'_, '_, E> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, position: &f64) -> Result<f64, argmin::core::Error> {
        self.0.cost(position)
    }
}
