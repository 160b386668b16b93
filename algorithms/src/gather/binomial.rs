//! Binomial gather: each rank collects the blocks of its subtree and sends them to its parent in one message.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206.
//! Needs:  nothing. Any root.
//! Shapes: input `[b]`, output `[p * b]` on the root; scratch `[subtree * b]` on inner ranks, and on a root other than
//!         0 for the one subtree that wraps round the end of the ranks.
//! Cost:   ceil(log2 p) rounds; n(p-1)/p bytes, at the root
//!         = ceil(log2 p)*alpha + n(p-1)/p*beta
//!         (n = p * b = bytes at the root, p = ranks; alpha in s, beta in s/byte); exact for every p.
//!
//! PGMPI's first case study: libraries whose gather sends every block straight to the root pay `p-1` latencies, and an
//! allgather is then faster than the gather it contains.
//!
//! In ranks relative to the root a subtree is a run of consecutive ranks, so a message is one piece of memory. For five
//! ranks and root 0 (letters are the blocks of ranks 0 to 4):
//!
//! ```text
//!           rank 0      rank 1   rank 2   rank 3   rank 4
//! start     a           b        c        d        e
//! round 0   a b                  c d                        1 -> 0, 3 -> 2; 4 -> 0 starts, too
//! round 1   a b c d                                         2 -> 0
//! round 2   a b c d e                                       4 -> 0 is received
//! ```
//!
//! Nothing is staged that need not be: a leaf sends its input, the root receives each subtree where its blocks belong.

use crate::overlap::Overlap;
use crate::schedule::{absolute, binomial_children, binomial_parent, binomial_subtree, ceil_log2, relative};
use crate::{Algorithm, Arguments, Collective, Cost, Transport, TransportError};

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
    cost,
};

fn cost(p_ranks: usize, n_bytes: usize, _parameters: &[u64]) -> Cost {
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    Cost {
        rounds: f64::from(ceil_log2(p_ranks)),
        bytes_sent: n_bytes as f64 * (p_ranks - 1) as f64 / p_ranks as f64,
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    let own = relative(transport.rank(), root, transport.size());
    match binomial_parent(own) {
        None => collect_at_root(transport, input, output),
        Some(parent) => {
            let parent = absolute(parent, root, transport.size());
            forward(transport, input, own, root, parent)
        }
    }
}

/// The part of a rank other than the root: its subtree's blocks to its parent.
fn forward<T: Transport>(
    transport: &mut T,
    input: &[u8],
    own: usize,
    root: usize,
    parent: usize,
) -> Result<(), TransportError> {
    let p = transport.size();
    let subtree = binomial_subtree(own, p);
    if subtree == 1 {
        return transport.send(parent, input);
    }
    let mut scratch = transport.take_scratch(subtree * input.len())?;
    let gathered = &mut scratch[..subtree * input.len()];
    let mut overlap = Overlap::new(transport);
    let (first, mut rest) = gathered.split_at_mut(input.len());
    for child in binomial_children(own, p) {
        let (target, after) = rest.split_at_mut(binomial_subtree(child, p) * input.len());
        rest = after;
        overlap.receive(absolute(child, root, p), target)?;
    }
    overlap.transport().copy(input, first);
    overlap.finish()?;
    transport.send(parent, gathered)?;
    transport.give_scratch(scratch);
    Ok(())
}

/// The root's part: each child's subtree to its place in `output`.
///
/// Relative ranks from `p - root` on are ranks from 0 on: `output` is the relative order, rotated.
///
/// ```text
/// p = 5, root 2   output     a b | c d e        rank 0 1 | 2 3 4
///                 relative   3 4 | 0 1 2        child 2 = relative 2, 3 wraps; child 4 = relative 4 does not
/// ```
fn collect_at_root<T: Transport>(transport: &mut T, input: &[u8], output: &mut [u8]) -> Result<(), TransportError> {
    let (p, root) = (transport.size(), transport.rank());
    let block_bytes = input.len();
    let wrap = p - root;
    let (mut low, high) = output.split_at_mut(root * block_bytes);
    let (first, mut high) = high.split_at_mut(block_bytes);

    // At most one subtree lies on both sides of the wrap: subtrees do not overlap.
    let wrapped = |child: usize| child < wrap && wrap < child + binomial_subtree(child, p);
    let wrapped_blocks = binomial_children(0, p)
        .find(|&child| wrapped(child))
        .map_or(0, |child| binomial_subtree(child, p));
    let mut scratch = if wrapped_blocks > 0 {
        transport.take_scratch(wrapped_blocks * block_bytes)?
    } else {
        Vec::new()
    };
    let mut staged = &mut scratch[..wrapped_blocks * block_bytes];
    let mut pieces: (&mut [u8], &mut [u8]) = (&mut [], &mut []);

    let mut overlap = Overlap::new(transport);
    for child in binomial_children(0, p) {
        let bytes = binomial_subtree(child, p) * block_bytes;
        let target = if wrapped(child) {
            // Children come in the order of their blocks, so what is left of `high` is the first piece.
            let above = std::mem::take(&mut high);
            let (below, after) = std::mem::take(&mut low).split_at_mut(bytes - above.len());
            low = after;
            pieces = (above, below);
            std::mem::take(&mut staged)
        } else {
            let side = if child < wrap { &mut high } else { &mut low };
            let (target, after) = std::mem::take(side).split_at_mut(bytes);
            *side = after;
            target
        };
        overlap.receive(absolute(child, root, p), target)?;
    }
    overlap.transport().copy(input, first);
    overlap.finish()?;
    if wrapped_blocks > 0 {
        let (above, below) = pieces;
        let (first_piece, second_piece) = scratch[..wrapped_blocks * block_bytes].split_at(above.len());
        transport.copy(first_piece, above);
        transport.copy(second_piece, below);
        transport.give_scratch(scratch);
    }
    Ok(())
}
