//! Virtual machines, whose processors may be taken away silently.

use super::super::facts::Facts;
use super::super::{Check, Judgement};

/// File with the flag `hypervisor` in a virtual machine.
pub(super) const PROCESSOR: &str = "/proc/cpuinfo";

/// Share of all processors' time that may be stolen without a warning.
const STOLEN: f64 = 0.005;

pub(super) const CHECK: Check = Check {
    id: "virtual",
    what: "no other virtual machine takes processor time",
    quick: true,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let stolen = facts.first(|name, host, _| {
        let stolen = host.moment?.stolen;
        (stolen > STOLEN).then(|| {
            Judgement::warning(
                format!(
                    "{:.1} % of the processor time of {name} goes to other virtual machines",
                    stolen * 100.0
                ),
                "measure on a machine of its own, or use more --launches and expect undecided cells",
            )
        })
    });
    if let Some(stolen) = stolen {
        return stolen;
    }
    let flags = |text: &str| {
        text.lines()
            .any(|line| line.starts_with("flags") && line.contains(" hypervisor"))
    };
    match facts.first(|name, host, _| host.text(PROCESSOR).filter(|text| flags(text)).map(|_| name.to_owned())) {
        Some(name) => Judgement::note(format!(
            "{name} is a virtual machine: its processors may be taken away at any time"
        )),
        None if facts.texts(PROCESSOR).is_empty() => {
            Judgement::unknown("whether this is a virtual machine cannot be read")
        }
        None => Judgement::fit("no virtual machine"),
    }
}
