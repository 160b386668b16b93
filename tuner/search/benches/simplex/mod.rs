//! Positions for argmin's simplex of Nelder and Mead. The benchmarks that try it share them.

use argmin_math::{ArgminAdd, ArgminMul, ArgminSub};

/// Position of a vertex.
#[derive(Clone)]
pub(crate) struct Position(pub(crate) Vec<f64>);

impl Position {
    fn combine(&self, other: &Position, with: fn(f64, f64) -> f64) -> Position {
        Position(self.0.iter().zip(&other.0).map(|(a, b)| with(*a, *b)).collect())
    }
}

impl ArgminAdd<Position, Position> for Position {
    fn add(&self, other: &Position) -> Position {
        self.combine(other, |a, b| a + b)
    }
}

impl ArgminSub<Position, Position> for Position {
    fn sub(&self, other: &Position) -> Position {
        self.combine(other, |a, b| a - b)
    }
}

impl ArgminMul<f64, Position> for Position {
    fn mul(&self, factor: &f64) -> Position {
        Position(self.0.iter().map(|value| value * factor).collect())
    }
}

/// The first simplex: `first`, and for each coordinate a vertex that is the step away from it which `step` gives for the coordinate and its value.
pub(crate) fn around(first: &[f64], step: impl Fn(usize, f64) -> f64) -> Vec<Position> {
    let beside = first.iter().enumerate().map(|(i, value)| {
        let mut vertex = first.to_vec();
        vertex[i] += step(i, *value);
        Position(vertex)
    });
    std::iter::once(Position(first.to_vec())).chain(beside).collect()
}
