//! Recursive-doubling scan: each rank sends what it holds 1, 2, 4, ... ranks to the right.
//!
//! Source: Kogge and Stone, IEEE Trans. Computers C-22(8):786-793, 1973, doi:10.1109/TC.1973.5009159; on parallel
//!         machines: Hillis and Steele, CACM 29(12):1170-1183, 1986, doi:10.1145/7902.7903.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; scratch `[n]`.
//! Cost:   ceil(log2 p) rounds of n bytes, all combined
//!         = ceil(log2 p)*(alpha + n*beta + n*gamma)
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p, on the last rank.
//!
//! The fewest rounds possible, each with all the data, in both directions of a link at once: for small sizes. One
//! combination per round, where an exchange with partners (rank xor 1, 2, 4, ...) needs two: the prefix, and the
//! partners' total.
//!
//! For five ranks, letters are the contributions of ranks 0 to 4:
//!
//! ```text
//!              rank 0   rank 1   rank 2   rank 3   rank 4
//! start        a        b        c        d        e
//! distance 1   a        ab       bc       cd       de
//! distance 2   a        ab       abc      abcd     bcde
//! distance 4   a        ab       abc      abcd     abcde
//! ```

use crate::patterns::costs;
use crate::patterns::doubling::{Shift, distances};
use crate::{Algorithm, Arguments, Collective, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "scan.recursive_doubling";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Scan,
    summary: "everything held goes 1, 2, 4, ... ranks to the right (small sizes)",
    source: "Kogge and Stone 1973, doi:10.1109/TC.1973.5009159; Hillis and Steele 1986, doi:10.1145/7902.7903",
    needs: &[],
    parameters: &[],
    cost: costs::combined_by_doubling,
    scratch: crate::scratch::one_volume,
};

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if input.is_empty() {
        return Ok(());
    }
    transport.copy(input, output);
    if p == 1 {
        return Ok(());
    }
    let mut scratch = transport.take_scratch(input.len())?;
    let received = &mut scratch[..input.len()];
    for distance in distances(p) {
        let shift = Shift::new(rank, distance, p);
        shift.exchange(transport, output, received)?;
        if shift.left.is_some() {
            transport.reduce_local(received, output)?;
        }
    }
    transport.give_scratch(scratch);
    Ok(())
}
