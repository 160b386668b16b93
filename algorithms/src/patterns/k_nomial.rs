//! Code that gather and scatter over the tree of [`crate::schedule::Splitting`] share.

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

/// All blocks but the root's own through the root's link, a message for each of its children.
pub(crate) fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting {
        p_ranks,
        n_bytes,
        parameters,
        ..
    } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    Cost {
        rounds: splitting_rounds(p_ranks, parameters[0] as usize) as f64,
        bytes_sent: n_bytes as f64 * (p_ranks - 1) as f64 / p_ranks as f64,
        bytes_reduced: 0.0,
    }
}

/// The blocks of the largest subtree that is not the root's.
pub(crate) fn scratch(setting: &Setting<'_>) -> usize {
    let radix = usize::try_from(setting.parameters[0]).unwrap_or(usize::MAX).max(2);
    subtree(setting, setting.p_ranks.div_ceil(radix))
}
