//! Processors of the ranks. A rank that wanders over processors leaves its caches behind; two ranks on one processor
//! wait for each other.

use std::collections::BTreeMap;

use kilter_protocol::cpus;

use super::super::facts::Facts;
use super::super::{Check, Judgement};

pub(super) const CHECK: Check = Check {
    id: "binding",
    what: "ranks are bound to processors of their own",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let Some(job) = &facts.job else {
        return Judgement::unknown("no job was started");
    };
    let mut ranks_on: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    let mut unbound = 0;
    for (rank, place) in job.ranks.iter().enumerate() {
        let cpus = cpus::parse(&place.cpus);
        if cpus.len() == 1 {
            ranks_on
                .entry((&place.host, cpus.first().copied().unwrap_or(0)))
                .or_default()
                .push(rank);
        }
        let all = facts
            .hosts
            .get(&place.host)
            .and_then(super::super::facts::Host::processors);
        unbound += usize::from(all.is_some_and(|all| all > 1 && cpus.len() >= all));
    }
    // If ranks outnumber processors, some must share; another check reports that.
    let crowded = facts.first(|name, host, ranks| {
        let processors = host.processors()?;
        let ((_, cpu), shared) = ranks_on
            .iter()
            .find(|((on, _), ranks)| *on == name && ranks.len() > 1)?;
        (ranks <= processors).then(|| {
            Judgement::warning(
                format!("ranks {shared:?} of {name} are all bound to processor {cpu} while others are free"),
                "let the launcher place ranks apart (Open MPI: `--map-by core --bind-to core`; MPICH: `-bind-to core`)",
            )
        })
    });
    if let Some(crowded) = crowded {
        return crowded;
    }
    match unbound {
        0 => Judgement::fit("ranks are bound, each to processors of its own"),
        _ => Judgement::note(format!(
            "{unbound} of {} ranks may run on every processor of their host: they can wander between launches, which adds spread",
            job.ranks.len()
        )),
    }
}
