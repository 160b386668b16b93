//! Resolution and cost of the clock, as the worker measures them.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::time;

/// Largest clock step. Collectives in shared memory take a few tenths of a microsecond.
const TICK_SECONDS: f64 = 200e-9;
const READ_SECONDS: f64 = 200e-9;

pub(super) const CHECK: Check = Check {
    id: "timer",
    what: "the clock is fine and cheap",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let Some(job) = &facts.job else {
        return Judgement::unknown("no job was started");
    };
    let says = format!(
        "the clock's smallest step is {}, and reading it takes {}",
        time(job.clock_tick_seconds),
        time(job.clock_read_seconds)
    );
    if job.clock_tick_seconds > TICK_SECONDS || job.clock_read_seconds > READ_SECONDS {
        return Judgement::warning(
            says,
            "see the check `clocksource`; until it is better, leave out volumes whose times are below a hundred steps (--sizes)",
        );
    }
    Judgement::fit(says)
}
