//! The cost of two-tree algorithms, found by simulation. Each segment is followed from rank to rank, on ports like those of
//! [`crate::threads`]. There is no closed formula for how the messages of the two trees compete for a port.

use std::collections::VecDeque;

use super::{AHEAD, LAG, LEAF, OWN, Streams};
use crate::Cost;
use crate::overlap::WINDOW;
use crate::schedule::two_tree_top;

/// Prices of a message and a combination in one kind of time.
#[derive(Clone, Copy)]
struct Unit {
    message: fn(usize) -> f64,
    combination: fn(usize) -> f64,
}

const ROUNDS: Unit = Unit {
    message: |_| 1.0,
    combination: |_| 0.0,
};
const BYTES_SENT: Unit = Unit {
    message: |bytes| bytes as f64,
    combination: |_| 0.0,
};
const BYTES_REDUCED: Unit = Unit {
    message: |_| 0.0,
    combination: |bytes| bytes as f64,
};

/// One rank's clock and ports.
#[derive(Clone, Default)]
struct Port {
    now: f64,
    send_free: f64,
    receive_free: f64,
    /// End of each send under way.
    sends: VecDeque<f64>,
    /// Time at which each receive under way was posted, and at which its message started, by lane.
    posted: [VecDeque<f64>; 2],
    started: [VecDeque<f64>; 2],
}

impl Port {
    /// Starts to send; says when.
    fn send(&mut self, message: f64) -> f64 {
        if self.sends.len() == WINDOW {
            self.now = self.now.max(self.sends.pop_front().unwrap_or(0.0));
        }
        let start = self.now.max(self.send_free);
        self.send_free = start + message;
        self.sends.push_back(self.send_free);
        start
    }

    fn post(&mut self, lane: usize) {
        self.posted[lane].push_back(self.now);
    }

    /// Waits for the oldest message of a lane, if one is due.
    fn receive(&mut self, lane: usize, message: f64) {
        if let (Some(posted), Some(start)) = (self.posted[lane].pop_front(), self.started[lane].pop_front()) {
            self.receive_free = self.receive_free.max(posted).max(start) + message;
            self.now = self.now.max(self.receive_free);
        }
    }
}

/// A collective along two trees, in relative ranks.
struct Followed {
    unit: Unit,
    /// Bytes of each segment.
    segments: Vec<usize>,
    ports: Vec<Port>,
    /// Streams of relative rank `i + 1`.
    streams: Vec<Streams>,
}

impl Followed {
    fn new(p: usize, n_bytes: usize, segment: usize, unit: Unit) -> Followed {
        let lengths = (0..n_bytes).step_by(segment).map(|begin| segment.min(n_bytes - begin));
        Followed {
            unit,
            segments: lengths.collect(),
            ports: vec![Port::default(); p],
            streams: (1..p).map(|relative| Streams::of(relative, p)).collect(),
        }
    }

    fn pairs(&self) -> usize {
        self.segments.len().div_ceil(2)
    }

    /// Relative ranks in the order in which a tree's data comes to them, from the top down.
    fn downward(&self, tree: usize) -> Vec<usize> {
        let mut order = vec![two_tree_top(tree, self.ports.len())];
        let mut next = 0;
        while let Some(streams) = order.get(next).map(|rank| self.streams[rank - 1]) {
            if streams.own_tree == tree {
                order.extend(streams.own.children.into_iter().flatten());
            }
            next += 1;
        }
        order
    }

    fn message(&self, k: usize) -> f64 {
        (self.unit.message)(self.segments[k])
    }

    fn end(mut self) -> f64 {
        for port in &mut self.ports {
            port.now = port.sends.iter().copied().fold(port.now, f64::max);
        }
        self.ports.iter().map(|port| port.now).fold(0.0, f64::max)
    }

    /// Posts what a rank receives of pair `j` of a broadcast.
    fn post_pair(&mut self, rank: usize, j: usize) {
        for k in [2 * j, 2 * j + 1] {
            if k < self.segments.len() {
                let lane = self.streams[rank - 1].lane(k);
                self.ports[rank].post(lane);
            }
        }
    }

    fn broadcast(mut self) -> f64 {
        let orders = [self.downward(0), self.downward(1)];
        for rank in 1..self.ports.len() {
            (0..AHEAD).for_each(|j| self.post_pair(rank, j));
        }
        for j in 0..self.pairs() {
            for tree in [0, 1] {
                let k = 2 * j + tree;
                if k >= self.segments.len() {
                    continue;
                }
                let message = self.message(k);
                let start = self.ports[0].send(message);
                let top = orders[tree][0];
                let lane = self.streams[top - 1].lane(k);
                self.ports[top].started[lane].push_back(start);
            }
            for tree in [0, 1] {
                for &rank in &orders[tree] {
                    let streams = self.streams[rank - 1];
                    if streams.own_tree != tree {
                        continue;
                    }
                    let k = 2 * j + tree;
                    if k < self.segments.len() {
                        let message = self.message(k);
                        self.ports[rank].receive(OWN, message);
                        for child in streams.own.children.into_iter().flatten() {
                            let start = self.ports[rank].send(message);
                            let lane = self.streams[child - 1].lane(k);
                            self.ports[child].started[lane].push_back(start);
                        }
                    }
                }
            }
            // The leaf's message may come from a rank that was looked at later: so a pass of its own, which changes nothing
            // of what was handed on in this step.
            for rank in 1..self.ports.len() {
                let other = 1 - self.streams[rank - 1].own_tree;
                if j >= LAG {
                    let message = self.message(2 * (j - LAG) + other);
                    self.ports[rank].receive(LEAF, message);
                }
                self.post_pair(rank, j + AHEAD);
            }
        }
        for rank in 1..self.ports.len() {
            let other = 1 - self.streams[rank - 1].own_tree;
            for j in self.pairs().saturating_sub(LAG)..self.pairs() {
                if let Some(&bytes) = self.segments.get(2 * j + other) {
                    let message = (self.unit.message)(bytes);
                    self.ports[rank].receive(LEAF, message);
                }
            }
        }
        self.end()
    }

    fn reduce(mut self) -> f64 {
        let orders = [self.downward(0), self.downward(1)];
        let (combination, count) = (self.unit.combination, self.segments.len());
        for rank in 0..self.ports.len() {
            (0..AHEAD).for_each(|j| self.post_contributions(rank, j));
        }
        for j in 0..self.pairs() {
            for rank in 1..self.ports.len() {
                let streams = self.streams[rank - 1];
                if !streams.own.is_inner() {
                    self.send_up(rank, streams.own.parent, 2 * j);
                }
                let k = 2 * j + 1 - streams.own_tree;
                if k < count {
                    self.send_up(rank, streams.leaf_parent, k);
                }
            }
            for tree in [0, 1] {
                let k = 2 * j + tree;
                if k >= count {
                    continue;
                }
                let (message, bytes) = (self.message(k), self.segments[k]);
                for &rank in orders[tree].iter().rev() {
                    let streams = self.streams[rank - 1];
                    if streams.own_tree != tree || !streams.own.is_inner() {
                        continue;
                    }
                    for (lane, _) in streams.own.children.iter().flatten().enumerate() {
                        self.ports[rank].receive(lane, message);
                        self.ports[rank].now += combination(bytes);
                    }
                    self.send_up(rank, streams.own.parent, k);
                    self.post_contributions(rank, j + AHEAD);
                }
            }
            for k in [2 * j, 2 * j + 1] {
                if k < count {
                    let message = self.message(k);
                    self.ports[0].receive(k % 2, message);
                    self.ports[0].now += combination(self.segments[k]);
                    if k + 2 * AHEAD < count {
                        self.ports[0].post(k % 2);
                    }
                }
            }
        }
        self.end()
    }

    /// Posts what a rank receives of pair `j` of a reduce, the root only at the beginning.
    fn post_contributions(&mut self, rank: usize, j: usize) {
        if rank == 0 {
            for k in [2 * j, 2 * j + 1] {
                if k < self.segments.len() {
                    self.ports[0].post(k % 2);
                }
            }
            return;
        }
        let streams = self.streams[rank - 1];
        if streams.has_own(j, self.segments.len()) {
            for (lane, _) in streams.own.children.iter().flatten().enumerate() {
                self.ports[rank].post(lane);
            }
        }
    }

    fn send_up(&mut self, rank: usize, parent: usize, k: usize) {
        let start = {
            let message = self.message(k);
            self.ports[rank].send(message)
        };
        let lane = match parent {
            0 => k % 2,
            _ => usize::from(self.streams[parent - 1].own.children[0] != Some(rank)),
        };
        self.ports[parent].started[lane].push_back(start);
    }
}

fn cost(p: usize, n_bytes: usize, segment: usize, follow: fn(Followed) -> f64) -> Cost {
    if p < 2 || n_bytes == 0 {
        return Cost::ZERO;
    }
    let [rounds, bytes_sent, bytes_reduced] =
        [ROUNDS, BYTES_SENT, BYTES_REDUCED].map(|unit| follow(Followed::new(p, n_bytes, segment, unit)));
    Cost {
        rounds,
        bytes_sent,
        bytes_reduced,
    }
}

/// The cost of [`super::broadcast`].
pub(crate) fn broadcast_cost(p: usize, n_bytes: usize, segment: usize) -> Cost {
    cost(p, n_bytes, segment, Followed::broadcast)
}

/// The cost of [`super::reduce`].
pub(crate) fn reduce_cost(p: usize, n_bytes: usize, segment: usize) -> Cost {
    cost(p, n_bytes, segment, Followed::reduce)
}
