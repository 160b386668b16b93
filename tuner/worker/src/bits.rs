//! Digests of an item's results on random doubles: items with equal digests have results that are equal bit by bit on all ranks.
//!
//! The sum of doubles depends on the order of its additions, which an algorithm chooses. So each item that combines data is called on doubles of
//! many magnitudes, at the volumes that the header names, with the first and the last rank as the root. It is called three times with the ranks
//! arriving in different orders, since the first to arrive may be added first.

use std::collections::BTreeSet;

use anyhow::Context;
use kilter_algorithms::Collective;
use kilter_algorithms::reference::doubles::{CALLS, double, lateness};
use kilter_protocol::json_line::JsonLine;
use kilter_protocol::plan::{Block, Element, Item, Root};
use kilter_protocol::report::{BITS, BITS_VARY, Event};

use crate::among::Members;
use crate::candidate::{Buffers, Candidate, Lent};
use crate::clock;
use crate::hash;
use crate::images::Gallery;
use crate::implementation::{self, Recipe};
use crate::place::Place;
use crate::session::Session;

/// Calls an item, whose settings hold, on random doubles and reports the digest of its results; does nothing if that is not asked for, or
/// nothing is combined. Called by all ranks.
///
/// # Errors
/// The library's, or a report that cannot be written.
pub(crate) fn report(session: &mut Session, block: &Block, item: &Item, candidate: &Candidate) -> anyhow::Result<()> {
    let combines = item.task.collective().is_some_and(Collective::has_operator);
    if session.header.bits_at.is_empty() || !combines {
        return Ok(());
    }
    let p_ranks = session.control.p_ranks();
    let own = vec![item.bytes];
    let mut given = session.header.bits_at.iter();
    let volumes = given
        .find(|(of, _)| *of == item.bytes)
        .map_or(&own, |(_, volumes)| volumes);
    let volumes: BTreeSet<u64> = volumes.iter().map(|volume| rounded(item, *volume, p_ranks)).collect();
    let mut left = Left::default();
    for root in roots(session, item) {
        for &bytes in &volumes {
            let of_doubles = Item { bytes, ..item.clone() };
            call(session, &of_doubles, root, candidate, &mut left)?;
        }
    }
    let own = (left.digest(), left.varies).to_json()?.into_bytes();
    let mut ranks: Vec<(u64, bool)> = Vec::new();
    for of_rank in session.control.gather(own)? {
        ranks.push(JsonLine::from_json(&of_rank).context("what a rank's results are")?);
    }
    session.tell(Event::Settings {
        block: block.id.clone(),
        item: item.id.clone(),
        read_back: vec![(BITS.to_owned(), text(&ranks))],
    })
}

/// Roots of the calls.
fn roots(session: &Session, item: &Item) -> BTreeSet<usize> {
    if !item.task.collective().is_some_and(Collective::has_root) {
        return [0].into();
    }
    let own = match session.header.root {
        Root::Fixed(root) => root,
        Root::Rotating => 0,
    };
    [0, own, session.control.p_ranks() - 1].into()
}

/// A volume in whole doubles, and in as many blocks as the item's own. It depends on the item's task and volume alone, since compared items must
/// have one volume.
fn rounded(item: &Item, bytes: u64, p_ranks: usize) -> u64 {
    let (double, p) = (Element::Double.bytes(), p_ranks as u64);
    let unit = if item.task.functionality.has_blocks() {
        double * p
    } else if item.bytes.is_multiple_of(p) && !p.is_power_of_two() {
        // Mock-ups that go over blocks ask for them.
        double * p
    } else if item.bytes.is_multiple_of(p) {
        double.max(p)
    } else {
        double
    };
    bytes.max(1).next_multiple_of(unit)
}

/// Calls one item with one root on a communicator that another has made under the settings that hold.
fn call(session: &Session, item: &Item, root: usize, of: &Candidate, left: &mut Left) -> anyhow::Result<()> {
    let place = Place {
        rank: session.control.rank(),
        p_ranks: session.control.p_ranks(),
        one_node: session.one_node,
        root,
        operand: Element::Double.into(),
    };
    let ready = implementation::recipe(item, place).and_then(|recipe| {
        let buffers = Buffers::new(&recipe)?;
        Ok(vec![(recipe, buffers)])
    });
    let ready: Vec<(Recipe, Buffers)> = match session.control.agree(ready.map_err(|why| session.refused(why)))? {
        Ok(ready) => ready,
        // For the item itself the ranks have memory, and its volume suits it: another volume need not.
        Err(_) => return Ok(()),
    };
    let mut gallery = Gallery::empty();
    let members = Members::of(item, &session.control)?;
    let (mut twin, made) = Candidate::new(
        ready,
        session.header.seed,
        (&members, Some(Lent::comm(of.comm()))),
        &mut gallery,
    )?;
    if session
        .control
        .agree(made.map_err(|why| session.refused(why)))?
        .is_err()
    {
        return twin.free();
    }
    let mut first = None;
    twin.give(double);
    for number in 0..CALLS {
        twin.clear();
        // All have left the call before: who is late now is late in this one.
        session.control.exchange_max([0; 4])?;
        clock::sleep(lateness(number, place.rank));
        twin.run()?;
        if session.control.agree(twin.availability())?.is_err() {
            return twin.free();
        }
        let digest = twin.digest();
        left.varies |= *first.get_or_insert(digest) != digest;
    }
    left.digests.extend(first);
    twin.free()
}

/// Results of one rank's calls.
#[derive(Debug, Default)]
struct Left {
    digests: Vec<u64>,
    varies: bool,
}

impl Left {
    fn digest(&self) -> u64 {
        let bytes: Vec<u8> = self.digests.iter().flat_map(|digest| digest.to_le_bytes()).collect();
        hash::fnv_1a(&bytes)
    }
}

/// The text for the report: one digest of all ranks, or that results vary on one.
fn text(ranks: &[(u64, bool)]) -> String {
    if ranks.iter().any(|(_, varies)| *varies) {
        return BITS_VARY.to_owned();
    }
    let bytes: Vec<u8> = ranks.iter().flat_map(|(digest, _)| digest.to_le_bytes()).collect();
    format!("{:016x}", hash::fnv_1a(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kilter_protocol::plan::Implementation;

    #[test]
    fn a_volume_is_whole_doubles_in_as_many_blocks_as_the_items() {
        let item = |text: &str, bytes| Item {
            id: text.to_owned(),
            task: kilter_protocol::task::Task::of(&format!("{text}(n)").parse().unwrap()).unwrap(),
            bytes,
            implementation: Implementation::Expression {
                text: format!("{text}(n)"),
            },
            settings: Vec::new(),
            arrival: None,
            deployed: Vec::new(),
        };
        let of = |text, own, bytes, p| rounded(&item(text, own), bytes, p);
        assert_eq!(of("allreduce", 4, 4, 8), 8);
        assert_eq!(of("allreduce", 8, 8, 8), 8);
        assert_eq!(of("allreduce", 16, 20, 16), 32);
        assert_eq!(of("allreduce", 7, 7, 7), 56);
        assert_eq!(of("allreduce", 8, 9, 7), 16);
        assert_eq!(of("reduce_scatter_block", 8, 100, 4), 128);
    }

    #[test]
    fn what_varies_on_one_rank_varies() {
        assert_eq!(text(&[(1, false), (2, true)]), BITS_VARY);
        assert_ne!(text(&[(1, false), (2, false)]), text(&[(2, false), (1, false)]));
        assert_eq!(text(&[(1, false)]).len(), 16);
    }
}
