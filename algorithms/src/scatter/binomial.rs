//! Binomial scatter: each rank gets the blocks of its subtree from its parent and passes its children theirs.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206.
//! Needs:  nothing. Any root.
//! Shapes: input `[p * b]` on the root, output `[b]`; scratch `[subtree * b]` on inner ranks other than the root.
//! Cost:   ceil(log2 p) rounds; n(p-1)/p bytes, at the root
//!         = ceil(log2 p)*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes at the root, p = ranks; alpha in s, beta in s/byte); exact for every p and root.
//!
//! The fewest rounds possible: for small blocks. A rank sends one message after the other, the largest subtree's first: its blocks have the
//! longest way to go, and none of the others takes a share of the link from them. The tree is that of [`crate::schedule::Halving`], whose subtrees are runs
//! of consecutive ranks for every root; so the root sends from its input, and a leaf receives into its output. For five
//! ranks and root 1 (letters are the blocks of ranks 0 to 4):
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! start              abcde
//! round 0            abc               de                1 -> 3
//! round 1            ab       c        d        e        1 -> 2, 3 -> 4
//! round 2   a        b        c        d        e        1 -> 0
//! ```

use crate::patterns::{binomial, costs};
use crate::schedule::Halving;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scatter.binomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scatter,
    summary: "subtrees' blocks down a binomial tree (small blocks)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[],
    cost: costs::blocks_by_doubling,
    scratch: crate::scratch::half_the_blocks,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    let rank = transport.rank();
    let block_bytes = output.len();
    if block_bytes == 0 {
        return Ok(());
    }
    let place = Halving::new(rank, root, transport.size());
    let Some(parent) = place.parent else {
        let own = &input[rank * block_bytes..][..block_bytes];
        binomial::send_to_children(transport, &place, input, |ranks| {
            ranks.start * block_bytes..ranks.end * block_bytes
        })?;
        transport.copy(own, output);
        return Ok(());
    };
    if place.children().len() == 0 {
        return transport.recv(parent, output);
    }
    let bytes = place.subtree.len() * block_bytes;
    let mut scratch = transport.take_scratch(bytes)?;
    let blocks = &mut scratch[..bytes];
    transport.recv(parent, blocks)?;
    binomial::send_to_children(transport, &place, blocks, |ranks| {
        (ranks.start - rank) * block_bytes..(ranks.end - rank) * block_bytes
    })?;
    // The rank is the lowest of its subtree.
    transport.copy(&blocks[..block_bytes], output);
    transport.give_scratch(scratch);
    Ok(())
}
