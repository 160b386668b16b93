//! The critical path of a schedule: counts of what takes time on the way to the rank that ends last.
//!
//! Prices are those of LogGP (Alexandrov et al., JPDC 44(1), 1997, doi:10.1006/jpdc.1997.1346) on two levels, with the protocols of MPI libraries. A
//! short message is *eager*: it costs its sender and its receiver an overhead, and leaves at once. A longer one waits until its receive is posted
//! (*rendezvous*), for which its sender shakes hands, and its sender waits until it has arrived. Either is under way for a latency. Its bytes then pass
//! the links of both nodes, or ports of both ranks where they are on one node; messages that pass a link at the same time share it evenly.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use kilter_algorithms::Nodes;

use super::links::{Ending, Links};
use super::recorder::Step;

/// Kinds of what takes time.
pub(crate) const KINDS: usize = 8;

const OVERHEAD: usize = 0;
const HANDSHAKE: usize = 1;
const LATENCY: ByLevel = ByLevel { across: 2, within: 3 };
const BYTES: ByLevel = ByLevel { across: 4, within: 5 };
/// Bytes between nodes while the link carries others the other way.
const BOTH_WAYS: usize = 6;
const COMBINED: usize = 7;

/// The way of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// From node to node.
    Across,
    /// On a node.
    Within,
}

/// Indices of a kind by level.
#[derive(Clone, Copy)]
struct ByLevel {
    across: usize,
    within: usize,
}

impl ByLevel {
    fn of(self, level: Level) -> usize {
        match level {
            Level::Across => self.across,
            Level::Within => self.within,
        }
    }
}

/// Counts of each kind, or their prices in seconds.
pub(crate) type Counts = [f64; KINDS];

/// Prices of a usual network: the order of events hardly depends on them.
pub(crate) const USUAL: Counts = [4e-7, 4e-7, 1.5e-6, 4e-7, 2e-10, 1e-10, 1e-11, 1e-10];

/// Way in which messages are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire {
    /// Messages of at most so many bytes are eager.
    pub(super) eager_bytes: usize,
    /// True if messages on a node share ports of their ranks. Otherwise they are in nobody's way.
    pub(super) has_ports: bool,
}

/// A time, and what it is made of.
#[derive(Debug, Clone, Copy)]
struct Moment {
    seconds: f64,
    counts: Counts,
}

impl Moment {
    const START: Moment = Moment {
        seconds: 0.0,
        counts: [0.0; KINDS],
    };

    fn and(mut self, kind: usize, count: f64, prices: &Counts) -> Moment {
        self.counts[kind] += count;
        self.seconds += count * prices[kind];
        self
    }

    fn or_later(self, other: Moment) -> Moment {
        if other.seconds > self.seconds { other } else { self }
    }
}

/// A key that has the order of the seconds: the bits of numbers that are neither negative nor infinite have it.
fn order(seconds: f64) -> u64 {
    seconds.to_bits()
}

/// Events of one time happen in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A flow has passed its links, if nothing has changed that since.
    Leaves { flow: usize, version: u32 },
    /// A message comes to its links.
    Enters { message: usize },
    /// A rank takes its next step.
    GoesOn { rank: usize },
}

struct Message {
    from: usize,
    to: usize,
    /// Its number among the messages between these two.
    number: usize,
    bytes: f64,
    level: Level,
    is_eager: bool,
    /// Time at which its sender handed it over, then that at which it comes to its links.
    moment: Moment,
    arrival: Option<Moment>,
}

/// Messages from one rank to another, and receives of them, in order.
#[derive(Default)]
struct Channel {
    sent: Vec<usize>,
    posted: Vec<Moment>,
}

/// Ranks, links and messages under way.
struct Run<'a> {
    steps: &'a [Vec<Step>],
    nodes: &'a Nodes,
    wire: Wire,
    prices: &'a Counts,
    now: Vec<Moment>,
    /// The next step of each rank.
    next: Vec<usize>,
    messages: Vec<Message>,
    /// By receiver and sender.
    channels: Vec<BTreeMap<usize, Channel>>,
    links: Links,
    /// The message of each flow.
    flows: Vec<usize>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// The message that each rank waits for: sender, receiver and number.
    awaited: Vec<Option<(usize, usize, usize)>>,
}

/// Counts on the critical path at `prices`; `None` if ranks wait for ever.
pub(super) fn path(steps: &[Vec<Step>], nodes: &Nodes, wire: Wire, prices: &Counts) -> Option<Counts> {
    let ranks = steps.len();
    let mut run = Run {
        steps,
        nodes,
        wire,
        prices,
        now: vec![Moment::START; ranks],
        next: vec![0; ranks],
        messages: Vec::new(),
        channels: (0..ranks).map(|_| BTreeMap::new()).collect(),
        links: Links::of(nodes.count() + ranks),
        flows: Vec::new(),
        events: (0..ranks).map(|rank| Reverse((0, Event::GoesOn { rank }))).collect(),
        awaited: vec![None; ranks],
    };
    while let Some(Reverse((at, event))) = run.events.pop() {
        let seconds = f64::from_bits(at);
        match event {
            Event::GoesOn { rank } => run.go_on(rank),
            Event::Enters { message } => run.enter(message, seconds),
            Event::Leaves { flow, version } => run.leave(Ending { flow, version, seconds }),
        }
    }
    let is_done = run
        .steps
        .iter()
        .zip(&run.next)
        .all(|(steps, next)| steps.len() == *next);
    let last = run.now.into_iter().reduce(Moment::or_later);
    last.filter(|_| is_done).map(|last| last.counts)
}

impl Run<'_> {
    /// One step of a rank, unless it has to wait for a message.
    fn go_on(&mut self, rank: usize) {
        let Some(step) = self.steps[rank].get(self.next[rank]) else {
            return;
        };
        let now = self.now[rank];
        let after = match *step {
            Step::Send { to, bytes } => Some(self.send(rank, to, bytes)),
            Step::Sent { to, number } => self.sent(rank, to, number),
            Step::Post { from, number } => {
                self.post(from, rank, number);
                Some(now)
            }
            Step::Receive { from, number } => self.receive(from, rank, number),
            Step::Combine { bytes } => Some(now.and(COMBINED, bytes as f64, self.prices)),
        };
        if let Some(after) = after {
            self.now[rank] = after;
            self.next[rank] += 1;
            self.events
                .push(Reverse((order(after.seconds), Event::GoesOn { rank })));
        }
    }

    fn channel(&mut self, from: usize, to: usize) -> &mut Channel {
        self.channels[to].entry(from).or_default()
    }

    fn send(&mut self, from: usize, to: usize, bytes: usize) -> Moment {
        let is_eager = bytes <= self.wire.eager_bytes;
        let cost = if is_eager { OVERHEAD } else { HANDSHAKE };
        let moment = self.now[from].and(cost, 1.0, self.prices);
        let is_across = self.nodes.node_of(from) != self.nodes.node_of(to);
        let message = self.messages.len();
        let channel = self.channel(from, to);
        let number = channel.sent.len();
        channel.sent.push(message);
        let posted = channel.posted.get(number).copied();
        self.messages.push(Message {
            from,
            to,
            number,
            bytes: bytes as f64,
            level: if is_across { Level::Across } else { Level::Within },
            is_eager,
            moment,
            arrival: None,
        });
        if is_eager {
            self.start(message, moment);
        } else if let Some(posted) = posted {
            self.start(message, moment.or_later(posted));
        }
        moment
    }

    /// Time at which the sender of a message may go on; `None` if it has to wait.
    fn sent(&mut self, from: usize, to: usize, number: usize) -> Option<Moment> {
        let message = self.channel(from, to).sent[number];
        let Message { is_eager, arrival, .. } = self.messages[message];
        if is_eager {
            return Some(self.now[from]);
        }
        if arrival.is_none() {
            self.awaited[from] = Some((from, to, number));
        }
        arrival.map(|arrival| self.now[from].or_later(arrival))
    }

    fn post(&mut self, from: usize, to: usize, number: usize) {
        let now = self.now[to];
        let channel = self.channel(from, to);
        channel.posted.push(now);
        let Some(message) = channel.sent.get(number).copied() else {
            return;
        };
        let Message { is_eager, moment, .. } = self.messages[message];
        if !is_eager {
            self.start(message, moment.or_later(now));
        }
    }

    /// Time at which the receiver of a message has it; `None` if it has to wait.
    fn receive(&mut self, from: usize, to: usize, number: usize) -> Option<Moment> {
        let sent = self.channel(from, to).sent.get(number).copied();
        let arrived = sent.and_then(|message| Some((self.messages[message].is_eager, self.messages[message].arrival?)));
        let Some((is_eager, arrival)) = arrived else {
            self.awaited[to] = Some((from, to, number));
            return None;
        };
        let now = self.now[to].or_later(arrival);
        Some(if is_eager {
            now.and(OVERHEAD, 1.0, self.prices)
        } else {
            now
        })
    }

    /// A message leaves at a moment: it is under way, and then comes to its links.
    fn start(&mut self, message: usize, moment: Moment) {
        let Message { level, bytes, .. } = self.messages[message];
        let moment = moment.and(LATENCY.of(level), 1.0, self.prices);
        let is_shared = level == Level::Across || self.wire.has_ports;
        if is_shared && bytes > 0.0 {
            self.messages[message].moment = moment;
            self.events
                .push(Reverse((order(moment.seconds), Event::Enters { message })));
        } else {
            self.arrive(message, moment.and(BYTES.of(level), bytes, self.prices));
        }
    }

    fn enter(&mut self, message: usize, seconds: f64) {
        let Message {
            from, to, bytes, level, ..
        } = self.messages[message];
        // Ends of links are nodes, then ranks.
        let [source, target] = [from, to].map(|rank| match level {
            Level::Across => self.nodes.node_of(rank),
            Level::Within => self.nodes.count() + rank,
        });
        self.flows.push(message);
        self.links
            .enter(source, target, bytes * self.prices[BYTES.of(level)], seconds);
        self.know_endings();
    }

    fn leave(&mut self, ending: Ending) {
        if !self.links.is_last(ending) {
            return;
        }
        let (took, against) = self.links.leave(ending.flow, ending.seconds);
        self.know_endings();
        let message = self.flows[ending.flow];
        let Message { level, mut moment, .. } = self.messages[message];
        let price = self.prices[BYTES.of(level)];
        moment.seconds = ending.seconds;
        moment.counts[BYTES.of(level)] += took / price;
        if level == Level::Across {
            moment.counts[BOTH_WAYS] += against / price;
        }
        self.arrive(message, moment);
    }

    fn know_endings(&mut self) {
        let endings = self.links.endings().into_iter();
        self.events.extend(
            endings.map(|Ending { flow, version, seconds }| Reverse((order(seconds), Event::Leaves { flow, version }))),
        );
    }

    /// Wakes whoever waits for a message.
    fn arrive(&mut self, message: usize, arrival: Moment) {
        self.messages[message].arrival = Some(arrival);
        let Message { from, to, number, .. } = self.messages[message];
        for rank in [from, to] {
            if self.awaited[rank] == Some((from, to, number)) {
                self.awaited[rank] = None;
                let at = self.now[rank].or_later(arrival).seconds;
                self.events.push(Reverse((order(at), Event::GoesOn { rank })));
            }
        }
    }
}

#[cfg(test)]
mod tests;
