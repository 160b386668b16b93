//! Recursive-doubling barrier: partners at distance 1, 2, 4, ... wait for each other.
//!
//! Source: Brooks, IJPP 15(4):295-307, 1986, doi:10.1007/BF01407877.
//! Needs:  nothing.
//! Shapes: no data, no scratch.
//! Cost:   floor(log2 p) rounds; two more where p is no power of two
//!         = (floor(log2 p) + 2f)*alpha, f = 0 if p is a power of two, else 1
//!         (p = ranks; alpha in s); exact for every p.
//!
//! Messages go both ways between the same two ranks at once, at neighbours first: a node's ranks, one beside the other, meet
//! before they talk to other nodes. Where `p` is no power of two, neighbours are folded first ([`crate::schedule::fold`])
//! and released last. For five ranks:
//!
//! ```text
//! fold        1 -> 0
//! round 0     0 <-> 2   3 <-> 4
//! round 1     0 <-> 3   2 <-> 4
//! unfold      0 -> 1
//! ```

use crate::schedule::{Fold, doubling_partners, floor_log2, fold};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "barrier.recursive_doubling";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Barrier,
    summary: "partners at distance 1, 2, 4, ... wait for each other (powers of two)",
    source: "Brooks 1986, doi:10.1007/BF01407877",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let p = setting.p_ranks;
    let folds = if p.is_power_of_two() { 0.0 } else { 1.0 };
    Cost {
        rounds: f64::from(floor_log2(p)) + 2.0 * folds,
        ..Cost::ZERO
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, _: Arguments<'_>) -> Result<(), TransportError> {
    let p = transport.size();
    let (number, folded) = match fold(transport.rank(), p) {
        Fold::Active { number, folded } => (number, folded),
        Fold::Folded { into } => {
            transport.send(into, &[])?;
            return transport.recv(into, &mut []);
        }
    };
    if let Some(neighbour) = folded {
        transport.recv(neighbour, &mut [])?;
    }
    for partner in doubling_partners(number, p) {
        transport.sendrecv(partner, &[], partner, &mut [])?;
    }
    folded.map_or(Ok(()), |neighbour| transport.send(neighbour, &[]))
}
