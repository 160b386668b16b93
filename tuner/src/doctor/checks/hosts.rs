//! Checks that a job starts, with all its ranks, on the named hosts.

use std::collections::BTreeSet;

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::count;

/// File that is the same in all network namespaces and containers of one machine.
pub(super) const BOOT: &str = "/proc/sys/kernel/random/boot_id";

pub(super) const CHECK: Check = Check {
    id: "hosts",
    what: "a job starts on the hosts",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let Some(job) = &facts.job else {
        return match &facts.problem {
            Some(problem) if problem.check == "hosts" => Judgement::error("no job starts", problem.text.clone()),
            _ => Judgement::unknown("no job was started"),
        };
    };
    let counts = facts.ranks_by_host();
    let (fewest, most) = (
        counts.values().min().copied().unwrap_or(0),
        counts.values().max().copied().unwrap_or(0),
    );
    if job.ranks.len() != facts.ranks {
        return Judgement::error(
            format!("{} ranks were asked for and {} came", facts.ranks, job.ranks.len()),
            "use the launcher of the library that kilter-worker is built for (--mpirun)",
        );
    }
    let says = format!("{} on {}", count(job.ranks.len(), "rank"), count(counts.len(), "host"));
    if facts.hostfile && counts.len() == 1 && facts.ranks > 1 {
        return Judgement::note(format!(
            "{says}: of the host file only the first is used; with more --ranks others are"
        ));
    }
    if fewest < most {
        return Judgement::warning(
            format!("{says}, {fewest} to {most} each"),
            "give each host as many ranks (--ranks, slots in the host file): uneven hosts make guidelines of p ranks unlike",
        );
    }
    let boots: Vec<&str> = facts.occupied().filter_map(|(_, host, _)| host.text(BOOT)).collect();
    let machines: BTreeSet<&str> = boots.iter().copied().collect();
    if boots.len() == counts.len() && machines.len() < boots.len() {
        return Judgement::note(format!(
            "{says}, which are {}: ranks share processors although each host seems to have its own",
            count(machines.len(), "machine")
        ));
    }
    Judgement::fit(says)
}
