//! Allocation of a batch system in which a launch is made. It determines the nodes, and launches on the same nodes may
//! share their luck.

use std::sync::LazyLock;

use kilter_model::config::launcher;
use kilter_stats::verdict::Allocations;

/// Variables that name a job in batch systems with a described launcher. Descriptions are read once, since every launch asks for its allocation.
static DESCRIBED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let described = launcher::load_embedded().unwrap_or_default().into_iter();
    described.map(|launcher| launcher.allocation.inside).collect()
});

/// Variables that name a job in batch systems without a described launcher: Flux, Grid Engine, Fujitsu's, Cobalt, OAR.
const OTHERS: [&str; 5] = ["FLUX_JOB_ID", "JOB_ID", "PJM_JOBID", "COBALT_JOBID", "OAR_JOB_ID"];

/// Allocation in which this process runs, such as `SLURM_JOB_ID=4711`; `None` outside of any.
#[must_use]
pub fn current() -> Option<String> {
    named_by(&|name| std::env::var(name).ok())
}

/// Same as [`current`], where `variable` reads the environment.
fn named_by(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let described = DESCRIBED.iter().map(String::as_str);
    described.chain(OTHERS).find_map(|name| {
        let job = variable(name).filter(|job| !job.is_empty())?;
        Some(format!("{name}={job}"))
    })
}

/// A number for each launch, the same for launches of one allocation, from 0 in the order of the first. Launches
/// outside of any share a number. `None` if all are in one, which tells nothing.
#[must_use]
pub fn numbered(allocations: &[Option<String>]) -> Option<Vec<usize>> {
    let mut known: Vec<&Option<String>> = Vec::new();
    let numbers: Vec<usize> = allocations
        .iter()
        .map(|allocation| {
            known.iter().position(|one| *one == allocation).unwrap_or_else(|| {
                known.push(allocation);
                known.len() - 1
            })
        })
        .collect();
    (known.len() > 1).then_some(numbers)
}

/// Allocations as verdicts see them: unknown, known, or the units of verdicts because the user asked for it. `numbers`
/// comes from [`numbered`].
#[must_use]
pub fn as_units(numbers: Option<&[usize]>, asked_for: bool) -> Allocations<'_> {
    match (numbers, asked_for) {
        // One allocation is one unit.
        (_, true) => Allocations::Units(numbers.unwrap_or(&[])),
        (Some(numbers), false) => Allocations::Known(numbers),
        (None, false) => Allocations::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_systems_name_their_jobs() {
        let named = |all: &[(&str, &str)]| {
            named_by(&|name| {
                let mut all = all.iter();
                all.find(|(known, _)| *known == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        for variable in ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID"] {
            assert_eq!(named(&[(variable, "47.head")]), Some(format!("{variable}=47.head")));
        }
        assert_eq!(named(&[]), None);
        assert_eq!(named(&[("SLURM_JOB_ID", "")]), None);
    }

    #[test]
    fn allocations_are_numbered_as_they_come() {
        let name = |text: &str| Some(text.to_owned());
        let numbers = numbered(&[name("a"), name("b"), name("a"), None, None]);
        assert_eq!(numbers, Some(vec![0, 1, 0, 2, 2]));
        assert_eq!(numbered(&[name("a"), name("a")]), None);
        assert_eq!(numbered(&[None, None]), None);
        assert_eq!(numbered(&[]), None);
        assert_eq!(as_units(None, true), Allocations::Units(&[]));
        assert_eq!(as_units(None, false), Allocations::Unknown);
        assert_eq!(as_units(Some(&[0, 1]), false), Allocations::Known(&[0, 1]));
    }
}
