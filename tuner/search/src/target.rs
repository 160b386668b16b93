//! Targets of the search: violated cells, grouped by their left side, and calls without bounds that may become faster.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_model::change::Cell;
use kilter_model::config::library::Parameter;
use kilter_model::plan::{self, PlannedCell, Subject};

use crate::verification::JudgedCell;

/// A collective at a volume, and the subjects that it must not be slower than.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The slow side.
    pub left: Subject,
    /// Its name for people: `reduce`, `isend`.
    pub function: String,
    /// Right sides of the violated guidelines.
    pub bounds: Vec<Subject>,
    /// Names of the violated cells.
    pub cells: Vec<String>,
    /// Largest ratio of the left to a right side.
    pub worst_ratio: f64,
    /// Most seconds that the left side takes longer than a right side.
    pub excess_seconds: f64,
    /// A contest for it was asked for (`--contest`), violated or not.
    pub asked_for: bool,
    /// Time of the best way that is known, over the default's; 1 where none is better.
    pub best_ratio: f64,
}

impl Target {
    /// `reduce 4096`.
    #[must_use]
    pub fn name(&self) -> String {
        plan::target_name(&self.function, self.left.bytes)
    }

    /// Volume in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.left.bytes
    }

    /// The collective that an algorithm or a mock-up could replace; `None` where only the library's parameters act.
    #[must_use]
    pub fn collective(&self) -> Option<Collective> {
        self.left.collective()
    }

    /// True if a parameter of the library acts on its calls.
    #[must_use]
    pub fn is_served_by(&self, row: &Parameter) -> bool {
        row.serves(self.collective()) || row.nonblocking && self.left.side().is_some_and(|side| row.acts_within(&side))
    }

    /// The cell that a selection may be for; `None` where only the library's parameters act.
    #[must_use]
    pub fn cell(&self) -> Option<Cell> {
        Some((self.collective()?, self.bytes()))
    }

    /// The target without bounds: nothing that it must not be slower than.
    #[must_use]
    pub fn unbounded(collective: Collective, bytes: u64) -> Target {
        Target::of(Subject::library(collective, bytes), collective.name())
    }

    fn of(left: Subject, function: &str) -> Target {
        Target {
            left,
            function: function.to_owned(),
            bounds: Vec::new(),
            cells: Vec::new(),
            worst_ratio: 0.0,
            excess_seconds: 0.0,
            asked_for: false,
            best_ratio: 1.0,
        }
    }
}

/// A guideline that its left side does not keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    /// The guideline at its sizes.
    pub cell: PlannedCell,
    /// Time of the left side over that of the right one.
    pub ratio: f64,
    /// Seconds that the left side takes longer.
    pub excess_seconds: f64,
}

/// The targets of these cells, worst first.
#[must_use]
pub fn targets<'c>(cells: impl Iterator<Item = &'c JudgedCell>) -> Vec<Target> {
    grouped(cells.map(|judged| Broken {
        cell: judged.cell.clone(),
        ratio: judged.comparison.ratio,
        excess_seconds: judged.comparison.seconds - judged.comparison.right_seconds,
    }))
}

/// The targets of these guidelines, worst first: what has the same left side is one.
#[must_use]
pub fn grouped(broken: impl IntoIterator<Item = Broken>) -> Vec<Target> {
    let mut targets: BTreeMap<Subject, Target> = BTreeMap::new();
    for Broken {
        cell,
        ratio,
        excess_seconds,
    } in broken
    {
        let name = cell.name();
        let target = targets
            .entry(cell.left.clone())
            .or_insert_with(|| Target::of(cell.left, &cell.function));
        if !target.bounds.contains(&cell.right) {
            target.bounds.push(cell.right);
        }
        if !target.cells.contains(&name) {
            target.cells.push(name);
        }
        target.worst_ratio = target.worst_ratio.max(ratio);
        target.excess_seconds = target.excess_seconds.max(excess_seconds);
    }
    let mut targets: Vec<Target> = targets.into_values().collect();
    targets.sort_by(|a, b| b.worst_ratio.total_cmp(&a.worst_ratio));
    targets
}

/// Sorts targets by their cost for an application, the dearest first: calls times the seconds that each takes too long. `calls` is how often it
/// calls a left side.
pub fn dearest_first(targets: &mut [Target], calls: &dyn Fn(&Subject) -> f64) {
    let cost = |target: &Target| calls(&target.left) * target.excess_seconds;
    targets.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
}

/// Adds the cells for which a contest was asked for, each once: behind the violated ones where it is not among them.
pub fn ask_for(targets: &mut Vec<Target>, contests: impl IntoIterator<Item = (Collective, u64)>) {
    for (collective, bytes) in contests {
        let wanted = Target::unbounded(collective, bytes);
        let position = targets
            .iter()
            .position(|target| target.left == wanted.left)
            .unwrap_or_else(|| {
                targets.push(wanted);
                targets.len() - 1
            });
        targets[position].asked_for = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_often_goes_before_what_is_slower_once() {
        let target = |collective, excess_seconds| Target {
            excess_seconds,
            ..Target::unbounded(collective, 8)
        };
        let mut targets = vec![target(Collective::Scan, 1e-3), target(Collective::Reduce, 1e-6)];
        let calls = |left: &Subject| {
            if left.collective() == Some(Collective::Reduce) {
                1e6
            } else {
                10.0
            }
        };
        dearest_first(&mut targets, &calls);
        assert_eq!(targets[0].function, "reduce");
    }

    #[test]
    fn a_contest_for_a_violated_cell_is_held_once() {
        let mut violated = Target::unbounded(Collective::Reduce, 4096);
        violated.worst_ratio = 1.7;
        let mut targets = vec![violated];
        ask_for(
            &mut targets,
            [(Collective::Reduce, 4096), (Collective::Scan, 8), (Collective::Scan, 8)],
        );
        let held: Vec<_> = targets
            .iter()
            .map(|target| (target.name(), target.worst_ratio, target.asked_for))
            .collect();
        assert_eq!(
            held,
            [("reduce 4096".to_owned(), 1.7, true), ("scan 8".to_owned(), 0.0, true)]
        );
    }
}
