//! Definitions of an archive. Pure.
//!
//! A rank is a process on its node, and each of its threads a location. Each pair of an MPI function and a call site is a region, so that a viewer shows
//! file and line; all of them lie in one region of the whole program. Messages of communicators with processes of other worlds are told by ranks of
//! `MPI_COMM_WORLD`.

use std::collections::{BTreeMap, BTreeSet};

use kilter_profiling::places;
use kilter_protocol::functions::{self, Function};

use crate::trace::Trace;

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
    pub(super) by_place: BTreeMap<(usize, Option<usize>), u32>,
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
    pub(super) is_world: bool,
}

/// Number of the region that is the program.
pub(super) const PROGRAM: u32 = 0;

/// Collectives in the order of their numbers in OTF2.
const OPERATIONS: [Function; 17] = [
    Function::Barrier,
    Function::Bcast,
    Function::Gather,
    Function::Gatherv,
    Function::Scatter,
    Function::Scatterv,
    Function::Allgather,
    Function::Allgatherv,
    Function::Alltoall,
    Function::Alltoallv,
    Function::Alltoallw,
    Function::Allreduce,
    Function::Reduce,
    Function::Reduce_scatter,
    Function::Scan,
    Function::Exscan,
    Function::Reduce_scatter_block,
];

/// Number in OTF2 of the collective that a function does, begins or prepares.
pub(super) fn operation(function: &str) -> Option<u8> {
    let collective = Function::named(function)?.collective()?;
    let number = OPERATIONS.iter().position(|known| *known == collective)?;
    u8::try_from(number).ok()
}

pub(super) fn kind(function: &str) -> Kind {
    use functions::Kind::{Begin, Completion, Message};
    let Some(function) = Function::named(function) else {
        return Kind::Other;
    };
    match function.collective() {
        Some(Function::Barrier) => Kind::Barrier,
        Some(Function::Bcast | Function::Scatter | Function::Scatterv) => Kind::OneToAll,
        Some(Function::Gather | Function::Gatherv | Function::Reduce) => Kind::AllToOne,
        Some(collective) if OPERATIONS.contains(&collective) => Kind::AllToAll,
        _ if matches!(function.kind(), Begin | Message | Completion) => Kind::PointToPoint,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions_have_their_kinds() {
        let numbers = [
            "MPI_Barrier_init",
            "MPI_Ibcast",
            "MPI_Reduce_scatter_block",
            "MPI_Send",
            "MPI_Neighbor_alltoall",
        ];
        assert_eq!(numbers.map(operation), [Some(0), Some(1), Some(16), None, None]);
        assert_eq!(kind("MPI_Ireduce_scatter_block"), Kind::AllToAll);
        assert_eq!(kind("MPI_Irecv"), Kind::PointToPoint);
        assert_eq!(kind("MPI_Comm_dup"), Kind::Other);
    }
}
