//! Explores several maps in turn: each coarsely first, then always the least known cells for their cost.
//!
//! Pure: cells come from a closure, which also tells when the time is over.

use kilter_model::survey::Cell;

use super::{Exploration, Step};
use crate::grid::Position;

/// Cells of a question of the coarse pass.
const BATCH: usize = 4;

/// Answers positions of the map with this index, in their order; `None` if the budget has ended.
pub type AskOf<'a, E> = dyn FnMut(usize, &[Position]) -> Result<Option<Vec<Option<Cell>>>, E> + 'a;

/// Progress of a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The budget ended within the coarse pass.
    Part,
    /// Every map has its coarse grid; the budget ended within the refinement.
    Coarse,
    /// The survey is complete in the adaptive mode.
    Whole,
}

/// Explores all maps.
pub fn explore_all<E>(maps: &mut [Exploration], ask: &mut AskOf<'_, E>) -> Result<Reached, E> {
    let mut answered = |maps: &mut [Exploration], index: usize, positions: &[Position]| -> Result<bool, E> {
        let Some(answers) = ask(index, positions)? else {
            return Ok(false);
        };
        maps[index].record(positions, answers);
        Ok(true)
    };
    for (index, positions) in coarse_pass(maps) {
        if !answered(maps, index, &positions)? {
            return Ok(Reached::Part);
        }
    }
    let mut steps: Vec<Option<Step>> = maps.iter().map(Exploration::next).collect();
    loop {
        let best = steps
            .iter()
            .enumerate()
            .filter_map(|(index, step)| Some((index, step.as_ref()?)));
        let Some((index, step)) = best.max_by(|(_, a), (_, b)| a.urgency.total_cmp(&b.urgency)) else {
            return Ok(Reached::Whole);
        };
        if !answered(maps, index, &step.positions)? {
            return Ok(Reached::Coarse);
        }
        steps[index] = maps[index].next();
    }
}

/// Questions in turn, each with cells from all over its map. Computations longer than the mean of their map come last:
/// they take nearly all of its seconds, and their variation hides all but the largest messages.
fn coarse_pass(maps: &[Exploration]) -> Vec<(usize, Vec<Position>)> {
    let mut questions = Vec::new();
    for (index, map) in maps.iter().enumerate() {
        let coarse = map.coarse();
        let computation_ns = |position: &Position| map.grid().point(*position).load.computation_ns as f64;
        let mean_ns = coarse.iter().map(computation_ns).sum::<f64>() / (coarse.len() as f64).max(1.0);
        let (short, long): (Vec<Position>, Vec<Position>) = coarse
            .into_iter()
            .partition(|position| computation_ns(position) <= mean_ns);
        for (is_long, positions) in [(false, short), (true, long)] {
            let parts = positions.len().div_ceil(BATCH);
            for part in 0..parts {
                let question: Vec<Position> = positions.iter().copied().skip(part).step_by(parts).collect();
                questions.push(((is_long, part, index), question));
            }
        }
    }
    questions.sort_by_key(|(order, _)| *order);
    questions
        .into_iter()
        .map(|((_, _, index), positions)| (index, positions))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use kilter_fixtures::survey as fixture;
    use kilter_protocol::overlap::Benchmark;

    use super::*;
    use crate::grid::{Grid, ladder};

    const BENCHMARKS: [Benchmark; 3] = [Benchmark::Sender, Benchmark::Receiver, Benchmark::BothSides];

    fn maps() -> Vec<Exploration> {
        let (sizes, computations) = (ladder(8, 4 << 20), ladder(1000, 10_000_000));
        let grid = |benchmark| Grid::of(benchmark, (&sizes, &computations, &[1, 2]), 2);
        BENCHMARKS
            .map(|benchmark| Exploration::new(benchmark, grid(benchmark)))
            .to_vec()
    }

    fn cells_of_all(maps: &[Exploration]) -> usize {
        maps.iter().map(Exploration::asked).sum()
    }

    /// The receiver's map has a threshold, the others have none. As many cells as `most` are answered. The last result
    /// lists the maps that were asked, in order.
    fn explored(most: usize) -> (Vec<Exploration>, Reached, Vec<usize>) {
        let (mut maps, mut asked, mut answered) = (maps(), Vec::new(), 0);
        let grid = maps[0].grid().clone();
        let reached = explore_all::<Infallible>(&mut maps, &mut |index, positions| {
            if answered >= most {
                return Ok(None);
            }
            answered += positions.len();
            asked.push(index);
            let cell = |position: &Position| {
                let point = grid.point(*position);
                let ratio = if index == 1 && point.bytes <= 16 << 10 {
                    0.05
                } else {
                    1.0
                };
                let communication = fixture::communication(point.bytes);
                let mut cell = fixture::cell(point.bytes, point.load.computation_ns, 1, communication, ratio);
                cell.noise_seconds = 0.0;
                Some(cell)
            };
            Ok(Some(positions.iter().map(cell).collect()))
        });
        let Ok(reached) = reached;
        (maps, reached, asked)
    }

    #[test]
    fn every_map_is_coarse_before_any_is_fine() {
        let coarse: usize = maps().iter().map(|map| map.coarse().len()).sum();
        let (maps, reached, asked) = explored(coarse);
        assert_eq!((reached, &asked[..4]), (Reached::Coarse, &[0, 1, 2, 0][..]));
        for map in &maps {
            let found = map.finish();
            assert_eq!(found.measured.len(), map.coarse().len());
            assert!(found.open.is_empty() && found.cells.len() == map.grid().count());
        }
    }

    #[test]
    fn long_computations_come_last_of_all_maps() {
        let maps = maps();
        let longest = |index: usize, positions: &[Position]| {
            let point = |position: &Position| maps[index].grid().point(*position).load.computation_ns;
            positions.iter().map(point).max().unwrap_or(0)
        };
        let asked: Vec<u64> = coarse_pass(&maps)
            .iter()
            .map(|(index, positions)| longest(*index, positions))
            .collect();
        let first_long = asked.iter().position(|ns| *ns > 1_000_000).unwrap();
        assert!(asked[first_long..].iter().all(|ns| *ns > 1_000_000), "{asked:?}");
        let cells: usize = coarse_pass(&maps).iter().map(|(_, positions)| positions.len()).sum();
        assert_eq!(cells, maps.iter().map(|map| map.coarse().len()).sum::<usize>());
    }

    #[test]
    fn what_follows_is_where_least_is_known() {
        let coarse: usize = maps().iter().map(|map| map.coarse().len()).sum();
        let (maps, reached, _) = explored(coarse + 30);
        let beyond: Vec<usize> = maps.iter().map(|map| map.asked() - map.coarse().len()).collect();
        assert_eq!(reached, Reached::Coarse);
        assert!(
            beyond[1] > beyond[0] + beyond[2],
            "the threshold is looked for: {beyond:?}"
        );
        let (maps, reached, _) = explored(usize::MAX);
        assert_eq!(reached, Reached::Whole);
        assert_eq!(maps[0].asked(), 88);
        assert!(maps[1].asked() > 88);
    }

    #[test]
    fn a_budget_that_ends_within_the_coarse_pass_leaves_something_of_each() {
        let (maps, reached, asked) = explored(40);
        assert_eq!((reached, &asked[..4]), (Reached::Part, &[0, 1, 2, 0][..]));
        let cells: Vec<usize> = maps.iter().map(Exploration::asked).collect();
        assert!(
            cells
                .iter()
                .all(|cells| cells.abs_diff(cells_of_all(&maps) / 3) <= BATCH),
            "{cells:?}"
        );
        assert!(
            maps.iter()
                .all(|map| map.finish().cells.len() + map.finish().open.len() == map.grid().count())
        );
        let (maps, reached, _) = explored(0);
        assert_eq!(reached, Reached::Part);
        assert!(maps.iter().all(|map| map.finish().cells.is_empty()));
    }
}
