//! What an archive holds: definitions, and the records of each thread. Pure.
//!
//! A rank is a process on its node, and each of its threads a location. Each pair of an MPI function and a call site is a region, so that a viewer shows
//! file and line; all of them lie in one region of the whole program. Messages of communicators with processes of other worlds are told by ranks of
//! `MPI_COMM_WORLD`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kilter_profiling::places;

use crate::trace::{Event, Part, Rank, Role, Trace, communicator_of};

/// Threads of a rank that have numbers of their own.
const THREADS: u64 = 1 << 16;

/// Definitions of an archive. Numbers of strings are places in `strings`, those of others their places in their list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Definitions {
    pub(super) strings: Vec<String>,
    /// Names of nodes.
    pub(super) nodes: Vec<u32>,
    /// By rank of the world.
    pub(super) processes: Vec<Process>,
    pub(super) regions: Vec<Region>,
    pub(super) communicators: Vec<Communicator>,
    /// End of the last event, in nanoseconds.
    pub(super) end_ns: u64,
    /// Numbers of regions by function and call site.
    by_place: BTreeMap<(usize, Option<usize>), u32>,
}

/// A rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) name: u32,
    /// Its node; `None` for a rank that left no file.
    pub(super) node: Option<usize>,
    /// Threads with their names; one at least.
    pub(super) threads: Vec<(u64, u32)>,
}

/// A region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) name: u32,
    pub(super) description: u32,
    pub(super) role: Kind,
    /// File and line of the call.
    pub(super) source: Option<(u32, u32)>,
}

/// Kinds of regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Program,
    PointToPoint,
    Barrier,
    OneToAll,
    AllToOne,
    AllToAll,
    Other,
}

/// A communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Communicator {
    pub(super) name: u32,
    /// Ranks of the world.
    pub(super) members: Vec<u64>,
    /// True if peers are ranks of the world, because not all members are of it.
    is_world: bool,
}

/// Number of the region that is the program.
pub(super) const PROGRAM: u32 = 0;

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

/// A function's blocking name without `MPI_`: `Bcast` for `MPI_Ibcast` and `MPI_Bcast_init`, in lower case.
fn plain(function: &str) -> String {
    let name = function.trim_start_matches("MPI_").to_lowercase();
    let name = name.strip_suffix("_init").unwrap_or(&name).to_owned();
    let is_collective = |name: &str| OPERATIONS.iter().any(|(known, _)| *known == name);
    match name.strip_prefix('i') {
        Some(blocking) if is_collective(blocking) => blocking.to_owned(),
        _ => name,
    }
}

/// Collectives and their numbers in OTF2.
const OPERATIONS: [(&str, u8); 17] = [
    ("barrier", 0),
    ("bcast", 1),
    ("gather", 2),
    ("gatherv", 3),
    ("scatter", 4),
    ("scatterv", 5),
    ("allgather", 6),
    ("allgatherv", 7),
    ("alltoall", 8),
    ("alltoallv", 9),
    ("alltoallw", 10),
    ("allreduce", 11),
    ("reduce", 12),
    ("reduce_scatter", 13),
    ("scan", 14),
    ("exscan", 15),
    ("reduce_scatter_block", 16),
];

fn kind(function: &str) -> Kind {
    match plain(function).as_str() {
        "barrier" => Kind::Barrier,
        "bcast" | "scatter" | "scatterv" => Kind::OneToAll,
        "gather" | "gatherv" | "reduce" => Kind::AllToOne,
        name if OPERATIONS.iter().any(|(known, _)| *known == name) => Kind::AllToAll,
        name if ["send", "recv", "wait", "test", "probe", "start"]
            .iter()
            .any(|part| name.contains(part)) =>
        {
            Kind::PointToPoint
        }
        _ => Kind::Other,
    }
}

/// Strings, each once.
#[derive(Default)]
struct Strings {
    list: Vec<String>,
    places: BTreeMap<String, u32>,
}

impl Strings {
    fn of(&mut self, text: &str) -> u32 {
        // Strings of C end at a byte 0.
        let text = text.replace('\0', " ");
        *self.places.entry(text.clone()).or_insert_with(|| {
            self.list.push(text);
            (self.list.len() - 1) as u32
        })
    }
}

/// Location of a thread.
pub(super) fn location(rank: u32, thread: u32) -> u64 {
    u64::from(rank) * THREADS + u64::from(thread).min(THREADS - 1)
}

/// The definitions of a trace.
pub(super) fn definitions(trace: &Trace) -> Definitions {
    let mut strings = Strings::default();
    // 0 is the empty string.
    strings.of("");
    let hosts: BTreeSet<&str> = trace.ranks.iter().map(|rank| rank.host.as_str()).collect();
    let hosts: Vec<&str> = hosts.into_iter().collect();
    let nodes = hosts.iter().map(|host| strings.of(host)).collect();
    let world = trace.ranks.last().map_or(0, |rank| rank.rank + 1).max(trace.world);
    let mut processes = Vec::new();
    for number in 0..world {
        let rank = trace.rank(number);
        let mut threads: BTreeSet<u32> = rank
            .iter()
            .flat_map(|rank| &rank.events)
            .map(|event| event.thread)
            .collect();
        threads.insert(0);
        let name = |thread: &u32| (location(number, *thread), format!("thread {thread} of rank {number}"));
        let threads = threads.iter().map(name).collect::<Vec<_>>();
        processes.push(Process {
            name: strings.of(&format!("rank {number}")),
            node: rank.and_then(|rank| hosts.iter().position(|host| *host == rank.host)),
            threads: threads.into_iter().map(|(at, name)| (at, strings.of(&name))).collect(),
        });
    }
    let mut regions = vec![Region {
        name: strings.of("program"),
        description: strings.of(&trace.job.command),
        role: Kind::Program,
        source: None,
    }];
    let mut by_place = BTreeMap::new();
    for event in trace.ranks.iter().flat_map(|rank| &rank.events) {
        by_place.entry((event.function, event.site)).or_insert_with(|| {
            let function = trace.function(event);
            let site = event.site.and_then(|at| trace.sites.get(at));
            let (_, file, line) = site.map_or(("", "", 0), |site| places::parts(&site.source));
            let source = (!file.is_empty()).then(|| (strings.of(file), line));
            regions.push(Region {
                name: strings.of(function),
                description: site.map_or(0, |site| strings.of(&site.place())),
                role: kind(function),
                source,
            });
            (regions.len() - 1) as u32
        });
    }
    let mut communicators: Vec<Communicator> = Vec::new();
    for one in &trace.communicators {
        let members: Option<Vec<u64>> = one.members.iter().map(|member| member.map(u64::from)).collect();
        let is_world = one.remote.is_some() || members.is_none();
        let name = if one.label.is_empty() { &one.name } else { &one.label };
        communicators.push(Communicator {
            name: strings.of(name),
            members: members
                .filter(|_| !is_world)
                .unwrap_or_else(|| (0..u64::from(world)).collect()),
            is_world,
        });
    }
    let ends = trace
        .ranks
        .iter()
        .flat_map(|rank| rank.events.iter().map(|event| event.end_ns).chain(rank.end_ns));
    Definitions {
        strings: strings.list,
        nodes,
        processes,
        regions,
        communicators,
        end_ns: ends.max().unwrap_or(0),
        by_place,
    }
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

    /// What a call begins.
    fn begun(&mut self, trace: &Trace, definitions: &Definitions, rank: &Rank, event: &Event, open: &mut Open) {
        let ends_here = |part: &Part| {
            let mut others = event.parts.iter();
            others.any(|other| {
                other.operation == part.operation && matches!(other.role, Role::Received | Role::Completed)
            })
        };
        let is_begun = begins_only(trace.function(event));
        for part in &event.parts {
            let what = match part.role {
                Role::Send => envelope(trace, definitions, part).map(|envelope| {
                    if is_begun {
                        open.insert(part.operation, None);
                        What::Isend(envelope, part.operation)
                    } else {
                        What::Send(envelope)
                    }
                }),
                Role::Posted if is_begun && !ends_here(part) => {
                    open.insert(part.operation, None);
                    Some(What::IreceiveRequest(part.operation))
                }
                Role::Collective if is_begun => {
                    open.insert(part.operation, collective(trace, definitions, rank, event, part));
                    Some(What::CollectiveRequest(part.operation))
                }
                Role::Collective => collective(trace, definitions, rank, event, part).map(|_| What::CollectiveBegin),
                _ => None,
            };
            if let Some(what) = what {
                self.put(event.begin_ns, what);
            }
        }
    }

    /// What a call completes.
    fn ended(&mut self, trace: &Trace, definitions: &Definitions, rank: &Rank, event: &Event, open: &mut Open) {
        for part in &event.parts {
            let begun = open.get(&part.operation).filter(|_| part.operation != 0);
            let was_open = begun.is_some();
            let what = match part.role {
                Role::Received => envelope(trace, definitions, part).map(|envelope| {
                    if was_open {
                        What::Ireceive(envelope, part.operation)
                    } else {
                        What::Receive(envelope)
                    }
                }),
                Role::Completed => begun.map(|collective| match collective {
                    Some(collective) => What::CollectiveComplete(collective.clone(), part.operation),
                    None => What::IsendComplete(part.operation),
                }),
                Role::Cancelled if was_open => Some(What::Cancelled(part.operation)),
                Role::Collective if !was_open => {
                    collective(trace, definitions, rank, event, part).map(What::CollectiveEnd)
                }
                _ => None,
            };
            if let Some(what) = what {
                if part.role != Role::Collective {
                    open.remove(&part.operation);
                }
                self.put(event.end_ns, what);
            }
        }
    }
}

/// True if a call begins operations and completes none.
fn begins_only(function: &str) -> bool {
    let name = function.trim_start_matches("MPI_");
    name.starts_with("Start") || name.starts_with('I') && !["Iprobe", "Improbe", "Init", "Init_thread"].contains(&name)
}

/// The head of a message; `None` for messages to nobody.
fn envelope(trace: &Trace, definitions: &Definitions, part: &Part) -> Option<Envelope> {
    let at = communicator_of(part).filter(|at| *at < trace.communicators.len())?;
    let peer = if definitions.communicators[at].is_world {
        part.world
    } else {
        part.peer
    };
    Some(Envelope {
        peer: u32::try_from(peer).ok()?,
        communicator: at as u32,
        tag: u32::try_from(part.tag).unwrap_or(0),
        bytes: part.bytes,
    })
}

/// A collective call; `None` for one that OTF2 has no number for.
fn collective(trace: &Trace, definitions: &Definitions, rank: &Rank, event: &Event, part: &Part) -> Option<Collective> {
    let at = communicator_of(part).or(event.communicator)?;
    let communicator = definitions.communicators.get(at)?;
    let name = plain(trace.function(event));
    let (_, operation) = OPERATIONS.iter().find(|(known, _)| *known == name)?;
    let kind = kind(&name);
    let is_rooted = matches!(kind, Kind::OneToAll | Kind::AllToOne);
    let root = u32::try_from(part.peer).ok().filter(|_| is_rooted);
    let is_root = root.and_then(|root| communicator.members.get(root as usize)) == Some(&u64::from(rank.rank));
    let (sends, receives) = match kind {
        Kind::OneToAll => (is_root, !is_root),
        Kind::AllToOne => (!is_root, is_root),
        Kind::Barrier => (false, false),
        _ => (true, true),
    };
    let bytes = |moves: bool| if moves { part.bytes } else { 0 };
    Some(Collective {
        operation: *operation,
        communicator: at as u32,
        root,
        sent_bytes: bytes(sends),
        received_bytes: bytes(receives),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{event, of_two, received, sent};

    #[test]
    fn names_of_functions_have_their_kinds() {
        assert_eq!(
            (plain("MPI_Ibcast").as_str(), plain("MPI_Barrier_init").as_str()),
            ("bcast", "barrier")
        );
        assert_eq!(kind("MPI_Ireduce_scatter_block"), Kind::AllToAll);
        assert_eq!(kind("MPI_Irecv"), Kind::PointToPoint);
        assert_eq!(kind("MPI_Comm_dup"), Kind::Other);
        assert!(begins_only("MPI_Isend") && begins_only("MPI_Startall") && !begins_only("MPI_Iprobe"));
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
