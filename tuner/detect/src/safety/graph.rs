//! Graph of what happens before what, with groups of events contracted to one step each.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::epochs::components;
use crate::matching::{Matched, Place};
use crate::model::finding::Step;
use crate::model::trace::Kind;

/// Choice of the place of a call on a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) at_first_send: bool,
    pub(super) at_last: bool,
}

/// Events of an instance on a rank.
#[derive(Debug, Clone, Copy)]
struct Part {
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
    /// Calls that are put in, by rank and by the event in whose place they stand.
    calls: HashMap<(u32, u32), Vec<usize>>,
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
            calls: HashMap::new(),
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

    /// Puts the calls of an instance in.
    pub(super) fn place(&mut self, instance: usize, call: impl Fn(u32) -> Call) {
        let Some(parts) = self.parts.get(&instance) else { return };
        for (&rank, part) in parts {
            let call = call(rank);
            let at = if call.at_last {
                part.last_receive.unwrap_or(part.last)
            } else if call.at_first_send {
                part.first_send.unwrap_or(part.first)
            } else {
                part.first
            };
            self.calls.entry((rank, at)).or_default().push(instance);
        }
    }

    /// Circle through an instance. Calls that the program made before, collectives among them, are steps of the graph, too: but a circle
    /// without an instance is damage of the trace.
    pub(super) fn cycle(&self) -> Option<Vec<Step>> {
        let instances = self.parts.len();
        let trace = self.matched.trace;
        // Nodes: instances, then collectives of the program, then events.
        let mut first_of_rank = Vec::with_capacity(trace.events.len());
        let mut next = instances;
        for events in &trace.events {
            first_of_rank.push(next);
            next += events.len();
        }
        let mut joined: HashMap<(u32, u32), usize> = HashMap::new();
        let mut edges: Vec<Vec<u32>> = vec![Vec::new(); next];
        let node = |place: Place| first_of_rank[place.rank as usize] + place.event as usize;
        for (rank, events) in (0..).zip(&trace.events) {
            let mut before: Option<usize> = None;
            let mut collectives: HashMap<u32, u32> = HashMap::new();
            for (index, event) in (0..).zip(events) {
                let place = Place { rank, event: index };
                let mut chain: Vec<usize> = self.calls.get(&(rank, index)).cloned().unwrap_or_default();
                if !self.is_taken[rank as usize][index as usize] {
                    chain.push(node(place));
                }
                if let Kind::Collective {
                    communicator,
                    blocking: true,
                    ..
                } = event.kind
                {
                    let count = collectives.entry(communicator).or_default();
                    let first = *joined.entry((communicator, *count)).or_insert(node(place));
                    *count += 1;
                    if first != node(place) {
                        edges[first].push(node(place) as u32);
                        edges[node(place)].push(first as u32);
                    }
                }
                for step in chain {
                    if let Some(before) = before {
                        edges[before].push(step as u32);
                    }
                    before = Some(step);
                }
            }
        }
        for message in &self.matched.messages {
            let is_taken = self.is_taken[message.send.rank as usize][message.send.event as usize];
            if !is_taken {
                edges[node(message.send)].push(node(message.receive) as u32);
            }
        }
        let component = components(&edges);
        let mut size: HashMap<usize, usize> = HashMap::new();
        for one in &component {
            *size.entry(*one).or_default() += 1;
        }
        let start = (0..instances).find(|&instance| size.get(&component[instance]).is_some_and(|&size| size > 1))?;
        let circle = shortest(&edges, &component, start);
        let step = |node: usize| {
            if node < instances {
                return Step::Collective(node);
            }
            let rank = first_of_rank.partition_point(|&first| first <= node) - 1;
            let event = node - first_of_rank[rank];
            Step::Call {
                rank: rank as u32,
                event,
                site: trace.events[rank][event].site,
            }
        };
        Some(circle.into_iter().map(step).collect())
    }
}

/// Shortest circle from a node within its component.
fn shortest(edges: &[Vec<u32>], component: &[usize], start: usize) -> Vec<usize> {
    let mut from: HashMap<usize, usize> = HashMap::new();
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
