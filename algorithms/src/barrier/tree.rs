//! Tree barrier: word that all are here goes up a binomial tree to rank 0, and down again.
//!
//! Source: Mellor-Crummey and Scott, ACM TOCS 9(1):21-65, 1991, doi:10.1145/103727.103729 (barriers on trees); the tree: Chan
//!         et al., CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206.
//! Needs:  nothing.
//! Shapes: no data, no scratch.
//! Cost:   2 ceil(log2 p) rounds = 2 ceil(log2 p)*alpha
//!         (p = ranks; alpha in s); exact for every p.
//!
//! The fewest messages over all ranks, `2(p-1)`, where the others send `p` in each round: for networks, or cores, that many
//! messages at once fill. The tree is that of [`crate::schedule::Halving`]. For five ranks:
//!
//! ```text
//! up     round 0   1 -> 0   4 -> 3
//!        round 1   2 -> 0
//!        round 2   3 -> 0
//! down   round 3   0 -> 3
//!        round 4   0 -> 2   3 -> 4
//!        round 5   0 -> 1
//! ```

use crate::overlap::send_each;
use crate::schedule::{Halving, ceil_log2};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "barrier.tree";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Barrier,
    summary: "up a binomial tree and down again (fewest messages)",
    source: "Mellor-Crummey and Scott 1991, doi:10.1145/103727.103729; Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    Cost {
        rounds: 2.0 * f64::from(ceil_log2(setting.p_ranks)),
        ..Cost::ZERO
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, _: Arguments<'_>) -> Result<(), TransportError> {
    let place = Halving::new(transport.rank(), 0, transport.size());
    for child in place.children().rev() {
        transport.recv(child.start, &mut [])?;
    }
    if let Some(parent) = place.parent {
        transport.send(parent, &[])?;
        transport.recv(parent, &mut [])?;
    }
    send_each(transport, place.children().map(|child| (child.start, &[][..])))
}
