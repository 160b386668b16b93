//! Costs of rows that move the same data in as many rounds, though by other ways.
//!
//! Symbols: `n` bytes of the setting, `p` ranks; alpha in s, beta and gamma in s/byte. A call without data costs nothing.

use crate::schedule::ceil_log2;
use crate::shared_memory::{steps, used};
use crate::{Cost, Setting};

/// Each block but one by itself, one after the other: `(p-1)*(alpha + n/p*beta)`.
pub(crate) fn block_by_block(setting: &Setting<'_>) -> Cost {
    of_data(setting, |p, n| {
        let messages = p - 1.0;
        Cost {
            rounds: messages,
            bytes_sent: messages * (n / p),
            bytes_reduced: 0.0,
        }
    })
}

/// Each block but one combined with what comes in its message, one after the other: `(p-1)*(alpha + n/p*beta + n/p*gamma)`.
pub(crate) fn combined_block_by_block(setting: &Setting<'_>) -> Cost {
    of_data(setting, |p, n| {
        let messages = p - 1.0;
        let bytes = messages * n / p;
        Cost {
            rounds: messages,
            bytes_sent: bytes,
            bytes_reduced: bytes,
        }
    })
}

/// The same, and each block of the result but one by itself afterwards: `(p-1)*(2*alpha + 2n/p*beta + n/p*gamma)`.
pub(crate) fn combined_and_collected(setting: &Setting<'_>) -> Cost {
    of_data(setting, |p, n| {
        let (steps, block_bytes) = (p - 1.0, n / p);
        Cost {
            rounds: 2.0 * steps,
            bytes_sent: 2.0 * steps * block_bytes,
            bytes_reduced: steps * block_bytes,
        }
    })
}

/// Each block but one once, in rounds of ever more blocks: `ceil(log2 p)*alpha + (p-1)*n/p*beta`.
pub(crate) fn blocks_by_doubling(setting: &Setting<'_>) -> Cost {
    let rounds = f64::from(ceil_log2(setting.p_ranks));
    of_data(setting, |p, n| Cost {
        rounds,
        bytes_sent: (p - 1.0) * (n / p),
        bytes_reduced: 0.0,
    })
}

/// All data in every round: `ceil(log2 p)*(alpha + n*beta)`.
pub(crate) fn all_by_doubling(setting: &Setting<'_>) -> Cost {
    let rounds = f64::from(ceil_log2(setting.p_ranks));
    of_data(setting, |_, n| Cost {
        rounds,
        bytes_sent: rounds * n,
        bytes_reduced: 0.0,
    })
}

/// The same, where all of it is combined as well: `ceil(log2 p)*(alpha + n*beta + n*gamma)`.
pub(crate) fn combined_by_doubling(setting: &Setting<'_>) -> Cost {
    let messages = all_by_doubling(setting);
    Cost {
        bytes_reduced: messages.bytes_sent,
        ..messages
    }
}

/// All data through a slot of shared memory, `s` bytes at a time, while the segment before is copied out: `ceil(n/s)*alpha + (min(n, s) + n)*beta`.
pub(crate) fn all_through_a_slot(setting: &Setting<'_>) -> Cost {
    if setting.p_ranks == 1 {
        return Cost::ZERO;
    }
    let segment = used(setting.parameters);
    Cost {
        rounds: steps(setting.n_bytes, segment),
        bytes_sent: (setting.n_bytes.min(segment) + setting.n_bytes) as f64,
        bytes_reduced: 0.0,
    }
}

/// Inputs copied into slots of shared memory and out of them, `s` bytes at a time, where the last rank combines all of them itself:
/// `ceil(n/s)*alpha + 2n*beta + (p-1)n*gamma`.
pub(crate) fn combined_in_shared_memory(setting: &Setting<'_>) -> Cost {
    if setting.p_ranks == 1 {
        return Cost::ZERO;
    }
    of_data(setting, |p, n| Cost {
        rounds: steps(setting.n_bytes, used(setting.parameters)),
        bytes_sent: 2.0 * n,
        bytes_reduced: (p - 1.0) * n,
    })
}

/// The cost of a call by its ranks and bytes.
fn of_data(setting: &Setting<'_>, cost: impl FnOnce(f64, f64) -> Cost) -> Cost {
    if setting.n_bytes == 0 {
        return Cost::ZERO;
    }
    cost(setting.p_ranks as f64, setting.n_bytes as f64)
}
