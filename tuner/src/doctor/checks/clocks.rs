//! Checks that the ranks share a clock, which a start at one absolute time needs.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::time;

/// Tolerance in addition to the round trip, in nanoseconds.
const TOLERANCE_NS: u64 = 1_000_000;

pub(super) const CHECK: Check = Check {
    id: "clocks",
    what: "all ranks read one clock",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let Some(job) = &facts.job else {
        return Judgement::unknown("no job was started");
    };
    let furthest = job
        .ranks
        .iter()
        .enumerate()
        .max_by_key(|(_, place)| place.clock_offset_ns.unsigned_abs().saturating_sub(place.round_trip_ns));
    let Some((rank, place)) = furthest else {
        return Judgement::unknown("there are no ranks");
    };
    let seconds = place.clock_offset_ns.unsigned_abs() as f64 / 1e9;
    if place.clock_offset_ns.unsigned_abs() > TOLERANCE_NS.saturating_add(place.round_trip_ns) {
        return Judgement::note(format!(
            "the clock of rank {rank} on {} is {} away from rank 0's: a repetition can only start together where the clocks are \
             modelled first",
            place.host,
            time(seconds)
        ));
    }
    Judgement::fit("all ranks read one clock")
}
