//! Arrival pattern of an application: the offsets at which its ranks come to collective calls, on the average.
//!
//! A rank that comes early waits for the last one. So the mean time that a rank waits in a collective call says how long before the last rank it
//! comes, and its offset is the longest mean wait of any rank minus its own ([`crate::waiting`] says how waiting is known).

use std::collections::BTreeMap;

use kilter_protocol::functions::{Kind, kind};

use crate::profile::Profile;
use crate::waiting;

/// Collective calls on a communicator.
#[derive(Debug, Default)]
struct Calls {
    /// Seconds of all ranks in them.
    seconds: f64,
    /// Calls and seconds of waiting of each rank.
    of_ranks: BTreeMap<u32, (u64, f64)>,
}

/// Seconds of each rank after the first one, on the communicator of so many ranks in whose collective calls the program spends most time. `None`
/// where no such communicator has collective calls of all its ranks.
#[must_use]
pub fn offsets(profile: &Profile, ranks: usize) -> Option<Vec<f64>> {
    let waits = waiting::seconds(profile);
    let mut found: BTreeMap<usize, Calls> = BTreeMap::new();
    for (calls, wait) in profile.calls.iter().zip(waits) {
        let Some(number) = calls.communicator.filter(|_| kind(&calls.function) == Kind::Collective) else {
            continue;
        };
        let communicator = profile.communicators.get(number)?;
        if communicator.ranks as usize != ranks {
            continue;
        }
        let on = found.entry(number).or_default();
        on.seconds += calls.seconds;
        let of_rank = on.of_ranks.entry(calls.rank).or_default();
        *of_rank = (of_rank.0 + calls.calls, of_rank.1 + wait);
    }
    let complete = found.into_values().filter(|on| on.of_ranks.len() == ranks);
    let dearest = complete.max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let means: Vec<f64> = dearest
        .of_ranks
        .values()
        .map(|(calls, wait)| wait / (*calls).max(1) as f64)
        .collect();
    let longest = means.iter().copied().fold(0.0, f64::max);
    Some(means.iter().map(|mean| longest - mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn who_waits_longest_comes_first() {
        // 100 allreduces: rank 1 waits 3 s in all of them, rank 0 not at all.
        let found = offsets(&fixture::profile(), 2).unwrap();
        assert_eq!(found.len(), 2);
        assert!(found[0] > 0.0 && found[1] == 0.0, "{found:?}");
    }

    #[test]
    fn another_number_of_ranks_has_no_pattern() {
        assert_eq!(offsets(&fixture::profile(), 3), None);
    }
}
