//! Code that rows over k-nomial trees share: those of [`crate::schedule::Splitting`], which gather and scatter blocks, and those of
//! [`crate::schedule::Grouping`], on which each message has all the data.

use crate::overlap::send_each;
use crate::schedule::{Grouping, splitting_rounds};
use crate::scratch::subtree;
use crate::{Cost, Parameter, Setting, Transport, TransportError};

/// The tunable of k-nomial trees.
pub(crate) const RADIX: Parameter = Parameter {
    name: "radix",
    min: 2,
    max: 64,
    default: 4,
    summary: "parts into which the ranks are split, again and again: 2 is the binomial tree, p or more linear",
};

/// The radix of a binomial tree.
pub(crate) const BINOMIAL: usize = 2;

/// The radix among the parameters of a row whose first one it is.
pub(crate) fn radix(parameters: &[u64]) -> usize {
    usize::try_from(parameters[0]).unwrap_or(usize::MAX).max(BINOMIAL)
}

/// Gives every rank the root's `data`. The messages of a level go out at once, the largest groups' first: their data have the longest way
/// to go, and the next level then takes no share of the link from them.
#[inline]
pub(crate) fn broadcast<T: Transport>(
    transport: &mut T,
    root: usize,
    radix: usize,
    data: &mut [u8],
) -> Result<(), TransportError> {
    let place = Grouping::new(transport.rank(), root, transport.size(), radix);
    if let Some(parent) = place.parent {
        transport.recv(parent, data)?;
    }
    let data: &[u8] = data;
    for level in place.levels().rev() {
        send_each(transport, place.children_on(level).map(|child| (child.start, data)))?;
    }
    Ok(())
}

/// All data in each message of the root's, to or from one of its children.
pub(crate) fn cost_of_all_each_round(setting: &Setting<'_>) -> Cost {
    if setting.n_bytes == 0 {
        return Cost::ZERO;
    }
    let rounds = splitting_rounds(setting.p_ranks, radix(setting.parameters)) as f64;
    Cost {
        rounds,
        bytes_sent: rounds * setting.n_bytes as f64,
        bytes_reduced: 0.0,
    }
}

/// All blocks but the root's own through the root's link, a message for each of its children.
pub(crate) fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    Cost {
        rounds: splitting_rounds(p_ranks, radix(setting.parameters)) as f64,
        bytes_sent: n_bytes as f64 * (p_ranks - 1) as f64 / p_ranks as f64,
        bytes_reduced: 0.0,
    }
}

/// The blocks of the largest subtree that is not the root's.
pub(crate) fn scratch(setting: &Setting<'_>) -> usize {
    subtree(setting, setting.p_ranks.div_ceil(radix(setting.parameters)))
}
