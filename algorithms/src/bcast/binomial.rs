//! Binomial broadcast: in each round every rank that has the data sends it to one that has not.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206.
//! Needs:  nothing. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   ceil(log2 p) rounds of n bytes
//!         = ceil(log2 p)*(alpha + n*beta)
//!         (n = bytes, p = ranks; alpha in s, beta in s/byte); exact for every p and root.
//!
//! The fewest rounds possible, each with all the data: for small sizes. A rank sends one message after the other, so that none shares
//! the rank's link with those of later rounds. That is [`super::k_nomial`] of radix 2 ([`crate::alias`]), on the tree of
//! [`crate::schedule::Grouping`]; for five ranks and root 0:
//!
//! ```text
//! round    0        1        2
//!          0 -> 4   0 -> 2   0 -> 1
//!                            2 -> 3
//! ```

use crate::patterns::{costs, k_nomial};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

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
    cost: costs::all_by_doubling,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { output, root, .. } = arguments;
    if output.is_empty() {
        return Ok(());
    }
    k_nomial::broadcast(transport, root, k_nomial::BINOMIAL, output)
}
