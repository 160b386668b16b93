//! Linear reduce: every rank sends its data to the root, which combines it.
//!
//! Source: Pjesivac-Grbovic et al., Cluster Computing 10(2):127-143, 2007, doi:10.1007/s10586-007-0012-0.
//! Needs:  nothing; operands are combined from the highest rank down, so the operator need not be commutative. Any root.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `[2 n]` there.
//! Cost:   p-1 rounds of n bytes, all combined, at the root
//!         = (p-1)*(alpha + n*beta + n*gamma)
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte). Each term is exact for every p; the sum
//!         is an upper bound, since one contribution comes in while another one is combined.
//!
//! The fewest hops, for few ranks. For five ranks and root 1, letters are the contributions of ranks 0 to 4:
//!
//! ```text
//! round    0        1        2                 3
//!          4 -> 1   3 -> 1   2 -> 1            0 -> 1
//! rank 1   e        de       cde, then bcde    abcde
//! ```

use crate::overlap::Overlap;
use crate::patterns::lent;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "from each rank straight to the root (few ranks)",
    source: "Pjesivac-Grbovic et al. 2007, doi:10.1007/s10586-007-0012-0",
    needs: &[],
    parameters: &[],
    cost,
    scratch,
};

/// Contributions that may be on their way or be combined, besides the first one.
const AHEAD: usize = 2;

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let messages = (p_ranks - 1) as f64;
    let bytes = messages * n_bytes as f64;
    Cost {
        rounds: messages,
        bytes_sent: bytes,
        bytes_reduced: bytes,
    }
}

fn scratch(setting: &Setting<'_>) -> usize {
    let slots = setting.p_ranks.saturating_sub(1).min(AHEAD);
    crate::scratch::kept(setting.n_bytes.saturating_mul(slots))
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    if input.is_empty() {
        Ok(())
    } else if transport.rank() == root {
        collect(transport, input, output)
    } else {
        transport.send(root, input)
    }
}

/// The root's part: the highest rank's contribution goes to `output`, the others into slots.
fn collect<T: Transport>(transport: &mut T, input: &[u8], output: &mut [u8]) -> Result<(), TransportError> {
    let (root, p) = (transport.rank(), transport.size());
    let highest = p - 1;
    if p == 2 && root == 0 {
        transport.recv(highest, output)?;
        return transport.reduce_local(input, output);
    }
    let staged = if root == highest { p - 1 } else { p - 2 };
    let slots = staged.min(AHEAD);
    let mut scratch = lent::take(transport, slots * input.len())?;

    let mut overlap = Overlap::new(transport);
    let mut combined = None;
    if root == highest {
        overlap.transport().copy(input, output);
        combined = Some(output);
    } else {
        overlap.receive(highest, output)?;
    }
    let mut to_post = (0..highest).rev().filter(|&from| from != root);
    for slot in scratch.chunks_exact_mut(input.len()).take(slots) {
        if let Some(from) = to_post.next() {
            overlap.receive(from, slot)?;
        }
    }
    let combined = match combined {
        Some(output) => output,
        None => overlap.received()?,
    };
    for rank in (0..highest).rev() {
        if rank == root {
            overlap.transport().reduce_local(input, combined)?;
            continue;
        }
        let slot = overlap.received()?;
        overlap.transport().reduce_local(slot, combined)?;
        if let Some(from) = to_post.next() {
            overlap.receive(from, slot)?;
        }
    }
    overlap.finish()?;
    lent::give(transport, scratch);
    Ok(())
}
