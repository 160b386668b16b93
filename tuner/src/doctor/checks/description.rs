//! Compares the library's control variables with its description. A missing variable cannot be tuned, and a site's own
//! settings are the start of tuning.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::{count, some};

pub(super) const CHECK: Check = Check {
    id: "description",
    what: "the library has the parameters of its description, with its own defaults",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    if facts.job.is_none() {
        return Judgement::unknown("no job was started");
    }
    let all = facts.described.len();
    if all == 0 {
        return Judgement::unknown("the description names no control variables");
    }
    let missing: Vec<String> = facts
        .described
        .iter()
        .filter(|variable| variable.reported.is_none())
        .map(|variable| variable.name.clone())
        .collect();
    let changed: Vec<String> = facts
        .described
        .iter()
        .filter(|variable| !variable.is_default)
        .filter_map(|variable| {
            let reported = variable.reported.as_ref()?;
            Some(format!("{}={reported} (default {})", variable.name, variable.default))
        })
        .collect();
    let mut says = Vec::new();
    if !missing.is_empty() {
        says.push(format!(
            "{} of {all} described parameters are not in this library, and what tries them fails: {}",
            missing.len(),
            some(&missing)
        ));
    }
    if !changed.is_empty() {
        says.push(format!(
            "{} not at the described default, because of a file of the site, the environment or the release: {}",
            count(changed.len(), "parameter"),
            some(&changed)
        ));
    }
    if says.is_empty() {
        Judgement::fit(format!("all {all} described parameters are there, at their defaults"))
    } else {
        Judgement::note(says.join("; "))
    }
}
