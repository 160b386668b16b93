//! Calls of an occurrence, rank by rank.

use std::collections::{BTreeMap, BTreeSet};

use kilter_render::format::{bytes, seconds};

use super::choice::Chosen;
use crate::model::finding::{Finding, Instance, Sent};
use crate::model::trace::{Event, Kind, Trace};

/// Most other calls that are drawn for a rank.
const MOST_OTHERS: usize = 64;

/// Call of a rank.
pub(super) struct Call {
    /// Rank of the communicator.
    pub(super) rank: u32,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// Time outside of the call in which the operation was under way: before a completed receive, behind a begun send.
    pub(super) under_way_ns: Option<(u64, u64)>,
    pub(super) is_send: bool,
    pub(super) site: u32,
    pub(super) words: String,
}

/// Calls of the ranks that are drawn.
pub(super) struct Rows {
    worlds: BTreeMap<u32, u32>,
    /// Both ends of the messages that are drawn.
    pub(super) calls: Vec<Call>,
    /// Other calls of the ranks between these.
    pub(super) others: Vec<Call>,
    /// Number of those that are not drawn.
    pub(super) left_out: usize,
}

impl Rows {
    pub(super) fn of(trace: &Trace, finding: &Finding, instance: &Instance, chosen: &Chosen) -> Rows {
        let members = trace.communicators.get(finding.communicator as usize);
        let world = |rank: u32| {
            let member = members.and_then(|one| one.members.get(rank as usize)).copied();
            member.filter(|world| (*world as usize) < trace.ranks.min(trace.events.len()))
        };
        let worlds: BTreeMap<u32, u32> = chosen
            .ranks
            .iter()
            .filter_map(|rank| Some((*rank, world(*rank)?)))
            .collect();
        let events = |rank: u32| worlds.get(&rank).and_then(|world| trace.events.get(*world as usize));
        let mut calls = Vec::new();
        for at in &chosen.messages {
            let message = &instance.messages[*at];
            let ends = [
                (message.from, message.send_event, true),
                (message.to, message.receive_event, false),
            ];
            for (rank, event, is_send) in ends {
                let event = events(rank).and_then(|events| events.get(event as usize));
                calls.extend(event.and_then(|event| call(rank, event, is_send, message)));
            }
        }
        let (mut others, mut left_out) = (Vec::new(), 0);
        for rank in &chosen.ranks {
            if let Some(events) = events(*rank) {
                let all = between(*rank, events, instance);
                left_out += all.len().saturating_sub(MOST_OTHERS);
                others.extend(all.into_iter().take(MOST_OTHERS));
            }
        }
        Rows {
            worlds,
            calls,
            others,
            left_out,
        }
    }

    /// Rank of the world.
    pub(super) fn world(&self, rank: u32) -> Option<u32> {
        self.worlds.get(&rank).copied()
    }
}

/// A message in words.
pub(super) fn message_words(message: &Sent) -> String {
    let took = message.received_ns.saturating_sub(message.sent_ns) as f64 * 1e-9;
    format!(
        "{} from rank {} to rank {}, {} from the send to the end of the receive",
        bytes(message.bytes),
        message.from,
        message.to,
        seconds(took)
    )
}

fn call(rank: u32, event: &Event, is_send: bool, message: &Sent) -> Option<Call> {
    let (under_way_ns, words) = match (&event.kind, is_send) {
        (Kind::Send { completed_ns, .. }, true) => (
            completed_ns
                .filter(|completed| *completed > event.end_ns)
                .map(|completed| (event.end_ns, completed)),
            format!("sends {} to rank {}", bytes(message.bytes), message.to),
        ),
        (Kind::Receive { posted_ns, .. }, false) => (
            Some((*posted_ns, event.begin_ns)).filter(|(posted, begin)| posted < begin),
            format!("receives {} from rank {}", bytes(message.bytes), message.from),
        ),
        // The finding is from another trace.
        _ => return None,
    };
    Some(Call {
        rank,
        begin_ns: event.begin_ns,
        end_ns: event.end_ns,
        under_way_ns,
        is_send,
        site: event.site,
        words,
    })
}

/// Calls of a rank between its first and its last of the occurrence.
fn between(rank: u32, events: &[Event], instance: &Instance) -> Vec<Call> {
    let own: BTreeSet<u32> = instance
        .messages
        .iter()
        .flat_map(|message| {
            let sent = (message.from == rank).then_some(message.send_event);
            let received = (message.to == rank).then_some(message.receive_event);
            sent.into_iter().chain(received)
        })
        .collect();
    let (Some(first), Some(last)) = (own.first(), own.last()) else {
        return Vec::new();
    };
    // The call that looks for the first message stands before it.
    let mut first = *first as usize;
    while first > 0 && events.get(first - 1).is_some_and(is_vain) {
        first -= 1;
    }
    let others = (first..=*last as usize).filter(|at| !own.contains(&(*at as u32)));
    others
        .filter_map(|at| {
            let event = events.get(at)?;
            let words = other_words(&event.kind)?;
            Some(Call {
                rank,
                begin_ns: event.begin_ns,
                end_ns: event.end_ns,
                under_way_ns: None,
                is_send: false,
                site: event.site,
                words,
            })
        })
        .collect()
}

/// True for a call that looks for a message, and finds none.
fn is_vain(event: &Event) -> bool {
    matches!(
        event.kind,
        Kind::Probe { found: false, .. } | Kind::Test { found: false }
    )
}

fn other_words(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Send { payload, .. } => format!("sends {} that are no part of it", bytes(payload.bytes)),
        Kind::Receive { payload, .. } => format!("receives {} that are no part of it", bytes(payload.bytes)),
        Kind::Probe { found: false, .. } => "probes in vain".to_owned(),
        Kind::Test { found: false } => "tests a request in vain".to_owned(),
        Kind::Collective { function, .. } => format!("MPI_{function}"),
        // It goes with the receive behind it, or takes no time.
        Kind::Probe { .. } | Kind::Test { .. } | Kind::ToSelf { .. } => return None,
    })
}
