//! Records of an archive: what each thread did, by time. Pure.

use std::collections::HashMap;

use kilter_protocol::functions;

use super::model::{Definitions, Kind, PROGRAM, kind, operation};
use crate::trace::{Event, Part, Rank, Role, Trace, communicator_of};

/// A record of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) ns: u64,
    pub(super) what: What,
}

/// Kinds of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Enter(u32),
    Leave(u32),
    Send(Envelope),
    Receive(Envelope),
    Isend(Envelope, u64),
    IsendComplete(u64),
    IreceiveRequest(u64),
    Ireceive(Envelope, u64),
    Cancelled(u64),
    CollectiveBegin,
    CollectiveEnd(Collective),
    CollectiveRequest(u64),
    CollectiveComplete(Collective, u64),
}

/// Head of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Envelope {
    /// Other rank in the communicator.
    pub(super) peer: u32,
    pub(super) communicator: u32,
    pub(super) tag: u32,
    pub(super) bytes: u64,
}

/// A collective call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Collective {
    /// Number of the operation in OTF2.
    pub(super) operation: u8,
    pub(super) communicator: u32,
    pub(super) root: Option<u32>,
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
}

/// The records of a thread of a rank, by time.
pub(super) fn records(trace: &Trace, definitions: &Definitions, rank: &Rank, thread: u32) -> Vec<Record> {
    let mut all = Records::default();
    let events = || rank.events.iter().filter(|event| event.thread == thread);
    let first = events().next().map(|event| event.begin_ns);
    let last = events().map(|event| event.end_ns).max();
    let is_main = thread == 0;
    let begin = first.filter(|_| !is_main).unwrap_or(rank.begin_ns);
    all.put(begin.min(first.unwrap_or(begin)), What::Enter(PROGRAM));
    let mut open = Open::new();
    for event in events() {
        let region = definitions.by_place.get(&(event.function, event.site)).copied();
        let region = region.unwrap_or(PROGRAM);
        all.put(event.begin_ns, What::Enter(region));
        all.begun(trace, definitions, rank, event, &mut open);
        all.ended(trace, definitions, rank, event, &mut open);
        all.put(event.end_ns, What::Leave(region));
    }
    let end = rank.end_ns.filter(|_| is_main).or(last).unwrap_or(begin);
    all.put(end, What::Leave(PROGRAM));
    all.list
}

/// Operations of a thread that were begun and are not complete, by number; collectives with what they are.
type Open = HashMap<u64, Option<Collective>>;

#[derive(Default)]
struct Records {
    list: Vec<Record>,
}

impl Records {
    /// Times of a thread never go back in an archive.
    fn put(&mut self, ns: u64, what: What) {
        let last = self.list.last().map_or(0, |record| record.ns);
        self.list.push(Record { ns: ns.max(last), what });
    }

    /// Records of the operations that a call begins.
    fn begun(&mut self, trace: &Trace, definitions: &Definitions, rank: &Rank, event: &Event, open: &mut Open) {
        let ends_here = |part: &Part| {
            let mut others = event.parts.iter();
            others.any(|other| {
                other.plain.operation == part.plain.operation && matches!(other.role, Role::Received | Role::Completed)
            })
        };
        let is_begun = functions::kind(trace.function(event)) == functions::Kind::Begin;
        for part in &event.parts {
            let operation = part.plain.operation;
            let what = match part.role {
                Role::Send => envelope(trace, definitions, part).map(|envelope| {
                    if is_begun {
                        open.insert(operation, None);
                        What::Isend(envelope, operation)
                    } else {
                        What::Send(envelope)
                    }
                }),
                Role::Posted if is_begun && !ends_here(part) => {
                    open.insert(operation, None);
                    Some(What::IreceiveRequest(operation))
                }
                Role::Collective if is_begun => {
                    open.insert(operation, collective(trace, definitions, rank, event, part));
                    Some(What::CollectiveRequest(operation))
                }
                Role::Collective => collective(trace, definitions, rank, event, part).map(|_| What::CollectiveBegin),
                _ => None,
            };
            if let Some(what) = what {
                self.put(event.begin_ns, what);
            }
        }
    }

    /// Records of the operations that a call completes.
    fn ended(&mut self, trace: &Trace, definitions: &Definitions, rank: &Rank, event: &Event, open: &mut Open) {
        for part in &event.parts {
            let operation = part.plain.operation;
            let begun = open.get(&operation).filter(|_| operation != 0);
            let was_open = begun.is_some();
            let what = match part.role {
                Role::Received => envelope(trace, definitions, part).map(|envelope| {
                    if was_open {
                        What::Ireceive(envelope, operation)
                    } else {
                        What::Receive(envelope)
                    }
                }),
                Role::Completed => begun.map(|collective| match collective {
                    Some(collective) => What::CollectiveComplete(collective.clone(), operation),
                    None => What::IsendComplete(operation),
                }),
                Role::Cancelled if was_open => Some(What::Cancelled(operation)),
                Role::Collective if !was_open => {
                    collective(trace, definitions, rank, event, part).map(What::CollectiveEnd)
                }
                _ => None,
            };
            if let Some(what) = what {
                if part.role != Role::Collective {
                    open.remove(&operation);
                }
                self.put(event.end_ns, what);
            }
        }
    }
}

/// The head of a message; `None` for messages to nobody.
fn envelope(trace: &Trace, definitions: &Definitions, part: &Part) -> Option<Envelope> {
    let at = communicator_of(part).filter(|at| *at < trace.communicators.len())?;
    let peer = if definitions.communicators[at].is_world {
        part.plain.world
    } else {
        part.plain.peer
    };
    Some(Envelope {
        peer: u32::try_from(peer).ok()?,
        communicator: at as u32,
        tag: u32::try_from(part.plain.tag).unwrap_or(0),
        bytes: part.plain.bytes,
    })
}

/// A collective call; `None` for one that OTF2 has no number for.
fn collective(trace: &Trace, definitions: &Definitions, rank: &Rank, event: &Event, part: &Part) -> Option<Collective> {
    let at = communicator_of(part).or(event.communicator)?;
    let communicator = definitions.communicators.get(at)?;
    let function = trace.function(event);
    let operation = operation(function)?;
    let kind = kind(function);
    let is_rooted = matches!(kind, Kind::OneToAll | Kind::AllToOne);
    let root = u32::try_from(part.plain.peer).ok().filter(|_| is_rooted);
    let is_root = root.and_then(|root| communicator.members.get(root as usize)) == Some(&u64::from(rank.rank));
    let (sends, receives) = match kind {
        Kind::OneToAll => (is_root, !is_root),
        Kind::AllToOne => (!is_root, is_root),
        Kind::Barrier => (false, false),
        _ => (true, true),
    };
    let bytes = |moves: bool| if moves { part.plain.bytes } else { 0 };
    Some(Collective {
        operation,
        communicator: at as u32,
        root,
        sent_bytes: bytes(sends),
        received_bytes: bytes(receives),
    })
}

#[cfg(test)]
mod tests {
    use super::super::model::definitions;
    use super::*;
    use crate::fixture::{event, of_two, received, sent};

    #[test]
    fn calls_that_begin_operations_are_told_by_their_names() {
        let begins = |function| functions::kind(function) == functions::Kind::Begin;
        assert!(begins("MPI_Isend") && begins("MPI_Startall") && !begins("MPI_Iprobe"));
    }

    #[test]
    fn calls_lie_in_the_program_and_messages_in_calls() {
        let mut send = event(1_000, vec![sent(1, 1, 5, 0)]);
        send.end_ns = 2_000;
        let mut receive = event(1_500, vec![received(1, 0, 5, 0)]);
        receive.end_ns = 2_500;
        let mut trace = of_two(vec![send], vec![receive]);
        trace.functions = vec!["MPI_Send".to_owned()];
        let definitions = definitions(&trace);
        let told = |rank: usize| -> Vec<(u64, What)> {
            let records = records(&trace, &definitions, &trace.ranks[rank], 0);
            records.into_iter().map(|record| (record.ns, record.what)).collect()
        };
        let first = told(0);
        assert!(matches!(first[0].1, What::Enter(PROGRAM)), "{first:?}");
        assert_eq!((first[1].0, &first[1].1), (1_000, &What::Enter(1)));
        assert!(
            matches!(&first[2].1, What::Send(envelope) if envelope.peer == 1 && envelope.tag == 5),
            "{first:?}"
        );
        assert_eq!((first[3].0, &first[3].1), (2_000, &What::Leave(1)));
        assert!(matches!(first[4].1, What::Leave(PROGRAM)));
        let second = told(1);
        assert!(
            matches!((second[2].0, &second[2].1), (2_500, What::Receive(envelope)) if envelope.peer == 0),
            "{second:?}"
        );
        assert!(second.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
