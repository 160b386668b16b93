//! Functions of libraries that carry an item out: one rank after another is late, and the stacks of those that wait for it are looked at.
//!
//! This tells algorithms apart where a library counts no messages, and names them where it has names for its functions. A library without
//! symbols still has unwind tables, by which every address belongs to a function, so that the same algorithm has the same functions in every
//! job.

#[cfg(not(feature = "simulated"))]
mod sampler;

use anyhow::Context as _;
use kilter_protocol::call_paths::{CALL_PATHS, CallPaths};
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::plan::{Block, Item};
use kilter_protocol::report::Event;

use crate::candidate::Candidate;
use crate::session::Session;

/// Most ranks that are late in turn; with more ranks these are spread over all.
const MOST_LATE: usize = 8;

/// Calls an item once for each late rank and root, and reports the functions in which the others wait; does nothing if that is not asked for.
/// Called by all ranks.
///
/// # Errors
/// The library's, or a report that cannot be written.
pub(crate) fn report(
    session: &mut Session,
    block: &Block,
    item: &Item,
    candidate: &mut Candidate,
) -> anyhow::Result<()> {
    if !session.header.call_paths {
        return Ok(());
    }
    let mut own = CallPaths::default();
    for late in late(session.control.p_ranks()) {
        for _ in 0..candidate.turns() {
            // All ranks begin together but for the late one; they agree on nothing.
            session.control.exchange_max([0; 4])?;
            call(session.control.rank() == late, candidate, &mut own)?;
        }
        session.heartbeat()?;
    }
    let mut all = CallPaths::default();
    for of_rank in session.control.gather(own.to_json()?.into_bytes())? {
        let of_rank = CallPaths::from_json(&of_rank).context("the functions in which a rank waited")?;
        all.merge(&of_rank);
    }
    session.tell(Event::Settings {
        block: block.id.clone(),
        item: item.id.clone(),
        read_back: vec![(CALL_PATHS.to_owned(), all.to_json()?)],
    })
}

/// One call, in which this rank is late or looks at its stack.
#[cfg(not(feature = "simulated"))]
fn call(is_late: bool, candidate: &mut Candidate, own: &mut CallPaths) -> anyhow::Result<()> {
    if is_late {
        std::thread::sleep(sampler::LATENESS);
        return candidate.run();
    }
    let sampler = sampler::Sampler::start()?;
    candidate.run()?;
    own.add(kilter_protocol::call_paths::stable(&sampler.stop()));
    Ok(())
}

/// One call. All simulated ranks share a thread, and none has a stack of its own that a signal would find.
#[cfg(feature = "simulated")]
fn call(_: bool, candidate: &mut Candidate, _: &mut CallPaths) -> anyhow::Result<()> {
    candidate.run()
}

/// The ranks that are late in turn.
fn late(p_ranks: usize) -> Vec<usize> {
    let count = p_ranks.min(MOST_LATE);
    let mut ranks: Vec<usize> = (0..count).map(|i| i * (p_ranks - 1) / (count - 1).max(1)).collect();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_ranks_are_spread_over_all() {
        assert_eq!(late(1), [0]);
        assert_eq!(late(3), [0, 1, 2]);
        assert_eq!(late(8), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(late(29), [0, 4, 8, 12, 16, 20, 24, 28]);
    }
}
