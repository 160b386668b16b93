//! Binomial reduce: in each round half of the ranks that are left send what they have combined.
//!
//! Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13):1749-1783, 2007, doi:10.1002/cpe.1206.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative. Any root.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `[n]` there, at most `[2 n]` on other inner ranks.
//! Cost:   ceil(log2 p) rounds of n bytes, all combined
//!         = ceil(log2 p)*(alpha + n*beta + n*gamma)
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p and root.
//!
//! The fewest rounds possible, each with all the data: for small sizes. The tree is that of
//! [`crate::schedule::Halving`], whose subtrees are runs of consecutive ranks for every root; so the order of operands
//! costs nothing. For five ranks and root 1, letters are the contributions of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! round 0   a        b        c        d        e        0 -> 1, 4 -> 3
//! round 1            ab       c        de                2 -> 1
//! round 2            abc               de                3 -> 1
//! end                abcde
//! ```

use crate::patterns::{binomial, costs};
use crate::schedule::Halving;
use crate::{Algorithm, Arguments, Collective, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.binomial";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "everything up a binomial tree in rank order (small sizes)",
    source: "Chan et al. 2007, doi:10.1002/cpe.1206",
    needs: &[],
    parameters: &[],
    cost: costs::combined_by_doubling,
    scratch,
};

fn scratch(setting: &Setting<'_>) -> usize {
    crate::scratch::kept(match setting.p_ranks {
        0 | 1 => 0,
        // Ranks other than the root have one child at most.
        2..=4 => setting.n_bytes,
        _ => setting.n_bytes.saturating_mul(2),
    })
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    let n_bytes = input.len();
    if n_bytes == 0 {
        return Ok(());
    }
    let place = Halving::new(transport.rank(), root, transport.size());
    match (place.parent, place.children().len()) {
        (None, 0) => transport.copy(input, output),
        (None, _) => {
            let mut scratch = transport.take_scratch(n_bytes)?;
            binomial::reduce(transport, &place, input, output, &mut scratch[..n_bytes])?;
            transport.give_scratch(scratch);
        }
        (Some(parent), 0) => transport.send(parent, input)?,
        (Some(parent), children) => {
            // An only child's data is combined where it came.
            let bytes = children.min(2) * n_bytes;
            let mut scratch = transport.take_scratch(bytes)?;
            let (combined, spare) = scratch[..bytes].split_at_mut(n_bytes);
            binomial::reduce(transport, &place, input, combined, spare)?;
            transport.send(parent, combined)?;
            transport.give_scratch(scratch);
        }
    }
    Ok(())
}
