//! The MPI library and its version.

use super::super::facts::Facts;
use super::super::{Check, Judgement};

pub(super) const CHECK: Check = Check {
    id: "library",
    what: "the launcher's MPI library has a description",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    if let Some(problem) = facts.problem.as_ref().filter(|problem| problem.check == "library") {
        return Judgement::error("the MPI library is not known", problem.text.clone());
    }
    let device = facts.job.iter().flat_map(|job| job.library.lines()).find_map(|line| {
        let (key, device) = line.split_once(':')?;
        (key.trim() == "MPICH Device").then(|| format!(", device {}", device.trim()))
    });
    let says = format!("{}{}", facts.library, device.unwrap_or_default());
    match &facts.remark {
        Some(remark) if remark.contradicts => Judgement::warning(
            format!("{says}: {}", remark.text),
            "give the launcher of the library that is meant (--mpirun), or the build for the launcher's (--libexec)",
        ),
        Some(remark) => Judgement::note(format!("{says}: {}", remark.text)),
        None => Judgement::fit(says),
    }
}
