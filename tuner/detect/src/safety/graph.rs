//! Graph of what happens before what, with groups of events contracted to one step each.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use crate::epochs::components;
use crate::matching::{Matched, Place};
use crate::model::finding::Step;
use crate::model::trace::Kind;

/// Places at which the ranks of an instance make the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A rank's first send, if it has data to give, else its first message.
    First,
    /// The last message that the rank receives; of a rank that receives none, its last one.
    Last,
    /// Any place from the first to the last, which each rank chooses so that no other one waits longer than it must.
    Any,
}

/// Events of a rank between which it may make the call: from the beginning of the first one to the end of the last one.
#[derive(Debug, Clone, Copy)]
struct Window {
    instance: usize,
    first: u32,
    last: u32,
}

/// Events of an instance on a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    first: u32,
    first_send: Option<u32>,
    last_receive: Option<u32>,
    last: u32,
}

/// Graph under construction.
pub(super) struct Contracted<'m> {
    matched: &'m Matched<'m>,
    /// Events that the collective replaces.
    is_taken: Vec<Vec<bool>>,
    parts: BTreeMap<usize, BTreeMap<u32, Part>>,
    /// Places of the calls that are put in, by rank.
    windows: Vec<Vec<Window>>,
}

impl Part {
    /// Place where the rank first gives data, or takes part if it gives none.
    fn begin(self, gives: bool) -> u32 {
        self.first_send.filter(|_| gives).unwrap_or(self.first)
    }

    /// The last message that the rank receives, since what it does next may depend on it; of a rank that receives none, its last one.
    fn end(self) -> u32 {
        self.last_receive.unwrap_or(self.last)
    }
}

impl<'m> Contracted<'m> {
    pub(super) fn new(matched: &'m Matched<'m>) -> Self {
        Self {
            matched,
            is_taken: matched
                .trace
                .events
                .iter()
                .map(|events| vec![false; events.len()])
                .collect(),
            parts: BTreeMap::new(),
            windows: vec![Vec::new(); matched.trace.events.len()],
        }
    }

    /// Makes an event one of an instance.
    pub(super) fn take(&mut self, place: Place, instance: usize, is_send: bool) {
        self.is_taken[place.rank as usize][place.event as usize] = true;
        let parts = self.parts.entry(instance).or_default();
        let part = parts.entry(place.rank).or_insert(Part {
            first: place.event,
            first_send: None,
            last_receive: None,
            last: place.event,
        });
        part.first = part.first.min(place.event);
        part.last = part.last.max(place.event);
        if is_send {
            let first = part.first_send.map_or(place.event, |at| at.min(place.event));
            part.first_send = Some(first);
        } else {
            part.last_receive = part.last_receive.max(Some(place.event));
        }
    }

    /// Puts the calls of an instance in. `gives` says which ranks have data to give.
    pub(super) fn place(&mut self, instance: usize, moment: Moment, gives: impl Fn(u32) -> bool) {
        let Some(parts) = self.parts.get(&instance) else { return };
        for (&rank, part) in parts {
            let (begin, end) = (part.begin(gives(rank)), part.end());
            let (first, last) = match moment {
                Moment::First => (begin, begin),
                Moment::Last => (end, end),
                // A rank that gives data only when it has those of the others has one place for both.
                Moment::Any => (begin.min(end), begin.max(end)),
            };
            self.windows[rank as usize].push(Window { instance, first, last });
        }
    }

    /// Circle through an instance. Calls that the program made before, collectives among them, are steps of the graph, too: but a circle
    /// without an instance is damage of the trace.
    pub(super) fn cycle(&self) -> Option<Vec<Step>> {
        let instances = self.parts.len();
        let trace = self.matched.trace;
        // Nodes: instances, then the ends of events. An event that is taken is a place in its rank's order, and no more.
        let mut first_of_rank = Vec::with_capacity(trace.events.len());
        let mut next = instances;
        for events in &trace.events {
            first_of_rank.push(next);
            next += events.len();
        }
        let mut joined: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        let mut edges: Vec<Vec<u32>> = vec![Vec::new(); next];
        let node = |place: Place| first_of_rank[place.rank as usize] + place.event as usize;
        let is_taken = |place: Place| self.is_taken[place.rank as usize][place.event as usize];
        for (rank, events) in (0..).zip(&trace.events) {
            let mut collectives: FxHashMap<u32, u32> = FxHashMap::default();
            for (index, event) in (0..).zip(events) {
                let own = node(Place { rank, event: index });
                if index > 0 {
                    edges[own - 1].push(own as u32);
                }
                if let Kind::Collective {
                    communicator,
                    blocking: true,
                    ..
                } = event.kind
                {
                    let count = collectives.entry(communicator).or_default();
                    let first = *joined.entry((communicator, *count)).or_insert(own);
                    *count += 1;
                    if first != own {
                        edges[first].push(own as u32);
                        edges[own].push(first as u32);
                    }
                }
            }
            for window in &self.windows[rank as usize] {
                let [first, last] = [window.first, window.last].map(|event| node(Place { rank, event }));
                if window.first > 0 {
                    edges[first - 1].push(window.instance as u32);
                }
                edges[window.instance].push(last as u32);
            }
        }
        for message in &self.matched.messages {
            if !is_taken(message.send) {
                edges[node(message.send)].push(node(message.receive) as u32);
            }
        }
        let component = components(&edges);
        let mut size: FxHashMap<usize, usize> = FxHashMap::default();
        for one in &component {
            *size.entry(*one).or_default() += 1;
        }
        let start = (0..instances).find(|&instance| size.get(&component[instance]).is_some_and(|&size| size > 1))?;
        let circle = shortest(&edges, &component, start);
        let step = |node: usize| {
            if node < instances {
                return Some(Step::Collective(node));
            }
            let rank = first_of_rank.partition_point(|&first| first <= node) - 1;
            let event = node - first_of_rank[rank];
            (!self.is_taken[rank][event]).then(|| Step::Call {
                rank: rank as u32,
                event,
                site: trace.events[rank][event].site,
            })
        };
        Some(circle.into_iter().filter_map(step).collect())
    }
}

/// Shortest circle from a node within its component.
fn shortest(edges: &[Vec<u32>], component: &[usize], start: usize) -> Vec<usize> {
    let mut from: FxHashMap<usize, usize> = FxHashMap::default();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for &to in &edges[node] {
            let to = to as usize;
            if to == start {
                let mut circle = vec![node];
                let mut at = node;
                while at != start {
                    at = from.get(&at).copied().unwrap_or(start);
                    circle.push(at);
                }
                circle.reverse();
                return circle;
            }
            if component[to] == component[start] && !from.contains_key(&to) {
                from.insert(to, node);
                open.push_back(to);
            }
        }
    }
    vec![start]
}
