//! k-nomial broadcast: everything down a tree with `k-1` children on each level.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206, for `k = 2`.
//! Needs:  nothing. Any root.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   the sum of min(k, m_i) - 1 over m_0 = p, m_(i+1) = ceil(m_i / k) > 1 rounds ((k-1)log_k p where p is a power
//!         of k) of n bytes
//!         = (k-1)log_k p*(alpha + n*beta) for p = k^i
//!         (n = bytes, p = ranks, k = radix; alpha in s, beta in s/byte); exact for every p and root.
//!
//! Between the binomial tree and the linear one. The messages of a level go out at once: where several together cost little more than
//! one, a call takes the time of `log_k p` levels, fewer than a binomial tree has. For small sizes.
//!
//! The tree is that of [`crate::schedule::Grouping`] from the root down; so the last level stays on nodes with `k` ranks in order. For
//! five ranks, radix 3 and root 1:
//!
//! ```text
//! round    0        1        2
//!          1 -> 3   1 -> 0   1 -> 2
//!                   3 -> 4
//! ```

use crate::patterns::k_nomial;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.k_nomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "everything down a tree of k parts per level (small sizes)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[k_nomial::RADIX],
    cost: k_nomial::cost_of_all_each_round,
    scratch: crate::scratch::none,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        output,
        root,
        parameters,
        ..
    } = arguments;
    if output.is_empty() {
        return Ok(());
    }
    k_nomial::broadcast(transport, root, k_nomial::radix(parameters), output)
}
