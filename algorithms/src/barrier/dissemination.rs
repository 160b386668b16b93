//! Dissemination barrier: each rank tells those 1, 2, 4, ... ranks to its right that it, and all it has heard of, are
//! here.
//!
//! Source: Hensgen, Finkel and Manber, IJPP 17(1):1-17, 1988, doi:10.1007/BF01379320; several messages in a round: Hoefler,
//!         Mehlan, Mietke and Rehm, IPDPS 2006, doi:10.1109/IPDPS.2006.1639561.
//! Needs:  nothing.
//! Shapes: no data, no scratch.
//! Cost:   ceil(log_r p) rounds, in each of which a rank sends up to r-1 messages one after the other:
//!         M*alpha, M = sum over d = 1, r, r^2, ... < p of min(r-1, ceil(p/d) - 1)
//!         (p = ranks, r = `radix`; alpha in s); exact for every p and r. Radix 2: M = ceil(log2 p).
//!
//! Radix 2 has the fewest messages one after the other. A larger one pays `r-1` of them for fewer waits in turn: it wins
//! where a message is under way for much longer than it takes to start.
//!
//! For five ranks and radix 2, each rank writes down of whom it has heard:
//!
//! ```text
//!              rank 0   rank 1   rank 2   rank 3   rank 4
//! start        0        1        2        3        4
//! distance 1   4,0      0,1      1,2      2,3      3,4
//! distance 2   2..0     3..1     4..2     0..3     1..4
//! distance 4   all      all      all      all      all
//! ```

use crate::overlap::{Overlap, WINDOW};
use crate::schedule::absolute;
use crate::{Algorithm, Arguments, Collective, Cost, Parameter, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "barrier.dissemination";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Barrier,
    summary: "word of all that was heard goes 1, 2, 4, ... ranks to the right",
    source: "Hensgen, Finkel and Manber 1988, doi:10.1007/BF01379320; \
             Hoefler et al. 2006, doi:10.1109/IPDPS.2006.1639561",
    needs: &[],
    parameters: &[RADIX],
    cost,
    scratch: crate::scratch::none,
};

const RADIX: Parameter = Parameter {
    name: "radix",
    min: 2,
    // All receives of a round are posted before its sends.
    max: WINDOW as u64,
    default: 2,
    summary: "factor between the distances of rounds; radix - 1 messages leave a rank in each",
};

/// The distances of the rounds, each with the number of messages that a rank sends in it: to `d, 2d, 3d, ...` ranks to
/// its right, as far as these are other ranks.
#[inline]
fn rounds(p: usize, radix: usize) -> impl Iterator<Item = (usize, usize)> {
    std::iter::successors(Some(1_usize), move |distance| distance.checked_mul(radix))
        .take_while(move |&distance| distance < p)
        .map(move |distance| {
            // Without the division, which a message of no bytes would feel.
            let messages = if radix == 2 {
                1
            } else {
                (radix - 1).min((p - 1) / distance)
            };
            (distance, messages)
        })
}

#[inline]
fn radix(parameters: &[u64]) -> usize {
    usize::try_from(parameters[0]).unwrap_or(usize::MAX).max(2)
}

fn cost(setting: &Setting<'_>) -> Cost {
    let messages: usize = rounds(setting.p_ranks, radix(setting.parameters))
        .map(|(_, messages)| messages)
        .sum();
    Cost {
        rounds: messages as f64,
        ..Cost::ZERO
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let (rank, p) = (transport.rank(), transport.size());
    for (distance, messages) in rounds(p, radix(arguments.parameters)) {
        if messages == 1 {
            let (to, from) = (absolute(rank, distance, p), absolute(rank, p - distance, p));
            transport.sendrecv(to, &[], from, &mut [])?;
            continue;
        }
        let mut overlap = Overlap::new(transport);
        for nth in 1..=messages {
            overlap.receive(absolute(rank, p - nth * distance, p), &mut [])?;
        }
        for nth in 1..=messages {
            overlap.send(absolute(rank, nth * distance, p), &[])?;
        }
        overlap.finish()?;
    }
    Ok(())
}
