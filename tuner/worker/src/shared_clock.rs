//! Asks all ranks for the time, to check that they read one clock or that the common time made from their clocks is one.
//!
//! Names of hosts do not tell: network namespaces of one machine have names of their own and the same clock. So rank 0 asks
//! each rank for its time and compares it with the middle of question and answer.

use kilter_mpi::MpiError;

use crate::control::Control;
use crate::fit::Point;

/// Questions to each rank; the quickest answer counts.
const QUESTIONS: usize = 8;

/// Tolerance in addition to the round trip, in nanoseconds.
const TOLERANCE_NS: u64 = 1_000_000;

/// A rank's clock against rank 0's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The rank.
    pub(crate) rank: usize,
    /// Its clock minus rank 0's, in nanoseconds.
    pub(crate) offset_ns: i64,
    /// Round trip of the quickest question, in nanoseconds.
    pub(crate) round_trip_ns: u64,
}

/// Asks all ranks for their `now_ns`; on rank 0, one entry for each other rank. Called by all ranks.
pub(crate) fn ask_all(control: &Control, now_ns: impl Fn() -> u64) -> Result<Vec<Offset>, MpiError> {
    if !control.is_root() {
        for _ in 0..QUESTIONS {
            control.answer(0, &now_ns)?;
        }
        return Ok(Vec::new());
    }
    (1..control.p_ranks())
        .map(|rank| {
            let best = ask(control, rank, QUESTIONS, &now_ns)?;
            Ok(Offset {
                rank,
                offset_ns: best.offset_ns(),
                round_trip_ns: best.round_trip_ns,
            })
        })
        .collect()
}

/// Asks `peer` so many times (at least once); the quickest answer.
pub(crate) fn ask(
    control: &Control,
    peer: usize,
    questions: usize,
    now_ns: impl Fn() -> u64,
) -> Result<Point, MpiError> {
    let once = || {
        let asked_ns = now_ns();
        let theirs_ns = control.ask(peer)?;
        Ok(Point::new(asked_ns, theirs_ns, now_ns()))
    };
    let mut best = once()?;
    for _ in 1..questions {
        let point = once()?;
        if point.round_trip_ns < best.round_trip_ns {
            best = point;
        }
    }
    Ok(best)
}

impl Offset {
    /// True if it may be the same clock.
    pub(crate) fn is_within_tolerance(&self) -> bool {
        self.offset_ns.unsigned_abs() < TOLERANCE_NS.saturating_add(self.round_trip_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(asked_ns: u64, theirs_ns: u64, answered_ns: u64) -> Offset {
        let point = Point::new(asked_ns, theirs_ns, answered_ns);
        Offset {
            rank: 1,
            offset_ns: point.offset_ns(),
            round_trip_ns: point.round_trip_ns,
        }
    }

    #[test]
    fn an_offset_beyond_a_millisecond_and_the_round_trip_is_another_clock() {
        assert!(offset(1_000_000, 1_000_500, 1_001_000).is_within_tolerance());
        assert!(offset(5_000_000_000, 5_000_900_000, 5_000_001_000).is_within_tolerance());
        assert!(!offset(5_000_000_000, 5_001_100_000, 5_000_001_000).is_within_tolerance());
        assert!(!offset(5_000_000_000, 3_000_000_000, 5_000_001_000).is_within_tolerance());
        assert!(!offset(5_000_000_000, 77_000_000_000, 5_000_001_000).is_within_tolerance());
    }
}
