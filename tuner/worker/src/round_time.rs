//! Rank 0's time on every rank, where each has a clock of its own.
//!
//! The scheme is hierarchical, as HCA3 is (Hunold and Carpen-Amarie: Hierarchical Clock Synchronization in MPI, IEEE CLUSTER 2018,
//! doi:10.1109/CLUSTER.2018.00050): along a binomial tree each rank asks its parent for the time, so that a pass takes `ceil(log2 p)` rounds of
//! pairs, for any number of ranks. Unlike there, a rank keeps its history of the parent's own clock, which stays true when the parent learns
//! better how rank 0's clock runs; models are chained down the tree after each pass. So the history grows with the job and drift is known ever
//! better, and a check in between costs a few messages.
//!
//! A model is used no further ahead than its history is long ([`Fit::reach_ns`]), at most [`LONGEST_NS`]. Then comes a pass, which first checks
//! the models against the ranks' present answers. If one is contradicted, all learn anew.

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

/// Age in nanoseconds after which points are forgotten, because clocks change their pace with the temperature.
const AGE_NS: i64 = 60_000_000_000;

/// This rank's part in the scheme.
#[derive(Debug, Default)]
pub(crate) struct RoundTime {
    /// Points heard from the parent; none on rank 0.
    points: Vec<Point>,
    to_parent: Option<Fit>,
    /// Time of the next check on the common clock: the same number on every rank.
    due_ns: u64,
    /// Number of checks of the models.
    pub(crate) checks: u32,
    /// Number of times that all was learnt anew.
    pub(crate) relearnt: u32,
}

impl RoundTime {
    /// Learns; gives the line from this rank's clock to rank 0's. Called by all ranks.
    pub(crate) fn learn(&mut self, control: &Control, own_ns: &impl Fn() -> u64) -> anyhow::Result<Line> {
        self.points.clear();
        for _ in 0..PASSES {
            let point = pass(control, own_ns)?;
            self.points.extend(point);
            std::thread::sleep(PAUSE);
        }
        self.chain(control, own_ns)
    }

    /// True if the ranks check their models now; `now_ns` is agreed, and so is the answer.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Checks the models, and makes them better or learns them anew. Called by all ranks.
    pub(crate) fn check(&mut self, control: &Control, own_ns: &impl Fn() -> u64) -> anyhow::Result<Line> {
        self.checks += 1;
        let point = pass(control, own_ns)?;
        let contradicted =
            matches!((&self.to_parent, &point), (Some(fit), Some(point)) if fit.is_contradicted_by(point));
        let [contradicted, ..] = control.exchange_max([u64::from(contradicted), 0, 0, 0])?;
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

    /// Makes the line to rank 0's clock from the points, and sets the time of its check.
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
        let [missing, latest_ns, ..] = control.exchange_max([u64::MAX - reach_ns, common_ns, 0, 0])?;
        self.due_ns = due_ns(latest_ns, u64::MAX - missing);
        Ok(line)
    }
}

/// Time of the next check of models that reach so far, the least of all ranks.
fn due_ns(latest_ns: u64, reach_ns: u64) -> u64 {
    latest_ns.saturating_add(reach_ns.clamp(SHORTEST_NS, LONGEST_NS))
}

/// Asks the parent, then answers the children. Returns the parent's answer, except on rank 0. Called by all ranks.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control;

    const NOW_NS: i64 = 8_000_000_000_000;

    /// Rank `rank`'s clock as a line from the true time: seconds ahead or behind, up to 100 ppm fast or slow.
    fn clock(rank: usize) -> Line {
        let rank = rank as i64;
        Line {
            from_ns: 0,
            to_ns: (rank * 7919 % 13 - 6) * 1_000_000_000 + rank,
            skew: ((rank * 31 % 21 - 10) * 10) as f64 * 1e-6,
        }
    }

    /// Points that a rank hears from its parent in 24 passes of 5 ms: answers take 400 ns there and 600 ns back, some
    /// 90 us more.
    fn points(rank: usize, parent: usize) -> Vec<Point> {
        (0..24)
            .map(|pass| {
                let asked = NOW_NS + pass * 5_000_000;
                let late = if (pass + rank as i64) % 4 == 0 { 90_000 } else { 0 };
                Point::new(
                    clock(rank).apply(asked).cast_unsigned(),
                    clock(parent).apply(asked + 400).cast_unsigned(),
                    clock(rank).apply(asked + 1_000 + late).cast_unsigned(),
                )
            })
            .collect()
    }

    #[test]
    fn chained_models_give_rank_0s_time_on_every_rank_for_any_number_of_ranks() {
        for p_ranks in 1..=33 {
            let mut lines = vec![None; p_ranks];
            lines[0] = Some(Line::IDENTITY);
            // Models go down the tree: a parent's is known before its children need it.
            let mut waiting = vec![0];
            while let Some(rank) = waiting.pop() {
                for child in control::children(rank, p_ranks) {
                    let fit = Fit::new(&points(child, rank)).unwrap();
                    lines[child] = lines[rank].map(|line| fit.line.then(&line));
                    waiting.push(child);
                }
            }
            for (rank, line) in lines.into_iter().enumerate() {
                let line = line.unwrap_or_else(|| panic!("p={p_ranks}: nobody told rank {rank}"));
                // 100 ns of asymmetry per level of the tree, and as much for the end of the reach.
                let allowed_ns = 250 * u64::from(rank.count_ones()) + 5;
                for time in [NOW_NS, NOW_NS + 120_000_000, NOW_NS + 230_000_000] {
                    let error_ns = line.apply(clock(rank).apply(time)).abs_diff(clock(0).apply(time));
                    assert!(error_ns <= allowed_ns, "p={p_ranks} rank {rank}: {error_ns} ns");
                }
            }
        }
    }

    #[test]
    fn checks_come_when_the_shortest_model_ends_within_limits() {
        assert_eq!(due_ns(1_000, 0), 1_000 + SHORTEST_NS);
        assert_eq!(due_ns(1_000, 120_000_000), 120_001_000);
        assert_eq!(due_ns(1_000, u64::MAX), 1_000 + LONGEST_NS);
    }
}
