//! Rabenseifner's reduce: reduce-scatter by halving the data and doubling the distance, then a binomial gather to the
//! root.
//!
//! Source: Rabenseifner, ICCS 2004, LNCS 3036:1-9, doi:10.1007/978-3-540-24685-5_1; Thakur, Rabenseifner and Gropp, IJHPCA
//!         19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative. Any root; any count, also less
//!         than `p`.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `[n]` there, `[2 n]` on other active ranks.
//! Cost:   2k rounds with 2n(1 - 1/a) bytes, half of which are combined; one more message of n bytes and one more
//!         combination where p is no power of two
//!         = (2k + f)*alpha + (2n(1 - 1/a) + fn)*beta + (n(1 - 1/a) + fn)*gamma,
//!         k = floor(log2 p), a = 2^k, f = 0 if p = a, else 1
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact where a divides the count, for
//!         every root.
//!
//! The least volume at the root in logarithmically many rounds: for medium and large sizes. Where `p` is no power of two,
//! neighbours are folded first ([`crate::schedule::fold_around`]), always into the root if it is one of the two. For five
//! ranks and root 1, `h:r..s` = part `h` of the data, combined from ranks `r..s`, parts are quarters 0 to 3:
//!
//! ```text
//!             rank 0      rank 1     rank 2      rank 3      rank 4
//! fold        ->1         0-3:0,1    0-3:2       0-3:3       0-3:4
//! round 0                 0-1:0..2   2-3:0..2    0-1:3,4     2-3:3,4     1 <-> 2, 3 <-> 4
//! round 1                 0:all      2:all       1:all       3:all       1 <-> 3, 2 <-> 4
//! round 2                 0-1        2-3         ->1         ->2         3 -> 1, 4 -> 2
//! round 3                 0-3        ->1                                 2 -> 1
//! ```
//!
//! Near partners come first, so that what a rank holds is always a run of consecutive ranks' contributions; the gather goes
//! the same way back, so that each message is one piece of memory and comes where it belongs.

use crate::patterns::halving::{self, Active};
use crate::schedule::floor_log2;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.rabenseifner";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "reduce-scatter by recursive halving, binomial gather to the root (medium and large sizes)",
    source: "Rabenseifner 2004, doi:10.1007/978-3-540-24685-5_1; Thakur et al. 2005, doi:10.1177/1094342005051521",
    needs: &[],
    parameters: &[],
    cost,
    scratch: crate::scratch::two_volumes,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let folds = if p_ranks.is_power_of_two() { 0.0 } else { 1.0 };
    let rounds = f64::from(floor_log2(p_ranks));
    let n = n_bytes as f64;
    let scattered = n - n / rounds.exp2();
    Cost {
        rounds: 2.0 * rounds + folds,
        bytes_sent: 2.0 * scattered + folds * n,
        bytes_reduced: scattered + folds * n,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input, output, root, ..
    } = arguments;
    let bytes = input.len();
    if bytes == 0 {
        return Ok(());
    }
    if transport.size() == 1 {
        transport.copy(input, output);
        return Ok(());
    }
    let active = match Active::new(transport, bytes, root) {
        Ok(active) => active,
        Err(into) => return transport.send(into, input),
    };
    let is_root = transport.rank() == root;
    let mut scratch = transport.take_scratch(if is_root { bytes } else { 2 * bytes })?;
    let (spare, rest) = scratch.split_at_mut(bytes);
    let result = if is_root { output } else { &mut rest[..bytes] };
    halving::reduce_scatter(transport, &active, input, result, spare)?;
    halving::gather(transport, &active, result)?;
    transport.give_scratch(scratch);
    Ok(())
}
