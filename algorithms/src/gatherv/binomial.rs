//! Binomial gatherv: each rank collects the blocks of its subtree and sends them to its parent in one message.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206, for equal
//!         blocks.
//! Needs:  nothing. Any root.
//! Shapes: input `[b_rank]`, output `[n]` on the root, n the sum of all b; scratch: an inner rank's subtree's blocks.
//! Cost:   of equal blocks, with the root's subtrees, smallest first, of s ranks and l = ceil(log2 s) levels each: from
//!         t = 0, t = max(t, ready) + message, subtree by subtree
//!         rounds: ready = 2l, message = 1; bytes: ready = 8l + (s-1)n/p, message = s*n/p
//!         so, for p = 2^k > 2, (2k - 1)*alpha + (n(p-1)/p + 8(k-1))*beta
//!         (n = bytes at the root, p = ranks; alpha in s, beta in s/byte). Each term is exact for every p and root; the
//!         sum is an upper bound, since lengths and data of different subtrees overlap.
//!
//! Only the root knows the lengths of the others' blocks, but a rank must know how much its children send. So each rank
//! first tells its parent, in one word, the bytes of its whole subtree; it need not tell the root. One word on each link
//! is enough, as a subtree's blocks are one piece in rank order, and words travel up while inner ranks wait for nothing
//! else. They are sent even where there is no data: nobody below the root knows that.
//!
//! The tree is that of [`crate::schedule::Halving`]. For small blocks, five ranks, root 1 and rank 3 without data
//! (letters are blocks, numbers the bytes told):
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! start     a        b        c                 eee
//! round 0            ab                         (3)      0 -> 1; 4 tells 3 its length; 2 -> 1 starts, too
//! round 1            abc               eee               2 -> 1 is received, 4 -> 3
//! round 2            abceee                              3 -> 1
//! ```

use crate::overlap::Overlap;
use crate::patterns::subtree::{self, LENGTH_BYTES, heard, told};
use crate::schedule::{Halving, ceil_log2};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "gatherv.binomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Gatherv,
    summary: "lengths, then subtrees' blocks, up a binomial tree (small blocks)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::half_the_blocks,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    let block = n_bytes as f64 / p_ranks as f64;
    let message = f64::from(u8::from(n_bytes > 0));
    let (mut rounds, mut bytes) = (0.0, 0.0);
    for ranks in Halving::new(0, 0, p_ranks).children().rev().map(|child| child.len()) {
        let levels = f64::from(ceil_log2(ranks));
        rounds = f64::max(rounds, levels * (1.0 + message)) + message;
        bytes = f64::max(bytes, levels * LENGTH_BYTES as f64 + (ranks - 1) as f64 * block) + ranks as f64 * block;
    }
    Cost {
        rounds,
        bytes_sent: bytes,
        bytes_reduced: 0.0,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        output_blocks,
        root,
        ..
    } = arguments;
    let place = Halving::new(transport.rank(), root, transport.size());
    // Smallest first: the others are not complete yet.
    let children = || place.children().rev();
    let Some(parent) = place.parent else {
        let parts = children().map(|child| (child.start, output_blocks[child.clone()].iter().sum()));
        let before = output_blocks[..root].iter().sum();
        return subtree::collect(transport, parts, before, input, output);
    };
    let mut words = [[0; LENGTH_BYTES]; usize::BITS as usize];
    let mut overlap = Overlap::new(transport);
    for (child, word) in children().zip(&mut words) {
        overlap.receive(child.start, word)?;
    }
    overlap.finish()?;
    let parts = || {
        children()
            .zip(&words)
            .map(|(child, word)| (child.start, heard(word, 0)))
    };
    let bytes = parts().fold(input.len(), |sum, (_, bytes)| sum.saturating_add(bytes));
    if parent != root {
        transport.send(parent, &told(bytes))?;
    }
    if bytes == 0 {
        return Ok(());
    }
    if place.children().len() == 0 {
        return transport.send(parent, input);
    }
    let mut scratch = transport.take_scratch(bytes)?;
    let blocks = &mut scratch[..bytes];
    // The rank is the lowest of its subtree.
    subtree::collect(transport, parts(), 0, input, blocks)?;
    transport.send(parent, blocks)?;
    transport.give_scratch(scratch);
    Ok(())
}
