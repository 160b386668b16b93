//! What has to become faster: violated cells, grouped by the collective and volume on their left side.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;

use crate::plan::Subject;
use crate::report::model::Outcome;
use crate::verification::{JudgedCell, Verification};

/// A collective at a volume, and what it must not be slower than.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The collective.
    pub collective: Collective,
    /// Volume in bytes.
    pub bytes: u64,
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
        format!("{} {}", self.collective, self.bytes)
    }

    /// The target without bounds: a contest that was asked for.
    #[must_use]
    pub fn unbounded(collective: Collective, bytes: u64) -> Target {
        Target {
            collective,
            bytes,
            bounds: Vec::new(),
            cells: Vec::new(),
            worst_ratio: 0.0,
        }
    }
}

/// The targets of a verification, worst first, without those in `settled`.
#[must_use]
pub fn targets(verification: &Verification, settled: &dyn Fn(&JudgedCell) -> bool) -> Vec<Target> {
    let mut targets: BTreeMap<(Collective, u64), Target> = BTreeMap::new();
    for judged in verification
        .cells
        .iter()
        .filter(|judged| judged.comparison.verdict == Outcome::Violated && !settled(judged))
    {
        let left = &judged.cell.left;
        let target = targets
            .entry((left.collective, left.bytes))
            .or_insert_with(|| Target::unbounded(left.collective, left.bytes));
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
