//! Rank 0's time on every rank, where each has a clock of its own.
//!
//! The scheme is hierarchical, as HCA3 is (Hunold and Carpen-Amarie: Hierarchical Clock Synchronization in MPI, IEEE CLUSTER
//! 2018, doi:10.1109/CLUSTER.2018.00050): along a binomial tree each rank asks its parent for the time, so that a pass takes
//! `ceil(log2 p)` rounds of pairs, for any number of ranks. Other than there, a rank keeps what it heard about the parent's own
//! clock, which stays true when the parent learns better what rank 0's clock is; models are chained down the tree after each
//! pass. So the history grows with the job and drift is known ever better, and a check in between costs a few messages.
//!
//! A model is used no further ahead than its history is long ([`Fit::reach_ns`]), at most [`LONGEST_NS`]: then comes a pass, which
//! first checks the models against what the ranks say now. Where one is contradicted, all learn anew.

use std::time::Duration;

use anyhow::Context;

use crate::control::Control;
use crate::fit::{Fit, Point};
use crate::line::Line;
use crate::shared_clock;

/// Passes of the first learning, and the pause after each: the longer the history, the better the drift.
const PASSES: usize = 24;
const PAUSE: Duration = Duration::from_millis(5);

/// Questions to the parent in a pass; the quickest answer counts.
const QUESTIONS: usize = 10;

/// Shortest and longest time between two checks, in nanoseconds.
const SHORTEST_NS: u64 = 50_000_000;
const LONGEST_NS: u64 = 10_000_000_000;

/// What was heard longer ago is forgotten, in nanoseconds: clocks change their pace with the temperature.
const AGE_NS: i64 = 60_000_000_000;

/// This rank's part in the scheme.
#[derive(Debug, Default)]
pub(crate) struct RoundTime {
    /// What the parent said; none on rank 0.
    points: Vec<Point>,
    to_parent: Option<Fit>,
    /// When the next check is due, on the common clock: the same number on every rank.
    due_ns: u64,
    /// How often all was learnt anew.
    pub(crate) relearnt: u32,
}

impl RoundTime {
    /// Learns; gives the line from this rank's clock to rank 0's. Called by all ranks.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn learn(&mut self, control: &Control, own_ns: &impl Fn() -> u64) -> anyhow::Result<Line> {
        self.points.clear();
        for _ in 0..PASSES {
            let point = pass(control, own_ns)?;
            self.points.extend(point);
            std::thread::sleep(PAUSE);
        }
        self.chain(control, own_ns)
    }

    /// Whether the ranks check their models now; `now_ns` is agreed, and so is the answer.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Checks the models, and makes them better or learns them anew. Called by all ranks.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn check(&mut self, control: &Control, own_ns: &impl Fn() -> u64) -> anyhow::Result<Line> {
        let point = pass(control, own_ns)?;
        let contradicted =
            matches!((&self.to_parent, &point), (Some(fit), Some(point)) if fit.is_contradicted_by(point));
        let [contradicted, ..] = control.exchange_max([u64::from(contradicted), 0, 0])?;
        if contradicted != 0 {
            self.relearnt += 1;
            return self.learn(control, own_ns);
        }
        self.points.extend(point);
        if let Some(newest) = point {
            self.points.retain(|point| newest.own_ns - point.own_ns <= AGE_NS);
        }
        self.chain(control, own_ns)
    }

    /// From the points to the line to rank 0's clock, and when to check it.
    fn chain(&mut self, control: &Control, own_ns: &impl Fn() -> u64) -> anyhow::Result<Line> {
        self.to_parent = Fit::new(&self.points);
        let line = match (&self.to_parent, control.parent()) {
            (Some(fit), Some(parent)) => {
                let bytes = control.hear(parent)?;
                let theirs = Line::from_bytes(&bytes)
                    .with_context(|| format!("rank {parent} told {} bytes, which are no clock model", bytes.len()))?;
                fit.line.then(&theirs)
            }
            _ => Line::IDENTITY,
        };
        for child in control.children() {
            control.tell(child, &line.to_bytes())?;
        }
        let now_ns = own_ns().cast_signed();
        let reach_ns = self.to_parent.map_or(LONGEST_NS, |fit| fit.reach_ns(now_ns));
        // The least reach, as the maximum of what is missing; and a time that all agree on.
        let common_ns = line.apply(now_ns).max(0).cast_unsigned();
        let [missing, latest_ns, _] = control.exchange_max([u64::MAX - reach_ns, common_ns, 0])?;
        self.due_ns = latest_ns.saturating_add((u64::MAX - missing).clamp(SHORTEST_NS, LONGEST_NS));
        Ok(line)
    }
}

/// Asks the parent, then answers the children; what the parent said, except on rank 0. Called by all ranks.
fn pass(control: &Control, own_ns: &impl Fn() -> u64) -> anyhow::Result<Option<Point>> {
    let point = match control.parent() {
        Some(parent) => Some(shared_clock::ask(control, parent, QUESTIONS, own_ns)?),
        None => None,
    };
    for child in control.children() {
        for _ in 0..QUESTIONS {
            control.answer(child, own_ns)?;
        }
    }
    Ok(point)
}
