//! k-nomial gather: subtrees' blocks up a tree with `k-1` children on each level.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206, for `k = 2`.
//! Needs:  nothing. Any root.
//! Shapes: input `[b]`, output `[p * b]` on the root; scratch `[subtree * b]` on inner ranks other than the root.
//! Cost:   the sum of min(k, m_i) - 1 over m_0 = p, m_(i+1) = ceil(m_i / k) > 1 rounds ((k-1)log_k p where p is a power
//!         of k); n(p-1)/p bytes, both at the root
//!         = (k-1)log_k p*alpha + n(p-1)/p*beta for p = k^i
//!         (n = p * b = bytes at the root, p = ranks, k = radix; alpha in s, beta in s/byte); exact for every p and root.
//!
//! Between the binomial tree, whose blocks cross up to `log2 p` links, and the linear one, whose root gets `p-1` messages:
//! where several messages that come in at once cost little more than one, the `log_k p` levels count.
//!
//! The tree is that of [`crate::schedule::Splitting`], whose subtrees are runs of consecutive ranks for every root; so a
//! message is one piece of memory. For five ranks, radix 3 and root 1 (letters are the blocks of ranks 0 to 4):
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! start     a        b        c        d        e
//! round 0            ab                de                0 -> 1, 4 -> 3; 2 -> 1 starts, too
//! round 1            abc                                 2 -> 1 is received
//! round 2            abcde                               3 -> 1
//! ```

use crate::patterns::{k_nomial, subtree};
use crate::schedule::Splitting;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "gather.k_nomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Gather,
    summary: "subtrees' blocks up a tree of k parts per level (small and medium blocks)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[k_nomial::RADIX],
    cost: k_nomial::cost,
    scratch: k_nomial::scratch,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        root,
        parameters,
        ..
    } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    let place = Splitting::new(transport.rank(), root, transport.size(), parameters[0] as usize);
    // Smallest first: the others are not complete yet.
    let children = place
        .children()
        .rev()
        .map(|child| (child.start, child.len() * input.len()));
    let Some(parent) = place.parent else {
        return subtree::collect(transport, children, root * input.len(), input, output);
    };
    if place.subtree.len() == 1 {
        return transport.send(parent, input);
    }
    let bytes = place.subtree.len() * input.len();
    let mut scratch = transport.take_scratch(bytes)?;
    let blocks = &mut scratch[..bytes];
    // The rank is the lowest of its subtree.
    subtree::collect(transport, children, 0, input, blocks)?;
    transport.send(parent, blocks)?;
    transport.give_scratch(scratch);
    Ok(())
}
