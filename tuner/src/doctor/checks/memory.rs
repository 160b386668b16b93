//! Memory: data that does not fit is swapped, and the swapping is measured.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::count;

/// Bytes that a rank needs at the largest default volume, including buffers, copies and the library's own.
const PER_RANK: u64 = 128 << 20;

pub(super) const CHECK: Check = Check {
    id: "memory",
    what: "memory is free",
    quick: true,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let short = facts.first(|name, host, ranks| {
        let free = host.memory_bytes("MemAvailable:")?;
        (free < PER_RANK.saturating_mul(ranks as u64)).then(|| {
            Judgement::warning(
                format!("{:.1} GiB are free on {name} for {}", gib(free), count(ranks, "rank")),
                "free memory, run fewer --ranks, or keep to smaller --sizes",
            )
        })
    });
    let least = facts
        .occupied()
        .filter_map(|(_, host, _)| host.memory_bytes("MemAvailable:"))
        .min();
    match (short, least) {
        (Some(short), _) => short,
        (None, Some(free)) => Judgement::fit(format!("{:.1} GiB are free", gib(free))),
        (None, None) => Judgement::unknown("free memory cannot be read"),
    }
}
