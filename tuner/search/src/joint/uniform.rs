//! One way for all sizes of a collective: where not every rank of a call knows the volume (Gatherv), or where the library's rules do not switch on size.

use std::ops::Range;

use super::Problem;

/// True if a collective can have nothing but one way for all sizes.
pub(super) fn is_uniform(problem: &Problem, run: Range<usize>) -> bool {
    let ways = problem.calls[run].iter().flat_map(|call| &call.ways[1..]);
    let mut all = ways.peekable();
    all.peek().is_some() && all.all(|way| way.on_all_sizes)
}

/// The way that acts on all sizes, gains most over all of them together and slows none by more than `floor`; `None` where none gains.
pub(super) fn uniform(problem: &Problem, run: Range<usize>, floor: f64) -> Option<Vec<usize>> {
    let calls = &problem.calls[run];
    if !calls.iter().all(|call| call.is_decided) {
        return None;
    }
    let first = calls.first()?;
    let candidates = first.ways.iter().filter(|way| way.on_all_sizes && way.is_admitted());
    let everywhere = candidates.filter_map(|one| {
        let mut gains = false;
        let mut log_ratio = 0.0;
        let mut ways = Vec::with_capacity(calls.len());
        for call in calls {
            let is_it = |way: &super::Way| way.selection == one.selection && way.is_admitted();
            let place = call.ways.iter().position(is_it)?;
            let ratio = call.ways[place].seconds / call.ways[0].seconds;
            if ratio > 1.0 + floor {
                return None;
            }
            gains |= call.ways[place].gains;
            log_ratio += ratio.ln();
            ways.push(place);
        }
        gains.then_some((one.simplicity(), log_ratio, ways))
    });
    let everywhere: Vec<(usize, f64, Vec<usize>)> = everywhere.collect();
    let least = everywhere.iter().map(|(_, ratio, _)| *ratio).min_by(f64::total_cmp)?;
    let margin = floor * calls.len() as f64;
    let as_good = everywhere.into_iter().filter(|(_, ratio, _)| *ratio <= least + margin);
    let best = as_good.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    best.filter(|(_, ratio, _)| *ratio < 0.0).map(|(_, _, ways)| ways)
}
