//! Messages of one communicator, in causal order.

use rustc_hash::FxHashMap;

use crate::joined::Joined;
use crate::matching::{MOST_BYTES, Matched, Place, local_ranks, payload};
use crate::model::trace::{Kind, Payload};

/// Message of an arena.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'t> {
    /// Ranks of the communicator.
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) tag: i32,
    pub(crate) send: Place,
    pub(crate) receive: Place,
    /// Positions among the steps of the sender and of the receiver.
    pub(crate) send_at: u32,
    pub(crate) receive_at: u32,
    pub(crate) send_site: u32,
    pub(crate) receive_site: u32,
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) intact: bool,
    /// Data as they were sent, with their address at the sender.
    pub(crate) sent: &'t Payload,
    /// Data as they were received, with their address at the receiver.
    pub(crate) received: &'t Payload,
}

/// Event of an arena. Messages are indexes into [`Arena::messages`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'t> {
    Send(u32),
    Receive(u32),
    /// Data that a rank shows to itself.
    Own(u32, &'t Payload),
}

/// Messages of one communicator.
pub(crate) struct Arena<'t> {
    pub(crate) communicator: u32,
    /// Ranks of the communicator.
    pub(crate) size: usize,
    /// Sample of chunks that all payloads have.
    pub(crate) chunk_sample: u64,
    /// Messages in the order in which they are received.
    pub(crate) messages: Vec<Message<'t>>,
    /// Events in causal order.
    pub(crate) steps: Vec<Step<'t>>,
    /// Indexes of the steps of each rank.
    pub(crate) steps_of: Vec<Vec<u32>>,
    /// Group of call sites of each message: sites are in one group if a message goes from one to the other.
    pub(crate) sites: Vec<u32>,
}

impl Arena<'_> {
    /// Ends of a message: ranks, and positions among their steps.
    pub(crate) fn ends(&self, message: u32) -> [(u32, u32); 2] {
        let one = &self.messages[message as usize];
        [(one.from, one.send_at), (one.to, one.receive_at)]
    }
}

/// An arena for each communicator that has messages.
pub(crate) fn arenas<'t>(matched: &Matched<'t>) -> Vec<Arena<'t>> {
    let trace = matched.trace;
    let locals = local_ranks(trace);
    let empty = |(communicator, one): (u32, &crate::model::trace::Communicator)| Arena {
        communicator,
        size: one.members.len(),
        chunk_sample: trace
            .chunk_samples
            .get(communicator as usize)
            .copied()
            .unwrap_or(trace.chunk_sample),
        messages: Vec::new(),
        steps: Vec::new(),
        steps_of: vec![Vec::new(); one.members.len()],
        sites: Vec::new(),
    };
    let mut all: Vec<Arena<'t>> = (0..).zip(&trace.communicators).map(empty).collect();
    // Sends come before their receives: a message gets its place in its arena at the receive.
    let mut place_of = vec![u32::MAX; matched.messages.len()];
    for &place in &matched.order {
        let Some(id) = matched.message_of[place.rank as usize][place.event as usize] else {
            continue;
        };
        let message = matched.messages[id as usize];
        if message.receive != place {
            continue;
        }
        let event = |place: Place| &trace.events[place.rank as usize][place.event as usize];
        let (sent, received) = (event(message.send), event(message.receive));
        let (Some(sent_data), Some(received_data)) = (payload(sent), payload(received)) else {
            continue;
        };
        let arena = &mut all[message.communicator as usize];
        place_of[id as usize] = arena.messages.len() as u32;
        arena.messages.push(Message {
            from: message.from,
            to: message.to,
            tag: message.tag,
            send: message.send,
            receive: message.receive,
            send_at: 0,
            receive_at: 0,
            send_site: sent.site,
            receive_site: received.site,
            begin_ns: sent.begin_ns,
            end_ns: received.end_ns,
            intact: message.intact,
            sent: sent_data,
            received: received_data,
        });
    }
    for &place in &matched.order {
        let id = matched.message_of[place.rank as usize][place.event as usize];
        let (arena, rank, step) = if let Some(id) = id {
            let (message, id) = (matched.messages[id as usize], place_of[id as usize]);
            let is_send = message.send == place;
            let step = if is_send { Step::Send(id) } else { Step::Receive(id) };
            (
                message.communicator,
                if is_send { message.from } else { message.to },
                step,
            )
        } else if let Kind::ToSelf { communicator, payload } =
            &trace.events[place.rank as usize][place.event as usize].kind
        {
            let local = locals
                .get(*communicator as usize)
                .and_then(|ranks| ranks.get(&place.rank));
            let (Some(&rank), true) = (local, payload.bytes <= MOST_BYTES) else {
                continue;
            };
            (*communicator, rank, Step::Own(rank, payload))
        } else {
            continue;
        };
        let arena = &mut all[arena as usize];
        let at = arena.steps_of[rank as usize].len() as u32;
        match step {
            Step::Send(id) => arena.messages[id as usize].send_at = at,
            Step::Receive(id) => arena.messages[id as usize].receive_at = at,
            Step::Own(..) => {}
        }
        arena.steps_of[rank as usize].push(arena.steps.len() as u32);
        arena.steps.push(step);
    }
    all.retain(|arena| !arena.messages.is_empty());
    all.iter_mut().for_each(|arena| arena.sites = sites(&arena.messages));
    all
}

/// Groups of call sites, of which each has the number of its first site in the order of the messages.
fn sites(messages: &[Message<'_>]) -> Vec<u32> {
    let mut index: FxHashMap<u32, usize> = FxHashMap::default();
    let mut numbered = |site: u32| {
        let next = index.len();
        *index.entry(site).or_insert(next)
    };
    let ends = messages
        .iter()
        .map(|one| (numbered(one.send_site), numbered(one.receive_site)));
    let ends: Vec<(usize, usize)> = ends.collect();
    let mut sets = Joined::new(index.len());
    ends.iter().for_each(|&(send, receive)| sets.join(send, receive));
    ends.iter().map(|&(send, _)| sets.find(send) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sites that send to one receive are one group, whichever messages come between.
    #[test]
    fn sites_that_messages_connect_are_one_group() {
        let data = Payload::default();
        let place = Place { rank: 0, event: 0 };
        let message = |(send_site, receive_site)| Message {
            from: 0,
            to: 1,
            tag: 0,
            send: place,
            receive: place,
            send_at: 0,
            receive_at: 0,
            send_site,
            receive_site,
            begin_ns: 0,
            end_ns: 0,
            intact: true,
            sent: &data,
            received: &data,
        };
        let messages = [(7, 8), (5, 6), (9, 8), (6, 6)].map(message);
        assert_eq!(sites(&messages), [0, 2, 0, 2]);
    }
}
