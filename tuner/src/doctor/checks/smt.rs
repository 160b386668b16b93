//! Hardware threads: two on one core slow each other down.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::count;

/// File with `1` if cores show more than one thread.
pub(super) const ACTIVE: &str = "/sys/devices/system/cpu/smt/active";

pub(super) const CHECK: Check = Check {
    id: "smt",
    what: "ranks do not share cores as hardware threads",
    quick: true,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let crowded = facts.first(|name, host, ranks| {
        let processors = host.processors()?;
        (host.text(ACTIVE)? == "1" && ranks > processors / 2 && ranks <= processors).then(|| {
            Judgement::warning(
                format!("{ranks} ranks on the {processors} hardware threads of {name}: some share a core"),
                format!(
                    "run {} there, one for each core, or switch hardware threads off",
                    count((processors / 2).max(1), "rank")
                ),
            )
        })
    });
    if let Some(crowded) = crowded {
        return crowded;
    }
    let texts = facts.texts(ACTIVE);
    if texts.is_empty() {
        Judgement::unknown("whether cores have hardware threads cannot be read")
    } else if texts.contains("1") {
        Judgement::fit("cores have hardware threads, and enough cores are there")
    } else {
        Judgement::fit("each processor is a core of its own")
    }
}
