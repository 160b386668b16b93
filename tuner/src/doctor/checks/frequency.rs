//! Processors that change their frequency, so that a repetition's time depends on what ran before.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::alike::{of_files, unlike};

/// The governor, such as `performance` or `powersave`.
pub(super) const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
/// File with `1` if Intel's driver has turbo off.
pub(super) const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
/// File with `1` if other drivers have boost on.
pub(super) const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

pub(super) const CHECK: Check = Check {
    id: "frequency",
    what: "processors keep their frequency",
    quick: true,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let governors = facts.texts(GOVERNOR);
    if governors.is_empty() {
        return Judgement::unknown("the governor of the frequency cannot be read, as in most virtual machines");
    }
    if let Some(governor) = governors.iter().find(|governor| **governor != "performance") {
        let says = match unlike(&of_files(facts, GOVERNOR, |text| Some(text.to_owned()))) {
            Some(which) => format!("hosts differ in the frequency governor ({which})"),
            None => format!("the frequency governor is `{governor}`"),
        };
        return Judgement::warning(
            says,
            "set it for the measurement: `cpupower frequency-set -g performance` as root",
        );
    }
    if facts.texts(NO_TURBO).contains("0") || facts.texts(BOOST).contains("1") {
        return Judgement::note(
            "turbo is on: the frequency depends on how many processors are busy and how warm they are, which adds spread",
        );
    }
    Judgement::fit("the governor is `performance`, and turbo is off")
}
