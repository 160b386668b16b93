//! Cells and targets for overlap, counted.

use kilter_model::report::{Cell, TargetReport};
use kilter_stats::verdict::Outcome;

use super::standing::current;

/// Cells by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Cells that hold.
    pub holds: usize,
    /// Violated cells.
    pub violated: usize,
    /// Cells the samples do not decide.
    pub undecided: usize,
    /// Cells measured on a changing machine.
    pub unstable: usize,
    /// Cells that the screening alone looked at.
    pub screened: usize,
    /// Cells that were not measured again although what is deployed may act on them.
    pub not_again: usize,
}

impl Counts {
    /// Counts verdicts.
    pub fn of(outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Holds => counts.holds += 1,
                Outcome::Violated => counts.violated += 1,
                Outcome::Undecided => counts.undecided += 1,
                Outcome::Unstable => counts.unstable += 1,
                Outcome::Screened => counts.screened += 1,
            }
        }
        counts
    }

    /// Counts cells as they are now.
    pub fn now<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> Self {
        let (again, not_again): (Vec<&Cell>, Vec<&Cell>) =
            cells.into_iter().partition(|cell| cell.not_measured_again.is_none());
        Self {
            not_again: not_again.len(),
            ..Self::of(again.into_iter().map(|cell| current(cell).verdict))
        }
    }

    /// Number of all cells.
    pub fn total(&self) -> usize {
        self.holds + self.violated + self.undecided + self.unstable + self.screened + self.not_again
    }
}

/// Targets for overlap by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetCounts {
    /// Number of targets asked for.
    pub asked: usize,
    /// Number that could not be met on this machine, and are not.
    pub unattainable: usize,
    /// Attainable targets that the untouched library misses.
    pub missed_before: usize,
    /// Targets that were missed before and hold now.
    pub met: usize,
    /// Missed now, with what is deployed where something is.
    pub missed: usize,
    /// Number that the samples do not decide now.
    pub undecided: usize,
    /// Undecided targets that were missed before.
    pub unproven: usize,
    /// Number that hold now.
    pub hold: usize,
    /// True if they were measured again with what is deployed.
    pub measured_again: bool,
}

impl TargetCounts {
    /// Counts targets.
    pub fn of(targets: &[TargetReport]) -> Self {
        let mut counts = Self {
            asked: targets.len(),
            measured_again: targets.iter().any(|target| target.after.is_some()),
            ..Self::default()
        };
        for target in targets {
            let now = target.after.as_ref().unwrap_or(&target.before).as_str();
            if !target.attainable {
                counts.unattainable += 1;
                continue;
            }
            let was_missed = target.before == "missed";
            counts.missed_before += usize::from(was_missed);
            match now {
                "missed" => counts.missed += 1,
                "undecided" => {
                    counts.undecided += 1;
                    counts.unproven += usize::from(was_missed);
                }
                "holds" => {
                    counts.hold += 1;
                    counts.met += usize::from(was_missed);
                }
                _ => {}
            }
        }
        counts
    }

    /// `2 of 3 overlap targets missed before, 0 after, 1 undecided`; `None` where none were asked for. What is not certain, and what is
    /// out of reach, is said.
    pub(super) fn headline(&self) -> Option<String> {
        let targets = kilter_render::format::count(self.asked, "overlap target");
        let mut headline = match (self.asked, self.measured_again) {
            (0, _) => return None,
            (_, true) => format!(
                "{} of {targets} missed before, {} after",
                self.missed_before, self.missed
            ),
            (asked, false) if self.hold == asked => match asked {
                1 => "the overlap target holds".to_owned(),
                _ => format!("all {targets} hold"),
            },
            (_, false) => format!("{} of {targets} missed", self.missed),
        };
        let unmeasured = self.asked - self.unattainable - self.missed - self.undecided - self.hold;
        for (number, word) in [
            (self.undecided, "undecided"),
            (unmeasured, "not measured"),
            (self.unattainable, "not attainable here"),
        ] {
            if number > 0 {
                headline += &format!(", {number} {word}");
            }
        }
        Some(headline)
    }
}
