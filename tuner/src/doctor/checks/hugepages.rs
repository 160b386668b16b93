//! Transparent huge pages: with `always`, chance decides when a buffer gets them.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::alike::{of_files, unlike};

/// Such as `always [madvise] never`.
pub(super) const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) const CHECK: Check = Check {
    id: "hugepages",
    what: "huge pages are handed out predictably",
    quick: true,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let chosen = |text: &str| text.split(['[', ']']).nth(1).map(str::to_owned);
    let modes: Vec<String> = facts.texts(ENABLED).into_iter().filter_map(chosen).collect();
    let which = unlike(&of_files(facts, ENABLED, chosen));
    match modes.as_slice() {
        [] => Judgement::unknown("whether huge pages are transparent cannot be read"),
        [mode] if mode == "always" => Judgement::note(
            "transparent huge pages are handed out always: whether a buffer gets them may differ between launches",
        ),
        [mode] => Judgement::fit(format!("transparent huge pages: {mode}")),
        _ => Judgement::warning(
            format!("hosts differ in transparent huge pages ({})", which.unwrap_or_default()),
            format!("set all hosts alike, for example `echo madvise > {ENABLED}` as root"),
        ),
    }
}
