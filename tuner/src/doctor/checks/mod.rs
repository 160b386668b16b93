//! The checks, a file and a row each. A test compares the two.

mod alike;
mod binding;
mod caches;
mod cgroup;
mod clocks;
mod clocksource;
mod cores;
mod description;
mod fallback;
mod frequency;
mod hosts;
mod hugepages;
mod library;
mod load;
mod malloc;
mod memory;
mod networks;
mod printed;
mod single_copy;
mod smt;
mod steal;
mod timer;
mod transport;
mod transport_settings;
mod worker;

use kilter_render::format::count;

use super::Check;

pub(super) use load::AVERAGE;

/// Every check, in the order of printing: a check that stops everything comes first.
pub static CHECKS: &[Check] = &[
    library::CHECK,
    worker::CHECK,
    hosts::CHECK,
    alike::CHECK,
    cores::CHECK,
    cgroup::CHECK,
    binding::CHECK,
    smt::CHECK,
    load::CHECK,
    steal::CHECK,
    frequency::CHECK,
    clocksource::CHECK,
    timer::CHECK,
    clocks::CHECK,
    transport::CHECK,
    fallback::CHECK,
    networks::CHECK,
    single_copy::CHECK,
    description::CHECK,
    printed::CHECK,
    transport_settings::CHECK,
    memory::CHECK,
    hugepages::CHECK,
    malloc::CHECK,
    caches::CHECK,
];

/// Files that the checks read on every host.
pub static FILES: &[&str] = &[
    super::facts::ONLINE,
    super::facts::MEMORY,
    hosts::BOOT,
    alike::KERNEL,
    cgroup::LIMIT,
    cgroup::LIMIT_AT_THE_TOP,
    smt::ACTIVE,
    load::AVERAGE,
    frequency::GOVERNOR,
    frequency::NO_TURBO,
    frequency::BOOST,
    steal::PROCESSOR,
    clocksource::CURRENT,
    hugepages::ENABLED,
    caches::SIZES[0],
    caches::SIZES[1],
    caches::SIZES[2],
    caches::SIZES[3],
    fallback::DEVICES[0],
    fallback::DEVICES[1],
    networks::ROUTES,
    networks::ADDRESSES,
    single_copy::SCOPE,
    crate::carriers::devices::DIRECTORY,
];

/// A time for people.
fn time(seconds: f64) -> String {
    kilter_render::format::seconds(seconds)
}

/// Number of names or lines that are shown; the rest is counted.
const SHOWN: usize = 5;

/// The first of the lines, with the number of the rest.
fn some(lines: &[String]) -> String {
    let shown = lines[..lines.len().min(SHOWN)].join(", ");
    match lines.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
