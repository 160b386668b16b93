//! Rabenseifner's allreduce: reduce-scatter by halving the data and doubling the distance, then the same way back.
//!
//! Source: Rabenseifner, ICCS 2004, LNCS 3036:1-9, doi:10.1007/978-3-540-24685-5_1; Thakur, Rabenseifner and Gropp, IJHPCA
//!         19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative. Any count, also less than `p`.
//! Shapes: input `[n]`, output `[n]`; scratch `[n]`.
//! Cost:   2k rounds with 2n(1 - 1/a) bytes, half of which are combined; two more messages of n bytes and one more
//!         combination where p is no power of two
//!         = (2k + 2f)*alpha + (2n(1 - 1/a) + 2fn)*beta + (n(1 - 1/a) + fn)*gamma,
//!         k = floor(log2 p), a = 2^k, f = 0 if p = a, else 1
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact where a divides the count.
//!
//! The least volume in logarithmically many rounds: for medium and large sizes. Where `p` is no power of two, neighbours
//! are folded first ([`crate::schedule::fold`]) and get the result last. For five ranks, `h:r..s` = part `h` of the data,
//! combined from ranks `r..s`, parts are quarters 0 to 3:
//!
//! ```text
//!             rank 0      rank 1     rank 2      rank 3      rank 4
//! fold        0-3:0,1     ->0        0-3:2       0-3:3       0-3:4
//! round 0     0-1:0..2               2-3:0..2    0-1:3,4     2-3:3,4     0 <-> 2, 3 <-> 4
//! round 1     0:all                  2:all       1:all       3:all       0 <-> 3, 2 <-> 4
//! round 2     0-1                    2-3         0-1         2-3         0 <-> 3, 2 <-> 4
//! round 3     0-3                    0-3         0-3         0-3         0 <-> 2, 3 <-> 4
//! unfold      0-3         0-3                                            0 -> 1
//! ```
//!
//! Near partners come first, so that what a rank holds is always a run of consecutive ranks' contributions.

use crate::patterns::halving::{self, Active};
use crate::schedule::floor_log2;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.rabenseifner";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "reduce-scatter by recursive halving, allgather by doubling (medium and large sizes)",
    source: "Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1; Thakur et al. 2005, doi:10.1177/1094342005051521",
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
    let folds = if p_ranks.is_power_of_two() { 0.0 } else { 1.0 };
    let rounds = floor_log2(p_ranks);
    let n = n_bytes as f64;
    let scattered = n - n / f64::from(rounds).exp2();
    Cost {
        rounds: 2.0 * f64::from(rounds) + 2.0 * folds,
        bytes_sent: 2.0 * scattered + 2.0 * folds * n,
        bytes_reduced: scattered + folds * n,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    if transport.size() == 1 {
        transport.copy(input, output);
        return Ok(());
    }
    let active = match Active::new(transport, input.len(), 0) {
        Ok(active) => active,
        Err(into) => {
            transport.send(into, input)?;
            return transport.recv(into, output);
        }
    };
    let mut scratch = transport.take_scratch(input.len())?;
    halving::reduce_scatter(transport, &active, input, output, &mut scratch[..input.len()])?;
    transport.give_scratch(scratch);
    halving::allgather(transport, &active, output)?;
    active
        .folded()
        .map_or(Ok(()), |neighbour| transport.send(neighbour, output))
}
