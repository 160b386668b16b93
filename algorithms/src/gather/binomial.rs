//! Binomial gather: each rank collects the blocks of its subtree and sends them to its parent in one message.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206.
//! Needs:  nothing. Any root.
//! Shapes: input `[b]`, output `[p * b]` on the root; scratch `[subtree * b]` on inner ranks other than the root.
//! Cost:   ceil(log2 p) rounds; n(p-1)/p bytes, at the root
//!         = ceil(log2 p)*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes at the root, p = ranks; alpha in s, beta in s/byte); exact for every p and root.
//!
//! PGMPI's first case study: libraries whose gather sends every block straight to the root pay `p-1` latencies, and an
//! allgather is then faster than the gather it contains.
//!
//! The tree is that of [`crate::schedule::Halving`], whose subtrees are runs of consecutive ranks for every root; so a
//! message is one piece of memory, a leaf sends its input, and the root receives each subtree where its blocks belong.
//! For five ranks and root 1 (letters are the blocks of ranks 0 to 4):
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! start     a        b        c        d        e
//! round 0            ab                de                0 -> 1, 4 -> 3; 2 -> 1 starts, too
//! round 1            abc                                 2 -> 1 is received
//! round 2            abcde                               3 -> 1
//! ```

use crate::patterns::{binomial, costs};
use crate::schedule::Halving;
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "gather.binomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Gather,
    summary: "subtrees' blocks up a binomial tree (small blocks)",
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
    if input.is_empty() {
        return Ok(());
    }
    let place = Halving::new(transport.rank(), root, transport.size());
    let Some(parent) = place.parent else {
        return binomial::collect(transport, &place, input, output);
    };
    if place.children().len() == 0 {
        return transport.send(parent, input);
    }
    let bytes = place.subtree.len() * input.len();
    let mut scratch = transport.take_scratch(bytes)?;
    let blocks = &mut scratch[..bytes];
    binomial::collect(transport, &place, input, blocks)?;
    transport.send(parent, blocks)?;
    transport.give_scratch(scratch);
    Ok(())
}
