//! Checks that each rank has a processor.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::count;

pub(super) const CHECK: Check = Check {
    id: "cores",
    what: "every rank has a processor",
    quick: true,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let short = facts.first(|name, host, ranks| {
        let processors = host.processors()?;
        (ranks > processors).then(|| {
            Judgement::warning(
                format!(
                    "{} share {} of {name}: times are the scheduler's as much as the library's",
                    count(ranks, "rank"),
                    count(processors, "processor")
                ),
                format!(
                    "run {} there (--ranks), or spread them over more hosts (--hostfile)",
                    count(processors, "rank")
                ),
            )
        })
    });
    let counts: Vec<usize> = facts.occupied().filter_map(|(_, host, _)| host.processors()).collect();
    match (short, counts.iter().min(), counts.iter().max()) {
        (Some(short), ..) => short,
        (None, Some(fewest), Some(most)) if fewest < most => {
            Judgement::fit(format!("{fewest} to {most} processors on each host"))
        }
        (None, Some(count), _) => Judgement::fit(format!("{count} processors on each host")),
        _ => Judgement::unknown("the number of processors cannot be read"),
    }
}
