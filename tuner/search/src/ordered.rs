//! Search over an ordered parameter (segment size, eager limit, fan-out) under noise, with argmin's golden-section search.
//!
//! The landscape over a size parameter is usually a valley on a logarithmic scale: too small pays latency, too large loses
//! overlap. Golden section needs few evaluations, and each costs cluster time, so values are rounded (to powers of two on the
//! logarithmic scale), every value is measured once, and the answer is the best value that was measured, not the last.
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

/// How values are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Powers of two.
    Log2,
    /// Integers.
    Linear,
}

/// The range of a parameter and what a search may spend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordered {
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Where the best value known so far is.
    pub start: u64,
    /// Spacing.
    pub scale: Scale,
    /// Values measured at most.
    pub evaluations: usize,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The best value measured.
    pub value: u64,
    /// Its cost.
    pub cost: f64,
    /// Every value measured, with its cost.
    pub measured: BTreeMap<u64, f64>,
}

/// Ends the search early; told apart from a measuring error, which is kept beside it.
#[derive(Debug, thiserror::Error)]
#[error("the search was ended")]
struct Ended;

struct Problem<'a, E> {
    space: Ordered,
    inner: RefCell<Inner<'a, E>>,
}

struct Inner<'a, E> {
    evaluate: &'a mut dyn FnMut(u64) -> Result<f64, E>,
    measured: BTreeMap<u64, f64>,
    failure: Option<E>,
}

impl Ordered {
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
        let value = self.space.value(*position);
        let mut inner = self.inner.borrow_mut();
        if let Some(cost) = inner.measured.get(&value) {
            return Ok(*cost);
        }
        if inner.measured.len() >= self.space.evaluations {
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

/// Looks for the value with the smallest cost; `None` where nothing could be measured.
///
/// A value whose cost is infinite (a candidate that failed) is avoided, not an error.
///
/// # Errors
/// The first error of `evaluate`; what was measured before is then lost to the caller but was stored when it was measured.
pub fn minimise<E>(space: Ordered, evaluate: &mut dyn FnMut(u64) -> Result<f64, E>) -> Result<Option<Found>, E> {
    if space.min >= space.max || space.evaluations == 0 {
        return Ok(None);
    }
    let problem = Problem {
        space,
        inner: RefCell::new(Inner {
            evaluate,
            measured: BTreeMap::new(),
            failure: None,
        }),
    };
    if !problem.look_around() {
        return problem.into_found();
    }
    // Golden section never looks at the ends of its interval; one step beyond them, clamped, it does.
    let (low, high) = (space.position(space.min) - 1.0, space.position(space.max) + 1.0);
    let start = space.position(space.start.clamp(space.min, space.max));
    if let Ok(solver) = GoldenSectionSearch::new(low, high).and_then(|solver| solver.with_tolerance(0.02)) {
        // argmin takes its problem by value and drops it when it fails, so it gets a reference to ours. An `Err` is `Ended`:
        // the budget is spent, or `failure` says why.
        let _ = Executor::new(Shared(&problem), solver)
            .configure(|state| state.param(start).max_iters(64))
            .run();
    }
    problem.into_found()
}

impl<E> Problem<'_, E> {
    /// Measures the value known so far and one step to each side; false where the search ended meanwhile.
    fn look_around(&self) -> bool {
        let start = self
            .space
            .position(self.space.start.clamp(self.space.min, self.space.max));
        [start, start + 1.0, start - 1.0]
            .iter()
            .all(|position| self.cost(position).is_ok())
    }

    fn into_found(self) -> Result<Option<Found>, E> {
        let inner = self.inner.into_inner();
        if let Some(error) = inner.failure {
            return Err(error);
        }
        let best = inner
            .measured
            .iter()
            .filter(|(_, cost)| cost.is_finite())
            .min_by(|a, b| a.1.total_cmp(b.1));
        Ok(best.map(|(value, cost)| Found {
            value: *value,
            cost: *cost,
            measured: inner.measured.clone(),
        }))
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

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Ordered = Ordered {
        min: 1024,
        max: 1 << 20,
        start: 65536,
        scale: Scale::Log2,
        evaluations: 9,
    };

    fn valley(bottom: u64) -> impl FnMut(u64) -> Result<f64, ()> {
        move |value| Ok(((value as f64).log2() - (bottom as f64).log2()).abs() + 1.0)
    }

    #[test]
    fn finds_the_bottom_of_a_valley_within_its_budget() {
        for bottom in [1024, 4096, 32768, 262_144, 1 << 20] {
            let found = minimise(SPACE, &mut valley(bottom)).unwrap().unwrap();
            assert!(found.measured.len() <= SPACE.evaluations);
            let off = ((found.value as f64).log2() - (bottom as f64).log2()).abs();
            assert!(off <= 1.0, "bottom {bottom}, found {}", found.value);
        }
    }

    #[test]
    fn finds_the_valley_beside_a_change_of_protocol() {
        // Milliseconds of a chain's broadcast, see the module's head: eager up to 32 KiB, rendezvous above.
        let mut chain = |value: u64| {
            let k = value as f64 / 1024.0;
            Ok::<f64, ()>(if k <= 32.0 {
                75.0 + 1280.0 / k
            } else {
                128.0 + (k.log2() - 8.0).abs() * 30.0
            })
        };
        let space = Ordered {
            start: 16384,
            evaluations: 7,
            ..SPACE
        };
        let found = minimise(space, &mut chain).unwrap().unwrap();
        assert_eq!(found.value, 32768, "{:?}", found.measured);
    }

    #[test]
    fn every_value_is_measured_once() {
        let mut asked = Vec::new();
        minimise::<()>(SPACE, &mut |value| {
            assert!(!asked.contains(&value), "{value} twice");
            asked.push(value);
            Ok(value as f64)
        })
        .unwrap();
        assert!(asked.len() > 3);
    }

    #[test]
    fn a_budget_of_three_measures_three_values() {
        let found = minimise(
            Ordered {
                evaluations: 3,
                ..SPACE
            },
            &mut valley(4096),
        )
        .unwrap()
        .unwrap();
        assert_eq!(found.measured.len(), 3);
    }

    #[test]
    fn a_failing_measurement_ends_the_search_and_an_infinite_cost_does_not() {
        assert_eq!(minimise(SPACE, &mut |_| Err::<f64, _>("hung")), Err("hung"));
        let found = minimise::<()>(SPACE, &mut |value| {
            Ok(if value > 8192 { f64::INFINITY } else { value as f64 })
        });
        assert!(found.unwrap().is_some_and(|found| found.value <= 8192));
    }
}
