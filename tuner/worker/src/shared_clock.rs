//! Checks that all ranks read one clock, which starting at an absolute time needs.
//!
//! Names of hosts do not tell: network namespaces of one machine have names of their own and the same clock. So rank 0 asks
//! each rank for its time and compares it with the middle of question and answer.

use kilter_mpi::MpiError;

use crate::clock;
use crate::control::Control;

/// Questions to each rank; the quickest answer counts.
const QUESTIONS: usize = 8;

/// What is tolerated on top of the round trip, in nanoseconds.
const TOLERANCE_NS: u64 = 1_000_000;

/// A rank whose clock is not rank 0's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The rank.
    pub(crate) rank: usize,
    /// Its clock minus rank 0's, in nanoseconds.
    pub(crate) offset_ns: i64,
    /// Of the quickest question, in nanoseconds.
    pub(crate) round_trip_ns: u64,
}

/// Asks all ranks; on rank 0, the first whose clock differs. Called by all ranks.
///
/// # Errors
/// The library's.
pub(crate) fn find_offset(control: &Control) -> Result<Option<Offset>, MpiError> {
    let mut found = None;
    if !control.is_root() {
        for _ in 0..QUESTIONS {
            control.answer(0, clock::now_ns)?;
        }
        return Ok(None);
    }
    for rank in 1..control.p_ranks() {
        let mut best: Option<Offset> = None;
        for _ in 0..QUESTIONS {
            let asked_ns = clock::now_ns();
            let theirs_ns = control.ask(rank)?;
            let offset = offset(rank, asked_ns, theirs_ns, clock::now_ns());
            if best.is_none_or(|best| offset.round_trip_ns < best.round_trip_ns) {
                best = Some(offset);
            }
        }
        found = found.or(best.filter(|best| !best.is_within_tolerance()));
    }
    Ok(found)
}

fn offset(rank: usize, asked_ns: u64, theirs_ns: u64, answered_ns: u64) -> Offset {
    let round_trip_ns = answered_ns.saturating_sub(asked_ns);
    let middle_ns = asked_ns + round_trip_ns / 2;
    Offset {
        rank,
        offset_ns: theirs_ns.wrapping_sub(middle_ns).cast_signed(),
        round_trip_ns,
    }
}

impl Offset {
    fn is_within_tolerance(&self) -> bool {
        self.offset_ns.unsigned_abs() < TOLERANCE_NS.saturating_add(self.round_trip_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::offset;

    #[test]
    fn an_offset_beyond_a_millisecond_and_the_round_trip_is_another_clock() {
        assert!(offset(1, 1_000_000, 1_000_500, 1_001_000).is_within_tolerance());
        assert!(offset(1, 5_000_000_000, 5_000_900_000, 5_000_001_000).is_within_tolerance());
        assert!(!offset(1, 5_000_000_000, 5_001_100_000, 5_000_001_000).is_within_tolerance());
        assert!(!offset(1, 5_000_000_000, 3_000_000_000, 5_000_001_000).is_within_tolerance());
        assert!(!offset(1, 5_000_000_000, 77_000_000_000, 5_000_001_000).is_within_tolerance());
    }
}
