//! Some ranks of a communicator as a communicator of their own.

use std::sync::Arc;

use crate::lanes::Lanes;
use crate::{Nodes, Transport, TransportError};

/// A [`Transport`] among ranks of one node, or among one rank of each node, over the one among all: ranks are numbered
/// anew, everything else is passed on. Errors name ranks of the communicator below.
///
/// Nothing is allocated, as long as nobody asks for the nodes, which within a node or among leaders is no question.
///
/// ```
/// # use kilter_algorithms::{Group, Nodes, Transport, threads};
/// let config = threads::Config::new(1, |_, _| {});
/// let outcome = threads::run(6, &config, |transport| {
///     let nodes = Nodes::new(&["a", "b", "a", "b", "a", "b"]);
///     let group = Group::of_node(transport, &nodes);
///     Ok((group.rank(), group.size()))
/// });
/// assert_eq!(outcome.results().unwrap(), [(0, 3), (0, 3), (1, 3), (1, 3), (2, 3), (2, 3)]);
/// ```
pub struct Group<'t, 'n, T> {
    transport: &'t mut T,
    members: Members<'n>,
    rank: usize,
}

enum Members<'n> {
    Listed(&'n [usize]),
    Leaders { nodes: &'n Nodes, root: usize },
    Lane { lanes: Lanes<'n>, number: usize },
    Heads { lanes: Lanes<'n>, node: usize },
    Team { lanes: Lanes<'n>, node: usize, head: usize },
}

/// The rank that leads a node in a call: its first one, but `root` leads its own.
///
/// # Panics
/// If there is no such node or no such root.
#[must_use]
pub fn leader(nodes: &Nodes, node: usize, root: usize) -> usize {
    if nodes.node_of(root) == node {
        root
    } else {
        nodes.members(node)[0]
    }
}

impl<'t, 'n, T: Transport> Group<'t, 'n, T> {
    /// The ranks of this rank's node, in rank order.
    pub fn of_node(transport: &'t mut T, nodes: &'n Nodes) -> Group<'t, 'n, T> {
        let members = nodes.members(nodes.node_of(transport.rank()));
        let rank = members.partition_point(|&member| member < transport.rank());
        Group {
            transport,
            members: Members::Listed(members),
            rank,
        }
    }

    /// The [`leader`] of each node, in the order of nodes. This rank is one of them.
    pub fn of_leaders(transport: &'t mut T, nodes: &'n Nodes, root: usize) -> Group<'t, 'n, T> {
        let rank = nodes.node_of(transport.rank());
        debug_assert_eq!(leader(nodes, rank, root), transport.rank(), "this rank leads its node");
        Group {
            transport,
            members: Members::Leaders { nodes, root },
            rank,
        }
    }

    /// The heads of this rank's lane, of which it is one, in the order of nodes.
    pub(crate) fn of_lane(transport: &'t mut T, lanes: Lanes<'n>) -> Group<'t, 'n, T> {
        let (node, number) = lanes.place_of(transport.rank());
        debug_assert!(number < lanes.count(), "this rank heads a lane");
        Group {
            transport,
            members: Members::Lane { lanes, number },
            rank: node,
        }
    }

    /// The heads of lanes on this rank's node, of which it is one, in the order of lanes.
    pub(crate) fn of_heads(transport: &'t mut T, lanes: Lanes<'n>) -> Group<'t, 'n, T> {
        let (node, number) = lanes.place_of(transport.rank());
        debug_assert!(number < lanes.count(), "this rank heads a lane");
        Group {
            transport,
            members: Members::Heads { lanes, node },
            rank: number,
        }
    }

    /// The head of this rank's team, which is number 0, and the others.
    pub(crate) fn of_team(transport: &'t mut T, lanes: Lanes<'n>) -> Group<'t, 'n, T> {
        let (node, number) = lanes.place_of(transport.rank());
        let head = number % lanes.count();
        Group {
            transport,
            members: Members::Team { lanes, node, head },
            rank: number / lanes.count(),
        }
    }

    fn below(&self, rank: usize) -> usize {
        match self.members {
            Members::Listed(ranks) => ranks[rank],
            Members::Leaders { nodes, root } => leader(nodes, rank, root),
            Members::Lane { lanes, number } => lanes.rank(rank, number),
            Members::Heads { lanes, node } => lanes.rank(node, rank),
            Members::Team { lanes, node, head } => lanes.rank(node, head + rank * lanes.count()),
        }
    }
}

impl<T: Transport> Transport for Group<'_, '_, T> {
    type Request<'b> = T::Request<'b>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        match self.members {
            Members::Listed(ranks) => ranks.len(),
            Members::Leaders { nodes, .. } => nodes.count(),
            Members::Lane { lanes, .. } => lanes.nodes(),
            Members::Heads { lanes, .. } => lanes.count(),
            Members::Team { lanes, node, head } => lanes.team(node, head),
        }
    }

    fn nodes(&mut self) -> Result<Arc<Nodes>, TransportError> {
        let p = self.size();
        Ok(Arc::new(match self.members {
            Members::Listed(_) | Members::Heads { .. } | Members::Team { .. } => Nodes::one(p),
            Members::Leaders { .. } | Members::Lane { .. } => Nodes::each_alone(p),
        }))
    }

    fn element_bytes(&self) -> usize {
        self.transport.element_bytes()
    }

    fn send(&mut self, to: usize, data: &[u8]) -> Result<(), TransportError> {
        self.transport.send(self.below(to), data)
    }

    fn recv(&mut self, from: usize, data: &mut [u8]) -> Result<(), TransportError> {
        self.transport.recv(self.below(from), data)
    }

    fn sendrecv(&mut self, to: usize, send: &[u8], from: usize, recv: &mut [u8]) -> Result<(), TransportError> {
        self.transport.sendrecv(self.below(to), send, self.below(from), recv)
    }

    unsafe fn isend<'b>(&mut self, to: usize, data: &'b [u8]) -> Result<T::Request<'b>, TransportError> {
        let to = self.below(to);
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.transport.isend(to, data) }
    }

    unsafe fn irecv<'b>(&mut self, from: usize, data: &'b mut [u8]) -> Result<T::Request<'b>, TransportError> {
        let from = self.below(from);
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.transport.irecv(from, data) }
    }

    fn wait(&mut self, request: T::Request<'_>) -> Result<(), TransportError> {
        self.transport.wait(request)
    }

    fn reduce_local(&mut self, input: &[u8], inout: &mut [u8]) -> Result<(), TransportError> {
        self.transport.reduce_local(input, inout)
    }

    fn copy(&mut self, from: &[u8], to: &mut [u8]) {
        self.transport.copy(from, to);
    }

    fn take_scratch(&mut self, bytes: usize) -> Result<Vec<u8>, TransportError> {
        self.transport.take_scratch(bytes)
    }

    fn give_scratch(&mut self, scratch: Vec<u8>) {
        self.transport.give_scratch(scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::{Config, run};

    #[test]
    fn ranks_are_numbered_anew() {
        let nodes = Nodes::new(&["a", "b", "a", "c", "b", "a"]);
        let outcome = run(6, &Config::new(1, |_, _| {}), |transport| {
            let below = transport.rank();
            let mut group = Group::of_node(transport, &nodes);
            let (rank, size) = (group.rank(), group.size());
            assert_eq!(group.below(rank), below);
            // Once round the node.
            let mut left = [0];
            group.sendrecv((rank + 1) % size, &[below as u8], (rank + size - 1) % size, &mut left)?;
            assert_eq!(group.nodes()?.count(), 1);
            let mut top = [u8::MAX];
            if leader(&nodes, nodes.node_of(below), 4) == below {
                let mut leaders = Group::of_leaders(transport, &nodes, 4);
                let (rank, size) = (leaders.rank(), leaders.size());
                assert_eq!(leaders.nodes()?.count(), size);
                leaders.sendrecv((rank + 1) % size, &[below as u8], (rank + size - 1) % size, &mut top)?;
            }
            Ok((left[0], top[0]))
        });
        let none = u8::MAX;
        // The leaders are 0, 4 (the root, instead of 1) and 3.
        assert_eq!(
            outcome.results().unwrap(),
            [(5, 3), (4, none), (0, none), (3, 4), (1, 0), (2, none)]
        );
    }
}
