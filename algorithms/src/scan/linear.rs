//! Linear scan: the prefix passes from each rank to the next, in one piece.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (guideline 35).
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; scratch `[n]` except on rank 0.
//! Cost:   p-1 rounds of n bytes, all combined, on the last rank
//!         = (p-1)*(alpha + n*beta + n*gamma)
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p.
//!
//! The fewest messages and combinations over all ranks, `p-1` of each: what every scan has to beat. For five ranks,
//! letters are the contributions of ranks 0 to 4:
//!
//! ```text
//! round    0        1        2        3
//!          0 -> 1   1 -> 2   2 -> 3   3 -> 4
//!          a        ab       abc      abcd
//! ```

use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scan.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scan,
    summary: "prefix from rank to rank in one piece (few ranks)",
    source: "Traeff, Gropp and Thakur 2010, doi:10.1109/TPDS.2009.120",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::one_volume,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let rounds = (p_ranks - 1) as f64;
    let bytes = rounds * n_bytes as f64;
    Cost {
        rounds,
        bytes_sent: bytes,
        bytes_reduced: bytes,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let rank = transport.rank();
    if input.is_empty() {
        return Ok(());
    }
    // Before the wait: the copy costs nothing while the prefix is still on its way.
    transport.copy(input, output);
    if rank > 0 {
        let mut scratch = transport.take_scratch(input.len())?;
        let prefix = &mut scratch[..input.len()];
        transport.recv(rank - 1, prefix)?;
        transport.reduce_local(prefix, output)?;
        transport.give_scratch(scratch);
    }
    if rank + 1 < transport.size() {
        transport.send(rank + 1, output)?;
    }
    Ok(())
}
