//! Linear allreduce: every rank sends its data to rank 0, which combines it and sends the result to every rank.
//!
//! Source: Traeff, Gropp and Thakur, IEEE TPDS 21(5):698-709, 2010, doi:10.1109/TPDS.2009.120 (its guideline of a reduce and a
//!         broadcast).
//! Needs:  nothing; operands are combined from the highest rank down, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; scratch `[2 n]` on rank 0.
//! Cost:   2(p-1) rounds of n bytes, combined in the first half of them, at rank 0
//!         = (p-1)*(2 alpha + 2n*beta + n*gamma)
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte). Each term is exact for every p; the sum is an
//!         upper bound, since one contribution comes in while another one is combined.
//!
//! Two hops, whatever `p`: for few bytes on few ranks, where a message is long under way. For three ranks, letters are the
//! contributions of ranks 0 to 2:
//!
//! ```text
//! round    0        1                 2          3
//!          2 -> 0   1 -> 0            0 -> 1     0 -> 2
//! rank 0   c        bc, then abc
//! ```

use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError, bcast, reduce};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.linear";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "from each rank straight to rank 0 and back (few ranks)",
    source: "Traeff, Gropp and Thakur 2010, doi:10.1109/TPDS.2009.120",
    needs: &[],
    parameters: &[],
    cost,
    scratch,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let half = (reduce::linear::INFO.cost)(setting);
    Cost {
        rounds: 2.0 * half.rounds,
        bytes_sent: 2.0 * half.bytes_sent,
        ..half
    }
}

fn scratch(setting: &Setting<'_>) -> usize {
    (reduce::linear::INFO.scratch)(setting)
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    if transport.rank() == 0 {
        reduce::linear::run(transport, rooted(input, &mut *output))?;
    } else {
        reduce::linear::run(transport, rooted(input, &mut []))?;
    }
    bcast::linear::run(transport, rooted(&[], output))
}

/// Arguments of a call whose root is rank 0.
fn rooted<'a>(input: &'a [u8], output: &'a mut [u8]) -> Arguments<'a> {
    Arguments {
        input,
        output,
        input_blocks: &[],
        output_blocks: &[],
        root: 0,
        parameters: &[],
    }
}
