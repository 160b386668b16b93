//! Binomial scatterv: each rank gets the blocks of its subtree from its parent and passes its children theirs.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206, for equal
//!         blocks.
//! Needs:  nothing. Any root.
//! Shapes: input `[n]` on the root, n the sum of all b, output `[b_rank]`; scratch: lengths and blocks of an inner rank's
//!         subtree, one after the other, since the first say how long the second is; lengths `[8 * p]` on the root.
//! Cost:   of equal blocks, at the root, for m_0 = p, m_(i+1) = ceil(m_i / 2), and its children with s_i = floor(m_i / 2)
//!         ranks: a round and s_i*n/p bytes for each, and where s_i > 1 one more with 8(s_i - 1) bytes
//!         so, for p = 2^k > 1, (2k - 1)*alpha + (n(p-1)/p + 8(p-1-k))*beta
//!         (n = bytes at the root, p = ranks; alpha in s, beta in s/byte); exact for every p and root.
//!
//! Only the root knows the lengths of the others' blocks, but a rank must know what to expect and where to cut it. So
//! the data of an inner rank is preceded by a message with a word for each other rank of its subtree; its own length
//! it knows, so a leaf gets its data alone. The words tell the whole subtree and not only the next level, as what is
//! below must pass through here anyway. They are sent even where there is no data: nobody below the root knows that.
//!
//! The tree is that of [`crate::schedule::Halving`]. For small blocks, five ranks, root 1 and rank 3 without data
//! (letters are blocks, numbers the lengths told):
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! start              abceee
//! round 0            abceee            (3)               1 tells 3 the length of 4
//! round 1            abc               eee               1 -> 3
//! round 2            ab       c                 eee      1 -> 2, 3 -> 4
//! round 3   a        b        c                 eee      1 -> 0
//! ```

use crate::patterns::subtree::{LENGTH_BYTES, heard, told};
use crate::schedule::Halving;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scatterv.binomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scatterv,
    summary: "lengths and subtrees' blocks down a binomial tree (small blocks)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[],
    cost,
    scratch,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    let block = n_bytes as f64 / p_ranks as f64;
    let (mut rounds, mut words, mut blocks) = (0, 0, 0);
    // The ranks left to the root are never fewer than those of the child, which is done no later.
    for ranks in Halving::new(0, 0, p_ranks).children().map(|child| child.len()) {
        rounds += usize::from(ranks > 1) + usize::from(n_bytes > 0);
        words += ranks - 1;
        blocks += ranks;
    }
    Cost {
        rounds: rounds as f64,
        bytes_sent: (words * LENGTH_BYTES) as f64 + blocks as f64 * block,
        bytes_reduced: 0.0,
    }
}

fn scratch(setting: &Setting<'_>) -> usize {
    let lengths = crate::scratch::kept(setting.p_ranks * LENGTH_BYTES);
    lengths.saturating_add(crate::scratch::half_the_blocks(setting))
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        input_blocks,
        root,
        ..
    } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    let place = Halving::new(rank, root, p);
    let Some(parent) = place.parent else {
        let mut words = transport.take_scratch(p * LENGTH_BYTES)?;
        for (word, &bytes) in words.chunks_exact_mut(LENGTH_BYTES).zip(input_blocks) {
            word.copy_from_slice(&told(bytes));
        }
        let before: usize = input_blocks[..rank].iter().sum();
        send_to_children(transport, &place, &words, 0, input, |child| input_blocks[child])?;
        transport.copy(&input[before..][..output.len()], output);
        transport.give_scratch(words);
        return Ok(());
    };
    if place.children().len() == 0 {
        return if output.is_empty() {
            Ok(())
        } else {
            transport.recv(parent, output)
        };
    }
    let others = place.subtree.len() - 1;
    let mut scratch = transport.take_scratch(others * LENGTH_BYTES)?;
    let words = &mut scratch[..others * LENGTH_BYTES];
    transport.recv(parent, words)?;
    let words = &*words;
    // The rank is the lowest of its subtree.
    let length = |of: usize| {
        if of == rank {
            output.len()
        } else {
            heard(words, of - rank - 1)
        }
    };
    let bytes = place.subtree.clone().map(length).fold(0, usize::saturating_add);
    let mut data = transport.take_scratch(bytes)?;
    let blocks = &mut data[..bytes];
    if bytes > 0 {
        transport.recv(parent, blocks)?;
    }
    send_to_children(transport, &place, words, rank + 1, blocks, length)?;
    transport.copy(&blocks[..output.len()], output);
    transport.give_scratch(data);
    transport.give_scratch(scratch);
    Ok(())
}

/// Sends each child the lengths of the others in its subtree, if there are any, then the blocks, if there are any; one message after the other, as
/// in [`crate::scatter`]'s binomial tree.
///
/// `words` are the lengths from rank `first_told` on, `blocks` the data of this rank's subtree.
fn send_to_children<T: Transport>(
    transport: &mut T,
    place: &Halving,
    words: &[u8],
    first_told: usize,
    blocks: &[u8],
    length: impl Fn(usize) -> usize,
) -> Result<(), TransportError> {
    for child in place.children() {
        if child.len() > 1 {
            let told = child.start + 1 - first_told..child.end - first_told;
            transport.send(child.start, &words[told.start * LENGTH_BYTES..told.end * LENGTH_BYTES])?;
        }
        let before: usize = (place.subtree.start..child.start).map(&length).sum();
        let bytes: usize = child.clone().map(&length).sum();
        if bytes > 0 {
            transport.send(child.start, &blocks[before..before + bytes])?;
        }
    }
    Ok(())
}
