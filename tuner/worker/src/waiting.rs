//! The way in which ranks wait for the start of a repetition where the plan leaves it to the job.
//!
//! A rank that spins while another one needs its processor delays that one, and a rank that sleeps is woken late: on 64 hosts with a rank
//! each, sleeping costs a call of a microsecond its precision, and on one host with four ranks for each processor spinning costs all of them. Only
//! the ranks know how many of them share which processors; the command may run on another host, a login node with two cores.

use std::collections::BTreeMap;

use anyhow::Context as _;
use kilter_protocol::cpus;
use kilter_protocol::json_line::JsonLine;
use kilter_protocol::plan::Wait;

use crate::control::Control;
use crate::{clock, processing_units};

/// Processors of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Share {
    host: String,
    /// Those that it may run on, as a list such as `0-3,8`.
    processors: String,
    /// Processors' worth of time that it may take, which a quota makes less than the list.
    most: usize,
}

impl Share {
    fn own() -> anyhow::Result<Share> {
        Ok(Share {
            host: kilter_mpi::info::host_name()?,
            processors: processing_units::bound(),
            most: std::thread::available_parallelism().map_or(1, usize::from),
        })
    }

    fn to_line(&self) -> anyhow::Result<Vec<u8>> {
        let told = (self.host.clone(), self.processors.clone(), self.most);
        Ok(told.to_json()?.into_bytes())
    }

    fn from_line(line: &[u8]) -> anyhow::Result<Share> {
        let (host, processors, most) = JsonLine::from_json(line).context("processors of a rank")?;
        Ok(Share { host, processors, most })
    }
}

/// The way to wait for all ranks: they spin if each has a processor on its host. Called by all ranks; `given` is the plan's word.
///
/// # Errors
/// The library's.
pub(crate) fn decide(control: &Control, given: Option<Wait>) -> anyhow::Result<Wait> {
    if let Some(wait) = given {
        return Ok(wait);
    }
    if clock::SIMULATED {
        // Nobody shares a simulated processor's time, and asking hundreds of ranks takes long.
        return Ok(Wait::Sleep);
    }
    let shares = control.gather(Share::own()?.to_line()?)?;
    let decided = control.is_root().then(|| {
        let shares = shares.iter().map(|line| Share::from_line(line));
        let shares: Vec<Share> = shares.collect::<anyhow::Result<_>>()?;
        among(&shares).to_json().context("the way to wait")
    });
    let decided = control.broadcast(decided.transpose()?.as_deref().map(str::as_bytes))?;
    JsonLine::from_json(&decided).context("the way to wait")
}

/// The way to wait of ranks with these processors, one for all: they agree on starts.
fn among(shares: &[Share]) -> Wait {
    let mut hosts: BTreeMap<&str, Vec<&Share>> = BTreeMap::new();
    for share in shares {
        hosts.entry(&share.host).or_default().push(share);
    }
    if hosts.values().all(|ranks| has_room(ranks)) {
        Wait::Spin
    } else {
        Wait::Sleep
    }
}

/// True if these ranks of one host have a processor each.
fn has_room(ranks: &[&Share]) -> bool {
    let mut processors = std::collections::BTreeSet::new();
    for rank in ranks {
        let own = cpus::parse(&rank.processors);
        // Each rank of a quota's group sees the quota of all of them.
        if rank.most < own.len() && rank.most < ranks.len() {
            return false;
        }
        processors.extend(own);
    }
    // A rank knows how many there are where the system does not tell.
    let count = if processors.is_empty() {
        ranks[0].most
    } else {
        processors.len()
    };
    ranks.len() <= count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(host: &str, processors: &str, most: usize) -> Share {
        Share {
            host: host.to_owned(),
            processors: processors.to_owned(),
            most,
        }
    }

    #[test]
    fn ranks_spin_where_each_has_a_processor_of_its_host() {
        // 64 hosts with a rank each, whatever the host has from which they are started.
        let spread: Vec<Share> = (0..64).map(|host| share(&format!("node{host}"), "0-1", 2)).collect();
        assert_eq!(among(&spread), Wait::Spin);
        // Bound to a processor each, and not bound.
        let bound: Vec<Share> = (0..4).map(|rank| share("a", &rank.to_string(), 1)).collect();
        assert_eq!(among(&bound), Wait::Spin);
        let free = vec![share("a", "0-3", 4); 4];
        assert_eq!(among(&free), Wait::Spin);
    }

    #[test]
    fn ranks_sleep_where_any_of_them_shares_a_processor() {
        assert_eq!(among(&vec![share("a", "0-1", 2); 3]), Wait::Sleep);
        assert_eq!(
            among(&vec![share("a", "0", 1); 2]),
            Wait::Sleep,
            "bound to the same one"
        );
        let one_host_is_full = [share("a", "0-7", 8), share("b", "0", 1), share("b", "0", 1)];
        assert_eq!(among(&one_host_is_full), Wait::Sleep);
        // A container may run on 64 processors, and for the time of two.
        assert_eq!(among(&vec![share("a", "0-63", 2); 4]), Wait::Sleep);
        assert_eq!(among(&vec![share("a", "0-63", 2); 2]), Wait::Spin);
        // No list of processors.
        assert_eq!(among(&vec![share("a", "", 4); 4]), Wait::Spin);
        assert_eq!(among(&vec![share("a", "", 4); 5]), Wait::Sleep);
    }
}
