//! Sends, and the receives that took their messages.
//!
//! Messages of one sender to one receiver with one tag on one communicator are received in the order in which they were sent (the standard's rule that
//! messages do not overtake each other), so that the first send belongs to the first receive. The order of receives is that in which they began. Where
//! one of both ranks has lost its oldest calls, the last send belongs to the last receive.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::trace::WhenFull;

use crate::trace::{Part, Plain, Rank, Role, Trace, communicator_of, flag};

/// A part of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Place in [`Trace::ranks`].
    pub rank: usize,
    /// Place in [`Rank::events`].
    pub event: usize,
    /// Place in the event's parts.
    pub part: usize,
}

impl Place {
    /// The part.
    #[must_use]
    pub fn of(self, trace: &Trace) -> Option<&Part> {
        trace.ranks.get(self.rank)?.events.get(self.event)?.parts.get(self.part)
    }
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The send.
    pub send: Place,
    /// The receive: its completion, if it does not block.
    pub receive: Place,
    /// False if length or content differ: calls are missing, or the program changed a buffer that was in use.
    pub is_same: bool,
}

/// All messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    /// Messages, by their sends.
    pub messages: Vec<Message>,
    /// Sends without a receive in the trace.
    pub sends: Vec<Place>,
    /// Receives without a send in the trace.
    pub receives: Vec<Place>,
}

impl Matches {
    /// Messages whose sides differ.
    #[must_use]
    pub fn different(&self) -> usize {
        self.messages.iter().filter(|message| !message.is_same).count()
    }
}

/// Communicator, sender, receiver, tag.
type Way = (usize, u32, u32, i32);

/// Sends and receives of one way, each with the number of its operation.
type Sides = [Vec<(u64, Place)>; 2];

/// Matches the sends of a trace to its receives.
#[must_use]
pub fn matches(trace: &Trace) -> Matches {
    let mut ways: BTreeMap<Way, Sides> = BTreeMap::new();
    for (at, rank) in trace.ranks.iter().enumerate() {
        let cancelled = cancelled(rank);
        for (event, part, one) in parts(rank) {
            let Some((way, side)) = way(rank.rank, one) else {
                continue;
            };
            if side == 0 && cancelled.contains(&one.plain.operation) {
                continue;
            }
            let place = Place { rank: at, event, part };
            if let Some(list) = ways.entry(way).or_default().get_mut(side) {
                list.push((one.plain.operation, place));
            }
        }
    }
    let mut found = Matches::default();
    for ((_, from, to, _), [mut sends, mut receives]) in ways {
        sends.sort_unstable();
        receives.sort_unstable();
        let is_tail = [from, to]
            .into_iter()
            .filter_map(|rank| trace.rank(rank))
            .any(lost_its_oldest);
        if is_tail {
            sends.reverse();
            receives.reverse();
        }
        let count = sends.len().min(receives.len());
        let pairs = sends.iter().zip(&receives);
        found.messages.extend(pairs.map(|((_, send), (_, receive))| Message {
            send: *send,
            receive: *receive,
            is_same: is_same(send.of(trace), receive.of(trace)),
        }));
        found.sends.extend(sends.iter().skip(count).map(|(_, place)| *place));
        found
            .receives
            .extend(receives.iter().skip(count).map(|(_, place)| *place));
    }
    found.messages.sort_unstable_by_key(|message| message.send);
    found.sends.sort_unstable();
    found.receives.sort_unstable();
    found
}

fn parts(rank: &Rank) -> impl Iterator<Item = (usize, usize, &Part)> {
    rank.events.iter().enumerate().flat_map(|(event, one)| {
        let parts = one.parts.iter().enumerate();
        parts.map(move |(part, one)| (event, part, one))
    })
}

/// Operations that had no effect.
fn cancelled(rank: &Rank) -> BTreeSet<u64> {
    parts(rank)
        .filter(|(_, _, part)| part.role == Role::Cancelled)
        .map(|(_, _, part)| part.plain.operation)
        .collect()
}

/// The way of a part, and 0 for a send or 1 for a receive; none for other parts, and for messages to nobody or to a process outside of the world.
fn way(rank: u32, part: &Part) -> Option<(Way, usize)> {
    let communicator = communicator_of(part)?;
    let other = u32::try_from(part.plain.world).ok()?;
    match part.role {
        Role::Send => Some(((communicator, rank, other, part.plain.tag), 0)),
        Role::Received => Some(((communicator, other, rank, part.plain.tag), 1)),
        _ => None,
    }
}

fn lost_its_oldest(rank: &Rank) -> bool {
    rank.when_full == WhenFull::Ring && rank.lost_calls > 0
}

fn is_same(send: Option<&Part>, receive: Option<&Part>) -> bool {
    let (Some(Part { plain: send, .. }), Some(Part { plain: receive, .. })) = (send, receive) else {
        return false;
    };
    let hashed = |side: &Plain| side.flags & flag::NOT_HASHED == 0;
    // Both sides have one limit, but for a variable that only some ranks have.
    let in_part = |side: &Plain| side.flags & flag::HASHED_IN_PART;
    let comparable = hashed(send) && hashed(receive) && in_part(send) == in_part(receive);
    send.bytes == receive.bytes && (!comparable || send.crc == receive.crc)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::{self, event, received, sent};

    fn operations(trace: &Trace, found: &Matches) -> Vec<(u64, u64, bool)> {
        let operation = |place: Place| place.of(trace).unwrap().plain.operation;
        found
            .messages
            .iter()
            .map(|one| (operation(one.send), operation(one.receive), one.is_same))
            .collect()
    }

    #[test]
    fn messages_do_not_overtake_each_other() {
        // Receives complete in another order than they began; tags and content are each message's own.
        let sends = vec![
            event(1, vec![sent(1, 1, 5, 10)]),
            event(2, vec![sent(2, 1, 5, 20)]),
            event(3, vec![sent(3, 1, 6, 30)]),
            event(4, vec![sent(4, 1, 5, 40)]),
        ];
        let receives = vec![
            event(5, vec![received(9, 0, 5, 20), received(8, 0, 5, 10)]),
            event(6, vec![received(10, 0, 6, 31)]),
        ];
        let trace = fixture::of_two(sends, receives);
        let found = matches(&trace);
        assert_eq!(operations(&trace, &found), [(1, 8, true), (2, 9, true), (3, 10, false)]);
        assert_eq!(found.sends.len(), 1);
        assert_eq!((found.receives.len(), found.different()), (0, 1));
    }

    #[test]
    fn ranks_that_lost_their_oldest_calls_are_matched_from_the_end() {
        let sends = (1..=2).map(|number| event(number, vec![sent(number, 1, 5, 0)]));
        let receives = (1..=4).map(|number| event(number, vec![received(number, 0, 5, 0)]));
        let mut trace = fixture::of_two(sends.collect(), receives.collect());
        trace.ranks[0].when_full = WhenFull::Ring;
        trace.ranks[0].lost_calls = 2;
        let found = matches(&trace);
        assert_eq!(operations(&trace, &found), [(1, 3, true), (2, 4, true)]);
        assert_eq!(found.receives.len(), 2);
        trace.ranks[0].when_full = WhenFull::Stop;
        assert_eq!(operations(&trace, &matches(&trace)), [(1, 1, true), (2, 2, true)]);
    }

    #[test]
    fn cancelled_sends_and_messages_to_nobody_are_left_out() {
        let mut cancelled = Part::new(Role::Cancelled);
        cancelled.plain.operation = 1;
        let mut nobody = sent(3, 1, 5, 0);
        nobody.plain.world = crate::trace::peer::NOBODY;
        let sends = vec![
            event(1, vec![sent(1, 1, 5, 0)]),
            event(2, vec![sent(2, 1, 5, 0)]),
            event(3, vec![cancelled, nobody]),
        ];
        let trace = fixture::of_two(sends, vec![event(4, vec![received(1, 0, 5, 0)])]);
        let found = matches(&trace);
        assert_eq!(operations(&trace, &found), [(2, 1, true)]);
        assert!(found.sends.is_empty());
    }

    proptest! {
        /// Whatever is received in whatever order, each send and each receive is in exactly one place of the result.
        #[test]
        fn nothing_is_matched_twice(
            sends in prop::collection::vec((0_i32..3, 0_u32..3), 0..30),
            receives in prop::collection::vec((0_i32..3, 0_u32..3), 0..30),
        ) {
            let sends: Vec<_> = (1..).zip(&sends).map(|(at, (tag, crc))| event(at, vec![sent(at, 1, *tag, *crc)])).collect();
            let receives: Vec<_> =
                (1..).zip(&receives).map(|(at, (tag, crc))| event(at, vec![received(at, 0, *tag, *crc)])).collect();
            let counts = (sends.len(), receives.len());
            let trace = fixture::of_two(sends, receives);
            let found = matches(&trace);
            prop_assert_eq!(found.messages.len() + found.sends.len(), counts.0);
            prop_assert_eq!(found.messages.len() + found.receives.len(), counts.1);
            let all: BTreeSet<Place> = found
                .messages
                .iter()
                .flat_map(|one| [one.send, one.receive])
                .chain(found.sends.iter().copied())
                .chain(found.receives.iter().copied())
                .collect();
            prop_assert_eq!(all.len(), counts.0 + counts.1);
            for one in &found.messages {
                let tags = [one.send, one.receive].map(|place| place.of(&trace).unwrap().plain.tag);
                prop_assert_eq!(tags[0], tags[1]);
            }
        }
    }
}
