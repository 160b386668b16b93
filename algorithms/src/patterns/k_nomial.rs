//! Code that rows over k-nomial trees share: those of [`crate::schedule::Splitting`], which gather and scatter blocks, and those of
//! [`crate::schedule::Grouping`], on which each message has all the data.

use crate::schedule::splitting_rounds;
use crate::scratch::subtree;
use crate::{Cost, Parameter, Setting};

/// The tunable of k-nomial trees.
pub(crate) const RADIX: Parameter = Parameter {
    name: "radix",
    min: 2,
    max: 64,
    default: 4,
    summary: "parts into which the ranks are split, again and again: 2 is the binomial tree, p or more linear",
};

/// The radix among the parameters of a row whose first one it is.
pub(crate) fn radix(parameters: &[u64]) -> usize {
    usize::try_from(parameters[0]).unwrap_or(usize::MAX).max(2)
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
