//! Sizes of caches, at which times change their slope.

use super::super::facts::Facts;
use super::super::{Check, Judgement};

/// Sizes of the first processor's caches: level 1 data, level 1 instructions, level 2, level 3 on most processors.
pub(super) const SIZES: [&str; 4] = [
    "/sys/devices/system/cpu/cpu0/cache/index0/size",
    "/sys/devices/system/cpu/cpu0/cache/index1/size",
    "/sys/devices/system/cpu/cpu0/cache/index2/size",
    "/sys/devices/system/cpu/cpu0/cache/index3/size",
];

pub(super) const CHECK: Check = Check {
    id: "caches",
    what: "all hosts have the same caches",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let sizes = |host: &super::super::facts::Host| {
        let sizes: Vec<&str> = SIZES.iter().filter_map(|path| host.text(path)).collect();
        (!sizes.is_empty()).then(|| sizes.join(", "))
    };
    let all: std::collections::BTreeSet<String> = facts.occupied().filter_map(|(_, host, _)| sizes(host)).collect();
    let list: Vec<&str> = all.iter().map(String::as_str).collect();
    match list.as_slice() {
        [] => Judgement::unknown("sizes of caches cannot be read"),
        [one] => Judgement::fit(format!("caches of a processor: {one}")),
        several => Judgement::warning(
            format!("hosts have different caches: {}", several.join("; ")),
            "measure hosts of one kind together (--hostfile), each kind by itself",
        ),
    }
}
