//! k-nomial scatter: subtrees' blocks down a tree with `k-1` children on each level.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206, for `k = 2`.
//! Needs:  nothing. Any root.
//! Shapes: input `[p * b]` on the root, output `[b]`; scratch `[subtree * b]` on inner ranks other than the root.
//! Cost:   the sum of min(k, m_i) - 1 over m_0 = p, m_(i+1) = ceil(m_i / k) > 1 rounds ((k-1)log_k p where p is a power
//!         of k); n(p-1)/p bytes, both at the root
//!         = (k-1)log_k p*alpha + n(p-1)/p*beta for p = k^i
//!         (n = p * b = bytes at the root, p = ranks, k = radix; alpha in s, beta in s/byte); exact for every p and root.
//!
//! Between the binomial tree, whose blocks cross up to `log2 p` links, and the linear one, whose root sends `p-1` messages:
//! where several messages that go out at once cost little more than one, the `log_k p` levels count. Those of a level do; the next level's
//! follow them, as in [`super::binomial`], which is this row of radix 2 ([`crate::alias`]).
//!
//! The tree is that of [`crate::schedule::Splitting`], whose subtrees are runs of consecutive ranks for every root; so a
//! message is one piece of memory. For five ranks, radix 3 and root 1 (letters are the blocks of ranks 0 to 4):
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! start              abcde
//! round 0            abc               de                1 -> 3
//! round 1            ab       c        d        e        1 -> 2, 3 -> 4
//! round 2   a        b        c        d        e        1 -> 0
//! ```

use std::ops::Range;

use crate::patterns::{k_nomial, subtree};
use crate::schedule::Splitting;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scatter.k_nomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scatter,
    summary: "subtrees' blocks down a tree of k parts per level (small and medium blocks)",
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
    let rank = transport.rank();
    let block_bytes = output.len();
    if block_bytes == 0 {
        return Ok(());
    }
    let place = Splitting::new(rank, root, transport.size(), parameters[0] as usize);
    let first = place.subtree.start;
    let bytes_of = |ranks: Range<usize>| (ranks.start - first) * block_bytes..(ranks.end - first) * block_bytes;
    let Some(parent) = place.parent else {
        subtree::send(transport, place.levels(), input, bytes_of)?;
        transport.copy(&input[bytes_of(rank..rank + 1)], output);
        return Ok(());
    };
    if place.subtree.len() == 1 {
        return transport.recv(parent, output);
    }
    let bytes = place.subtree.len() * block_bytes;
    let mut scratch = transport.take_scratch(bytes)?;
    let blocks = &mut scratch[..bytes];
    transport.recv(parent, blocks)?;
    subtree::send(transport, place.levels(), blocks, bytes_of)?;
    // The rank is the lowest of its subtree.
    transport.copy(&blocks[..block_bytes], output);
    transport.give_scratch(scratch);
    Ok(())
}
