//! Shares of alpha among the cells to confirm, by the screening's expectation of each; the screening's launches are not judged.

use std::collections::BTreeMap;

use super::admission::Waiting;
use super::cells::Cells;
use super::found::{Key, key};

/// The weights of all cells that are confirmed.
#[derive(Debug, Default)]
pub(super) struct Weights {
    of: BTreeMap<Key, f64>,
    /// Weight of all their hypotheses.
    pub(super) total: f64,
}

impl Weights {
    /// Hypotheses of equal weight among which the heaviest one would be tested alike; how many launches can show anything follows from it.
    pub(super) fn like_hypotheses(&self) -> usize {
        let heaviest = self.of.values().copied().fold(0.0, f64::max);
        if heaviest > 0.0 {
            (self.total / heaviest).ceil() as usize
        } else {
            0
        }
    }

    /// Weights by the expectation of each cell in `waiting`; equal ones if no screening has learnt it.
    pub(super) fn of(waiting: &[Waiting<Cells>], is_screened: bool) -> Weights {
        let mut weights = Weights::default();
        for one in waiting {
            let weight = if is_screened { one.expected.weight() } else { 1.0 };
            weights.total += weight * one.what.hypotheses() as f64;
            let cells = one.what.comparisons();
            weights
                .of
                .extend(cells.iter().map(|(_, planned)| (key(planned), weight)));
        }
        weights
    }

    /// Weights of cells by their places, family by family.
    pub(super) fn by_cell(&self, cells: &Cells) -> Vec<Vec<f64>> {
        let mut weights: Vec<Vec<f64>> = Vec::new();
        for (index, planned) in cells.comparisons() {
            if weights.len() <= index.family {
                weights.resize(index.family + 1, Vec::new());
            }
            let family = &mut weights[index.family];
            if family.len() <= index.cell {
                family.resize(index.cell + 1, 1.0);
            }
            family[index.cell] = self.of.get(&key(&planned)).copied().unwrap_or(1.0);
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(of: &[f64]) -> Weights {
        let key = |number: usize| {
            let subject = kilter_model::plan::Subject::library(kilter_algorithms::Collective::Bcast, number as u64);
            (String::new(), String::new(), subject)
        };
        Weights {
            of: of
                .iter()
                .enumerate()
                .map(|(number, weight)| (key(number), *weight))
                .collect(),
            total: of.iter().sum(),
        }
    }

    #[test]
    fn light_hypotheses_count_for_less_beside_a_heavy_one_alone() {
        assert_eq!(weights(&[1.0, 0.25, 0.25, 0.5]).like_hypotheses(), 2);
        assert_eq!(weights(&[0.25; 8]).like_hypotheses(), 8);
        assert_eq!(weights(&[]).like_hypotheses(), 0);
    }
}
