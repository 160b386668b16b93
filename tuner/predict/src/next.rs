//! The layout to measure next.

use std::cmp::Reverse;

use kilter_model::layout::Layout;

use crate::predictor::Predictor;
use crate::table::Table;
use crate::{BadObservation, Observation, Rules};

/// A layout to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Next {
    /// The layout.
    pub layout: Layout,
    /// Expected loss of what would be deployed there without measuring it, as a share of the optimum's time: the mean over calls. Infinite for
    /// ends, between which all others are predicted.
    pub regret: f64,
}

/// The layout among `allowed` whose decisions are least certain; those that were measured are left out. `None` if all were.
///
/// Ends come first: the largest and the smallest of them, and of those with the fewest ranks on each node the one with the most nodes, since nodes
/// with a single rank are of their own kind. Of layouts that lose the same, the one with fewer ranks is taken, which costs less.
pub fn next_layout(
    observations: &[Observation],
    allowed: &[Layout],
    rules: &Rules,
) -> Result<Option<Next>, BadObservation> {
    let is_measured = |layout: &Layout| observations.iter().any(|seen| seen.layout == *layout);
    let open: Vec<Layout> = allowed.iter().copied().filter(|layout| !is_measured(layout)).collect();
    let by_ranks = |layout: &&Layout| (layout.ranks(), layout.nodes);
    let by_nodes = |layout: &&Layout| (Reverse(layout.per_node), layout.nodes);
    let ends = [
        allowed.iter().max_by_key(by_ranks),
        allowed.iter().min_by_key(by_ranks),
        allowed.iter().max_by_key(by_nodes),
    ];
    if let Some(end) = ends.into_iter().flatten().find(|end| open.contains(end)) {
        return Ok(Some(Next {
            layout: *end,
            regret: f64::INFINITY,
        }));
    }
    let predictors = Predictor::all(&Table::all(observations, &open)?, rules);
    let regret = |layout: Layout| {
        let cells: Vec<f64> = predictors
            .iter()
            .flat_map(|predictor| predictor.cells(layout))
            .map(|cell| cell.regret)
            .collect();
        cells.iter().sum::<f64>() / cells.len().max(1) as f64
    };
    let nexts = open.into_iter().map(|layout| Next {
        layout,
        regret: regret(layout),
    });
    Ok(nexts.max_by(|a, b| {
        let fewer = (b.layout.ranks(), b.layout).cmp(&(a.layout.ranks(), a.layout));
        a.regret.total_cmp(&b.regret).then(fewer)
    }))
}
