//! Messages of every rank to every other during one call of an item, as the library counts them: the fingerprint of an algorithm.
//!
//! The counters of a rank grow when it sends, so their growth over its own call belongs to that call, whatever the other ranks do meanwhile.
//! With roots that are taken in turn it is one call for each root.

use anyhow::Context;
use kilter_mpi::counters::Counters;
use kilter_protocol::fault::Fault;
use kilter_protocol::json_line::JsonLine;
use kilter_protocol::plan::{Block, Item};
use kilter_protocol::report::Event;

use crate::candidate::Candidate;
use crate::control::{Control, Refusal};
use crate::hash::fnv_1a;
use crate::session::Session;

/// A text of more bytes is cut down to its digest: an alltoall of a thousand ranks has a million pairs.
const LONGEST: usize = 2000;

/// The counters of these names, where every rank has all of them. Called by all ranks.
///
/// # Errors
/// The library's, of messages among the ranks.
pub(crate) fn counters(control: &Control, names: &[String]) -> anyhow::Result<Option<Counters>> {
    if names.is_empty() {
        return Ok(None);
    }
    let opened = Counters::open(names).map_err(|error| Fault::Refused {
        rank: control.rank(),
        why: error.to_string(),
    });
    match control.agree(opened)? {
        Ok(counters) => Ok(Some(counters)),
        Err(Refusal { fault }) => {
            if let Some(fault) = fault.filter(|_| control.is_root()) {
                crate::say(format_args!("messages are not counted: {fault}"));
            }
            Ok(None)
        }
    }
}

/// Calls an item once more for each of its roots and reports its messages; does nothing if no messages are counted. Called by all ranks.
///
/// # Errors
/// The library's, or a report that cannot be written.
pub(crate) fn count(
    session: &mut Session,
    block: &Block,
    item: &Item,
    candidate: &mut Candidate,
) -> anyhow::Result<()> {
    let Some(counters) = &session.counters else {
        return Ok(());
    };
    let before = counters.read()?;
    for _ in 0..candidate.turns() {
        candidate.run()?;
    }
    let after = counters.read()?;
    let grown: Vec<Vec<u64>> = before
        .iter()
        .zip(&after)
        .map(|(before, after)| before.iter().zip(after).map(|(b, a)| a.saturating_sub(*b)).collect())
        .collect();
    let mut ranks: Vec<Vec<Vec<u64>>> = Vec::new();
    for own in session.control.gather(grown.to_json()?.into_bytes())? {
        ranks.push(JsonLine::from_json(&own).context("what a rank counted")?);
    }
    let names = session.header.counters.iter().enumerate();
    let read_back = names.map(|(which, name)| {
        let of_rank = |rank: &Vec<Vec<u64>>| rank.get(which).cloned().unwrap_or_default();
        (name.clone(), text(&ranks.iter().map(of_rank).collect::<Vec<_>>()))
    });
    let read_back = read_back.collect();
    session.tell(Event::Settings {
        block: block.id.clone(),
        item: item.id.clone(),
        read_back,
    })
}

/// `0>1:2 1>0:1`: for every rank, its count for each other; zeros are left out.
fn text(ranks: &[Vec<u64>]) -> String {
    let pairs = ranks.iter().enumerate().flat_map(|(from, peers)| {
        let counted = peers.iter().enumerate().filter(|(_, number)| **number > 0);
        counted.map(move |(to, number)| format!("{from}>{to}:{number}"))
    });
    let pairs: Vec<String> = pairs.collect();
    let text = pairs.join(" ");
    if text.len() <= LONGEST {
        return text;
    }
    let all: u64 = ranks.iter().flatten().sum();
    format!(
        "{all} in {} pairs, digest {:016x}",
        pairs.len(),
        fnv_1a(text.as_bytes())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_written_by_sender_and_receiver() {
        assert_eq!(text(&[vec![0, 2, 1], vec![1, 0, 0], vec![]]), "0>1:2 0>2:1 1>0:1");
        assert_eq!(text(&[vec![0, 0], vec![0, 0]]), "");
    }

    #[test]
    fn a_long_text_is_a_digest_that_tells_them_apart() {
        let many = |last: u64| {
            let mut ranks = vec![vec![1_u64; 100]; 100];
            ranks[99][99] = last;
            text(&ranks)
        };
        assert!(
            many(1).starts_with("10000 in 10000 pairs, digest ") && many(1).len() < 60,
            "{}",
            many(1)
        );
        assert_eq!(many(1), many(1));
        // The same number of messages, and not the same pairs.
        let mut other = vec![vec![1_u64; 100]; 100];
        (other[0][0], other[0][1]) = (2, 0);
        assert_ne!(text(&other).split("digest").nth(1), many(1).split("digest").nth(1));
    }
}
