//! The pairs of hosts whose messages are measured.
//!
//! Few hosts are measured each with each. Among many, each is measured with its neighbours at a few distances around a ring, so that the number
//! of pairs grows with the hosts and not with their square. Every host is in as many pairs as any other.

/// Most hosts that are measured each with each.
const MOST_COMPLETE: usize = 12;

/// Distances around the ring where there are more hosts; each gives a host two pairs.
const DISTANCES: usize = 3;

/// Pairs of so many hosts, the lower number first.
#[must_use]
pub fn pairs(hosts: usize) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = if hosts <= MOST_COMPLETE {
        (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b))).collect()
    } else {
        let around = |distance: usize| {
            let pair = move |a: usize| {
                let b = (a + distance) % hosts;
                (a.min(b), a.max(b))
            };
            (0..hosts).map(pair)
        };
        distances(hosts).into_iter().flat_map(around).collect()
    };
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Distances around a ring of so many hosts: neighbours, and hosts of other switches.
fn distances(hosts: usize) -> Vec<usize> {
    // Half of the ring would give each host one pair and not two.
    let most = (hosts - 1) / 2;
    let spread = |step: usize| 1 + step * (most - 1) / (DISTANCES - 1);
    (0..DISTANCES).map(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_each(hosts: usize) -> Vec<usize> {
        let mut counts = vec![0; hosts];
        for (a, b) in pairs(hosts) {
            assert!(a < b && b < hosts);
            counts[a] += 1;
            counts[b] += 1;
        }
        counts
    }

    #[test]
    fn every_host_is_in_as_many_pairs_as_any_other() {
        for hosts in 2..=12 {
            assert_eq!(of_each(hosts), vec![hosts - 1; hosts]);
        }
        for hosts in [13, 14, 16, 31, 64, 257] {
            assert_eq!(of_each(hosts), vec![2 * DISTANCES; hosts], "{hosts} hosts");
        }
        assert_eq!(pairs(1), []);
        assert_eq!(pairs(0), []);
    }
}
