//! Recursive-doubling allreduce: partners at distance 1, 2, 4, ... exchange and combine everything they hold.
//!
//! Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1):49-66, 2005, doi:10.1177/1094342005051521.
//! Needs:  nothing; operands stay in rank order, so the operator need not be commutative.
//! Shapes: input `[n]`, output `[n]`; scratch `[n]`.
//! Cost:   k = floor(log2 p) rounds of n bytes, all combined; one more combination and two more messages where p is no
//!         power of two
//!         = (k + 2f)*alpha + (k + 2f)n*beta + (k + f)n*gamma, f = 0 if p is a power of two, else 1
//!         (n = bytes per rank, p = ranks; alpha in s, beta and gamma in s/byte); exact for every p.
//!
//! The fewest rounds possible, each with all the data: for small sizes.
//!
//! If `p` is no power of two, neighbours are folded first ([`crate::schedule::fold`]), and the folded ranks get the result in
//! a last message. Example with five ranks; letters are the contributions of ranks 0 to 4:
//!
//! ```text
//!             rank 0   rank 1   rank 2   rank 3   rank 4
//! fold        ab       b ->0    c        d        e
//! round 0     abc               abc      de       de       0 <-> 2, 3 <-> 4
//! round 1     abcde             abcde    abcde    abcde    0 <-> 3, 2 <-> 4
//! unfold      abcde    abcde                               0 -> 1
//! ```
//!
//! A rank's partial result always combines the contributions of consecutive ranks, so that non-commutative operators work. The
//! partner's part is the left operand if the partner is the lower rank, else the right one.

use crate::schedule::{Fold, doubling_partners, floor_log2, fold};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.recursive_doubling";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "pairwise exchange of everything at distance 1, 2, 4, ... (small sizes)",
    source: "Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521",
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
    let rounds = f64::from(floor_log2(p_ranks));
    Cost {
        rounds: rounds + 2.0 * folds,
        bytes_sent: (rounds + 2.0 * folds) * n_bytes as f64,
        bytes_reduced: (rounds + folds) * n_bytes as f64,
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments { input, output, .. } = arguments;
    let (rank, p) = (transport.rank(), transport.size());
    if input.is_empty() {
        return Ok(());
    }
    let (number, folded) = match fold(rank, p) {
        Fold::Active { number, folded } => (number, folded),
        Fold::Folded { into } => {
            transport.send(into, input)?;
            return transport.recv(into, output);
        }
    };

    let mut scratch = transport.take_scratch(input.len())?;
    let (mut held, mut spare) = (&mut *output, &mut scratch[..input.len()]);
    // A combination with a higher partner lands in the buffer that its data came in. Started in the right one of the
    // two, the data ends in `output` without a copy.
    if doubling_partners(number, p).filter(|&partner| partner > rank).count() % 2 == 1 {
        std::mem::swap(&mut held, &mut spare);
    }
    match folded {
        Some(neighbour) => {
            transport.recv(neighbour, held)?;
            transport.reduce_local(input, held)?;
        }
        None => transport.copy(input, held),
    }
    for partner in doubling_partners(number, p) {
        transport.sendrecv(partner, held, partner, spare)?;
        if partner < rank {
            transport.reduce_local(spare, held)?;
        } else {
            transport.reduce_local(held, spare)?;
            std::mem::swap(&mut held, &mut spare);
        }
    }
    transport.give_scratch(scratch);
    folded.map_or(Ok(()), |neighbour| transport.send(neighbour, output))
}
