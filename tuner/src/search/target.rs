//! What has to become faster: violated cells, grouped by their left side.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;

use crate::plan::Subject;
use crate::report::model::Outcome;
use crate::verification::{JudgedCell, Verification};

/// A collective at a volume, and what it must not be slower than.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// What is too slow.
    pub left: Subject,
    /// As people name it: `reduce`, `isend`.
    pub function: String,
    /// Right sides of the violated guidelines.
    pub bounds: Vec<Subject>,
    /// Names of the violated cells.
    pub cells: Vec<String>,
    /// Largest ratio of the left to a right side.
    pub worst_ratio: f64,
}

impl Target {
    /// `reduce 4096`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.function, self.left.bytes)
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

    /// The target without bounds: a contest that was asked for.
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
        }
    }
}

/// The targets of a verification, worst first, without those in `settled`.
#[must_use]
pub fn targets(verification: &Verification, settled: &dyn Fn(&JudgedCell) -> bool) -> Vec<Target> {
    let mut targets: BTreeMap<Subject, Target> = BTreeMap::new();
    for judged in verification
        .cells
        .iter()
        .filter(|judged| judged.comparison.verdict == Outcome::Violated && !settled(judged))
    {
        let left = &judged.cell.left;
        let target = targets
            .entry(left.clone())
            .or_insert_with(|| Target::of(left.clone(), &judged.cell.function));
        if !target.bounds.contains(&judged.cell.right) {
            target.bounds.push(judged.cell.right.clone());
        }
        target.cells.push(judged.cell.name());
        target.worst_ratio = target.worst_ratio.max(judged.comparison.ratio);
    }
    let mut targets: Vec<Target> = targets.into_values().collect();
    targets.sort_by(|a, b| b.worst_ratio.total_cmp(&a.worst_ratio));
    targets
}
