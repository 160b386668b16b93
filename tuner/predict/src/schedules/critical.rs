//! The critical path of a schedule: counts of what takes time on the way to the rank that ends last.
//!
//! Prices are those of LogGP (Alexandrov et al., JPDC 44(1), 1997, doi:10.1006/jpdc.1997.1346) on two levels. A message costs its sender and its
//! receiver an overhead, and is under way for a latency. Bytes between nodes pass the link of either node one message after the other, whichever
//! of its ranks they belong to; bytes on a node pass a port of either rank. Senders do not wait for receivers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use kilter_algorithms::Nodes;

use super::recorder::Step;

/// Kinds of what takes time.
pub(crate) const KINDS: usize = 6;

const OVERHEAD: usize = 0;
const LATENCY: Level = Level { across: 1, within: 2 };
const BYTES: Level = Level { across: 3, within: 4 };
const COMBINED: usize = 5;

/// Indices of a kind between nodes and on a node.
#[derive(Clone, Copy)]
struct Level {
    across: usize,
    within: usize,
}

impl Level {
    fn of(self, is_across: bool) -> usize {
        if is_across { self.across } else { self.within }
    }
}

/// Counts of each kind, or their prices in seconds.
pub(crate) type Counts = [f64; KINDS];

/// Prices of a usual network: the order of events hardly depends on them.
pub(crate) const USUAL: Counts = [4e-7, 1.5e-6, 4e-7, 2e-10, 1e-10, 1e-10];

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

/// A moment in the order of time; seconds are neither negative nor infinite, whose bits have that order.
fn order(moment: &Moment) -> u64 {
    moment.seconds.to_bits()
}

/// Ranks, links and messages under way.
struct Run<'a> {
    steps: &'a [Vec<Step>],
    nodes: &'a Nodes,
    prices: &'a Counts,
    now: Vec<Moment>,
    /// The next step of each rank.
    next: Vec<usize>,
    /// Ends of links: of nodes, then of ranks; out of them and into them.
    out: Vec<Moment>,
    into: Vec<Moment>,
    /// Arrivals by receiver and sender.
    arrivals: Vec<BTreeMap<usize, Vec<Moment>>>,
    /// Ranks that go on, the earliest first.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
    /// The message that each rank waits for.
    awaited: Vec<Option<(usize, usize)>>,
}

/// Counts on the critical path at `prices`; `None` if ranks wait for ever.
pub(super) fn path(steps: &[Vec<Step>], nodes: &Nodes, prices: &Counts) -> Option<Counts> {
    let ranks = steps.len();
    let ends = nodes.count() + ranks;
    let mut run = Run {
        steps,
        nodes,
        prices,
        now: vec![Moment::START; ranks],
        next: vec![0; ranks],
        out: vec![Moment::START; ends],
        into: vec![Moment::START; ends],
        arrivals: vec![BTreeMap::new(); ranks],
        ready: (0..ranks).map(|rank| Reverse((0, rank))).collect(),
        awaited: vec![None; ranks],
    };
    while let Some(Reverse((_, rank))) = run.ready.pop() {
        run.go_on(rank);
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
    /// One step of a rank.
    fn go_on(&mut self, rank: usize) {
        let Some(step) = self.steps[rank].get(self.next[rank]) else {
            return;
        };
        match *step {
            Step::Send { to, bytes } => self.send(rank, to, bytes as f64),
            Step::Combine { bytes } => self.now[rank] = self.now[rank].and(COMBINED, bytes as f64, self.prices),
            Step::Receive { from, number } => {
                let arrived = self.arrivals[rank].get(&from).and_then(|all| all.get(number)).copied();
                let Some(arrival) = arrived else {
                    self.awaited[rank] = Some((from, number));
                    return;
                };
                self.now[rank] = self.now[rank].or_later(arrival).and(OVERHEAD, 1.0, self.prices);
            }
        }
        self.next[rank] += 1;
        self.ready.push(Reverse((order(&self.now[rank]), rank)));
    }

    fn send(&mut self, from: usize, to: usize, bytes: f64) {
        let [source, target] = [from, to].map(|rank| self.nodes.node_of(rank));
        let is_across = source != target;
        let [source, target] = if is_across {
            [source, target]
        } else {
            [from, to].map(|rank| self.nodes.count() + rank)
        };
        let prices = self.prices;
        self.now[from] = self.now[from].and(OVERHEAD, 1.0, prices);
        let start = self.now[from].or_later(self.out[source]);
        self.out[source] = start.and(BYTES.of(is_across), bytes, prices);
        let begin = start
            .and(LATENCY.of(is_across), 1.0, prices)
            .or_later(self.into[target]);
        let arrival = begin.and(BYTES.of(is_across), bytes, prices);
        self.into[target] = arrival;
        let all = self.arrivals[to].entry(from).or_default();
        all.push(arrival);
        if self.awaited[to] == Some((from, all.len() - 1)) {
            self.awaited[to] = None;
            self.ready.push(Reverse((order(&self.now[to]), to)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: fn(usize, usize) -> Step = |to, bytes| Step::Send { to, bytes };
    const RECEIVE: fn(usize, usize) -> Step = |from, number| Step::Receive { from, number };

    #[test]
    fn messages_one_after_the_other_add_up() {
        // 0 and 1 share a node.
        let nodes = Nodes::new(&[0, 0, 1]);
        let steps = [
            vec![SEND(1, 100)],
            vec![RECEIVE(0, 0), Step::Combine { bytes: 100 }, SEND(2, 50)],
            vec![RECEIVE(1, 0)],
        ];
        assert_eq!(
            path(&steps, &nodes, &USUAL).unwrap(),
            [4.0, 1.0, 1.0, 50.0, 100.0, 100.0]
        );
    }

    #[test]
    fn ranks_of_a_node_share_its_link() {
        let bytes = 1 << 20;
        let steps = [
            vec![SEND(2, bytes)],
            vec![SEND(3, bytes)],
            vec![RECEIVE(0, 0)],
            vec![RECEIVE(1, 0)],
        ];
        let sent = |names: [usize; 4]| path(&steps, &Nodes::new(&names), &USUAL).unwrap()[BYTES.across];
        assert_eq!(sent([0, 0, 1, 1]), 2.0 * bytes as f64);
        assert_eq!(sent([0, 0, 1, 2]), 2.0 * bytes as f64, "the link of the senders");
        assert_eq!(sent([0, 1, 2, 3]), bytes as f64);
    }

    #[test]
    fn ranks_that_wait_for_each_other_have_no_path() {
        let steps = [vec![RECEIVE(1, 0), SEND(1, 8)], vec![RECEIVE(0, 0), SEND(0, 8)]];
        assert_eq!(path(&steps, &Nodes::each_alone(2), &USUAL), None);
    }
}
