//! Tests of all cells of a look, and the conclusions from them, on all processors.

use rayon::prelude::*;

use super::{Sequential, State};
use crate::verdict::family::{CellView, Judged};
use crate::verdict::judge::{Bound, Intervals};
use crate::verdict::monotony::SizeTests;

impl Sequential {
    /// The tests of each cell that is not decided, on all processors; none of the others.
    pub(super) fn tests(&self, views: &[Vec<CellView<'_>>], given: &[Vec<Option<SizeTests>>]) -> Vec<Vec<SizeTests>> {
        let of_cell = |view: &CellView<'_>, state: &State, given: Option<&SizeTests>| match (&state.decided, given) {
            (Some(_), _) => SizeTests {
                hypotheses: Vec::new(),
                pairs: Vec::new(),
            },
            (None, Some(given)) => given.clone(),
            (None, None) => view.tests(&self.rule),
        };
        let families = views.par_iter().zip(&self.cells[..views.len()]).enumerate();
        families
            .map(|(family, (views, cells))| {
                let given = given.get(family);
                let of = |cell: usize| given.and_then(|cells| cells.get(cell)).and_then(Option::as_ref);
                // Cells that are gone keep their place in the family.
                let cells = views.par_iter().zip(&cells[..views.len()]).enumerate();
                cells
                    .map(|(cell, (view, state))| of_cell(view, state, of(cell)))
                    .collect()
            })
            .collect()
    }

    /// The conclusion on each cell that is not decided, on all processors.
    pub(super) fn conclude(
        &self,
        views: &[Vec<CellView<'_>>],
        looks: &[Vec<(SizeTests, Bound)>],
        adjusted: &[f64],
        family_size: usize,
    ) -> Vec<Vec<Option<Judged>>> {
        let mut rest = adjusted;
        let mut own: Vec<Vec<&[f64]>> = Vec::new();
        for cells in &self.cells[..views.len()] {
            let of_cells = cells.iter().map(|state| {
                let (own, others) = rest.split_at(state.smallest.len());
                rest = others;
                own
            });
            own.push(of_cells.collect());
        }
        let intervals = Intervals::default();
        let states = self.cells[..views.len()].par_iter().zip(&own);
        let families = views.par_iter().zip(looks).zip(states);
        families
            .map(|((views, looks), (states, own))| {
                let cells = views.len();
                let each = views.par_iter().zip(looks).zip(&states[..cells]).zip(&own[..cells]);
                each.map(|(((view, (tests, bound)), state), own)| {
                    let is_open = state.decided.is_none();
                    is_open.then(|| view.conclude(tests, own, family_size, *bound, &self.rule, &intervals))
                })
                .collect()
            })
            .collect()
    }
}

/// True if another test has judged this cell.
pub(super) fn is_given(given: &[Vec<Option<SizeTests>>], family: usize, cell: usize) -> bool {
    given
        .get(family)
        .and_then(|cells| cells.get(cell))
        .is_some_and(Option::is_some)
}
