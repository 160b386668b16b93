//! Clock source of the kernel: some sources cost a system call and a microsecond.

use super::super::facts::Facts;
use super::super::{Check, Judgement};

/// Such as `tsc`.
pub(super) const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Sources that are read without entering the kernel.
const FAST: &[&str] = &[
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
];

pub(super) const CHECK: Check = Check {
    id: "clocksource",
    what: "the clock is read without entering the kernel",
    quick: true,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let sources = facts.texts(CURRENT);
    match sources.iter().find(|source| !FAST.contains(source)) {
        Some(source) => Judgement::warning(
            format!("the clock source is `{source}`, which is slow to read"),
            format!("boot with `tsc=reliable` if the processor has a steady counter, or write `tsc` to {CURRENT}"),
        ),
        None => match sources.first() {
            Some(source) => Judgement::fit(format!("the clock source is `{source}`")),
            None => Judgement::unknown("the clock source cannot be read"),
        },
    }
}
