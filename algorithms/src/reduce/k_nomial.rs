//! k-nomial reduce: what is combined goes up a tree with `k-1` children on each level.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206, for `k = 2`.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative. Any root.
//! Shapes: input `[n]`, output `[n]` on the root; scratch on inner ranks: up to `k` messages `[n]` that are received or combined, and the
//!         result `[n]` on those other than the root.
//! Cost:   the sum of min(k, m_i) - 1 over m_0 = p, m_(i+1) = ceil(m_i / k) > 1 rounds ((k-1)log_k p where p is a power
//!         of k) of n bytes, all combined, at the root
//!         = (k-1)log_k p*(alpha + n*beta + n*gamma) for p = k^i
//!         (n = bytes per rank, p = ranks, k = radix; alpha in s, beta and gamma in s/byte). Each term is exact for every p and root; the
//!         sum is an upper bound, since one message comes in while another one is combined.
//!
//! Between the binomial tree and the linear one. Receives from all children of a level are posted at once: where several messages
//! together cost little more than one, a call takes the time of `log_k p` levels, fewer than a binomial tree has. For small sizes.
//!
//! The tree is that of [`crate::schedule::Grouping`], whose subtrees are runs of consecutive ranks for every root; so the order of operands
//! costs nothing, and the first level stays on nodes with `k` ranks in order. For five ranks, radix 3 and root 1, letters are the
//! contributions of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! round 0   a        b        c        d        e        0 -> 1, 4 -> 3; 2 -> 1 starts, too
//! round 1            ab                de                2 -> 1 is received
//! round 2            abc               de                3 -> 1
//! end                abcde
//! ```

use crate::overlap::{Overlap, WINDOW};
use crate::patterns::{k_nomial, lent};
use crate::schedule::{Grouping, largest_group, splitting_rounds};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.k_nomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "everything up a tree of k parts per level in rank order (small sizes)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[k_nomial::RADIX],
    cost,
    scratch,
};

/// Receives under way at once: those of a level.
fn ahead(radix: usize) -> usize {
    (radix - 1).min(WINDOW)
}

fn cost(setting: &Setting<'_>) -> Cost {
    let messages = k_nomial::cost_of_all_each_round(setting);
    Cost {
        bytes_reduced: messages.bytes_sent,
        ..messages
    }
}

/// Messages that a rank holds at once, besides the result. The last one from a higher rank, if there is any, comes in where the result goes.
fn slots(children: usize, has_lower: bool, radix: usize) -> usize {
    let elsewhere = children.saturating_sub(usize::from(!has_lower));
    elsewhere.min(ahead(radix) + 1)
}

fn scratch(setting: &Setting<'_>) -> usize {
    let radix = k_nomial::radix(setting.parameters);
    let of_root = slots(splitting_rounds(setting.p_ranks, radix), true, radix);
    // The leader of a group without the root is its lowest rank, and has a result of its own.
    let of_group = match splitting_rounds(largest_group(setting.p_ranks, radix), radix) {
        0 => 0,
        children => 1 + slots(children, false, radix),
    };
    crate::scratch::kept(setting.n_bytes.saturating_mul(of_root.max(of_group)))
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        root,
        parameters,
        ..
    } = arguments;
    let n_bytes = input.len();
    if n_bytes == 0 {
        return Ok(());
    }
    let (rank, radix) = (transport.rank(), k_nomial::radix(parameters));
    let place = Grouping::new(rank, root, transport.size(), radix);
    let children = place.children().count();
    let has_lower = place.children().any(|child| child.start < rank);
    let slots = slots(children, has_lower, radix) * n_bytes;
    match place.parent {
        None if children == 0 => transport.copy(input, output),
        None => {
            let mut scratch = lent::take(transport, slots)?;
            combine(transport, &place, radix, input, output, &mut scratch[..slots])?;
            lent::give(transport, scratch);
        }
        Some(parent) if children == 0 => transport.send(parent, input)?,
        Some(parent) => {
            let mut scratch = transport.take_scratch(n_bytes + slots)?;
            let (combined, slots) = scratch[..n_bytes + slots].split_at_mut(n_bytes);
            combine(transport, &place, radix, input, combined, slots)?;
            transport.send(parent, combined)?;
            transport.give_scratch(scratch);
        }
    }
    Ok(())
}

/// Combines the inputs of this rank's subtree, in rank order, into `result`. Each child's lie directly beside what is combined already.
fn combine<T: Transport>(
    transport: &mut T,
    place: &Grouping,
    radix: usize,
    input: &[u8],
    result: &mut [u8],
    slots: &mut [u8],
) -> Result<(), TransportError> {
    let rank = transport.rank();
    let mut overlap = Overlap::new(transport);
    let mut slots = slots.chunks_exact_mut(input.len());
    // A combination with a higher rank lands in the buffer that its data came in, and stays there until the next higher one's.
    let last_higher = place
        .children()
        .map(|child| child.start)
        .filter(|child| *child > rank)
        .last();
    let mut result = Some(result);
    let mut to_post = place.children().map(|child| child.start);
    for child in to_post.by_ref().take(ahead(radix)) {
        let is_last = Some(child) == last_higher;
        let target = if is_last { result.take() } else { slots.next() };
        overlap.receive(child, target.unwrap_or_default())?;
    }
    // The combination so far; nothing while that is the input alone.
    let mut held: Option<&mut [u8]> = None;
    for child in place.children() {
        let came = overlap.received()?;
        let free = if child.start < rank {
            let own = match held.take() {
                Some(own) => own,
                None => {
                    let is_last = last_higher.is_none();
                    let own = if is_last { result.take() } else { slots.next() }.unwrap_or_default();
                    overlap.transport().copy(input, own);
                    own
                }
            };
            overlap.transport().reduce_local(came, own)?;
            held = Some(own);
            Some(came)
        } else {
            let own = held.as_deref().unwrap_or(input);
            overlap.transport().reduce_local(own, came)?;
            held.replace(came)
        };
        if let Some(next) = to_post.next() {
            let is_last = Some(next) == last_higher;
            let target = if is_last {
                result.take()
            } else {
                free.or_else(|| slots.next())
            };
            overlap.receive(next, target.unwrap_or_default())?;
        }
    }
    overlap.finish()
}
