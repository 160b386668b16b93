//! Two-level barrier: the ranks of each node report to its leader, the leaders disseminate, and let their nodes go.
//!
//! Source: Hensgen, Finkel and Manber, IJPP 17(1):1-17, 1988, doi:10.1007/BF01379320 (dissemination); Kielmann et al., PPoPP
//!         1999, doi:10.1145/301104.301116 (two levels).
//! Needs:  nothing. Any placement of ranks on nodes.
//! Shapes: none; messages are empty.
//! Cost:   2 ceil(log2 k) + ceil(log2 l) rounds, without bytes
//!         = (2 ceil(log2 k) + ceil(log2 l))*alpha
//!         (l = nodes, k = ranks of the largest one; alpha in s); exact where nodes have equally many ranks, else an upper
//!         bound.
//!
//! Only `ceil(log2 l)` messages go over each node's link, not `k` times `ceil(log2 p)`: where several ranks share a node.
//!
//! For ranks 0 and 1, 2 and 3, 4 on three nodes; all messages are empty:
//!
//! ```text
//! round 0   1 -> 0, 3 -> 2                 up
//! round 1   0 -> 2, 2 -> 4, 4 -> 0         distance 1 among the leaders 0, 2 and 4
//! round 2   0 -> 4, 2 -> 0, 4 -> 2         distance 2
//! round 3   0 -> 1, 2 -> 3                 down
//! ```

use crate::patterns::two_level::{Levels, largest_node};
use crate::schedule::{Halving, ceil_log2};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "barrier.two_level";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Barrier,
    summary: "up a tree on each node, dissemination among the nodes, down again (several ranks on a node)",
    source: "Hensgen et al. 1988, doi:10.1007/BF01379320; Kielmann et al. 1999, doi:10.1145/301104.301116",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let on_node = f64::from(ceil_log2(largest_node(setting)));
    Cost {
        rounds: 2.0 * on_node + f64::from(ceil_log2(setting.nodes.count())),
        ..Cost::ZERO
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, _: Arguments<'_>) -> Result<(), TransportError> {
    let levels = Levels::new(transport, 0)?;
    let (mut node, leader) = levels.on_node(transport);
    let place = Halving::new(node.rank(), leader, node.size());
    for child in place.children().rev() {
        node.recv(child.start, &mut [])?;
    }
    match place.parent {
        Some(parent) => {
            node.send(parent, &[])?;
            node.recv(parent, &mut [])?;
        }
        None => {
            let mut leaders = levels.leaders(transport);
            let (rank, count) = (leaders.rank(), leaders.size());
            let mut distance = 1;
            while distance < count {
                let (to, from) = ((rank + distance) % count, (rank + count - distance) % count);
                leaders.sendrecv(to, &[], from, &mut [])?;
                distance *= 2;
            }
        }
    }
    let (mut node, _) = levels.on_node(transport);
    for child in place.children() {
        node.send(child.start, &[])?;
    }
    Ok(())
}
