//! Linear exclusive scan: the prefix passes from each rank to the next, in one piece.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35, for the
//!         inclusive scan).
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]` except on rank 0; scratch `[n]` on ranks that are neither the first nor the last.
//! Cost:   p-1 rounds of n bytes; n(p-2) bytes combined before the last rank has its prefix
//!         = (p-1)*(alpha + n*beta) + (p-2)*n*gamma
//!         (n = bytes per rank, p = ranks, at least 2; alpha in s, beta and gamma in s/byte); exact for every p.
//!
//! The fewest messages and combinations over all ranks. A prefix is received where it stays; what goes on is combined in a
//! copy of the input. For five ranks, letters are the contributions of ranks 0 to 4:
//!
//! ```text
//! round    0        1        2        3
//!          0 -> 1   1 -> 2   2 -> 3   3 -> 4
//!          a        ab       abc      abcd
//! ```

use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "exscan.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Exscan,
    summary: "prefix from rank to rank in one piece (few ranks)",
    source: "Traeff, Gropp and Thakur 2010, doi:10.1109/TPDS.2009.120",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::one_volume_inside,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let rounds = p_ranks - 1;
    Cost {
        rounds: rounds as f64,
        bytes_sent: rounds as f64 * n_bytes as f64,
        bytes_reduced: rounds.saturating_sub(1) as f64 * n_bytes as f64,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if input.is_empty() || p == 1 {
        return Ok(());
    }
    let Some(previous) = rank.checked_sub(1) else {
        return transport.send(1, input);
    };
    if rank + 1 == p {
        return transport.recv(previous, output);
    }
    let mut scratch = transport.take_scratch(input.len())?;
    let next_prefix = &mut scratch[..input.len()];
    // Before the wait: the copy costs nothing while the prefix is still on its way.
    transport.copy(input, next_prefix);
    transport.recv(previous, output)?;
    transport.reduce_local(output, next_prefix)?;
    transport.send(rank + 1, next_prefix)?;
    transport.give_scratch(scratch);
    Ok(())
}
