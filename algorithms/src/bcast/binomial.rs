//! Binomial broadcast: in each round every rank that has the data sends it to one that has not.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206.
//! Needs:  nothing. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   ceil(log2 p) rounds of n bytes
//!         = ceil(log2 p)*(alpha + n*beta)
//!         (n = bytes, p = ranks; alpha in s, beta in s/byte); exact for every p and root.
//!
//! The fewest rounds possible, each with all the data: for small sizes. The tree is that of
//! [`crate::schedule::Halving`]; for five ranks and root 0:
//!
//! ```text
//! round    0        1        2
//!          0 -> 3   0 -> 2   0 -> 1
//!                   3 -> 4
//! ```

use crate::patterns::binomial;
use crate::schedule::{Halving, ceil_log2};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.binomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "everything down a binomial tree (small sizes)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::none,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let rounds = f64::from(ceil_log2(p_ranks));
    Cost {
        rounds,
        bytes_sent: rounds * n_bytes as f64,
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { output, root, .. } = arguments;
    if output.is_empty() {
        return Ok(());
    }
    let place = Halving::new(transport.rank(), root, transport.size());
    binomial::broadcast(transport, &place, output)
}
