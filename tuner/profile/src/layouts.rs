//! The layouts of a profile's communicators, by what their calls take: those that `kilter tune --profile` tunes.

use std::collections::BTreeMap;

use kilter_model::layout::Layout;

use crate::mix::Entry;

/// Least share of the time of all calls for which a layout is tuned.
const LEAST_SHARE: f64 = 0.05;

/// Most layouts that are tuned in one go; each gets an equal share of the budget.
const MOST: usize = 4;

/// Communicators of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Ranks of such a communicator.
    pub ranks: usize,
    /// Its layout; `None` if its nodes are not known, or hold different numbers of its ranks.
    pub layout: Option<Layout>,
    /// The part of the time of all calls that guidelines speak of.
    pub share: f64,
    /// True if it is tuned.
    pub is_tuned: bool,
}

/// Communicators by their share, the largest first.
#[must_use]
pub fn shares(entries: &[Entry]) -> Vec<Share> {
    let mut seconds: BTreeMap<(usize, Option<Layout>), f64> = BTreeMap::new();
    for entry in entries {
        let ranks = entry.calls.ranks.unwrap_or_default();
        let layout = entry
            .calls
            .nodes
            .zip(entry.ranks_per_node)
            .map(|(nodes, per_node)| Layout { nodes, per_node })
            .filter(|layout| layout.ranks() == ranks);
        *seconds.entry((ranks, layout)).or_insert(0.0) += entry.seconds;
    }
    let all: f64 = seconds.values().sum();
    let mut shares: Vec<Share> = seconds
        .into_iter()
        .map(|((ranks, layout), seconds)| Share {
            ranks,
            layout,
            share: if all > 0.0 { seconds / all } else { 0.0 },
            is_tuned: false,
        })
        .collect();
    shares.sort_by(|one, other| other.share.total_cmp(&one.share));
    let mut tuned = 0;
    for share in &mut shares {
        share.is_tuned = share.layout.is_some() && share.share >= LEAST_SHARE && tuned < MOST;
        tuned += usize::from(share.is_tuned);
    }
    // Somebody who asks for one profile wants something tuned, and the number of ranks is known.
    if tuned == 0
        && let Some(first) = shares.first_mut()
    {
        first.is_tuned = true;
    }
    shares
}

#[cfg(test)]
mod tests {
    use kilter_model::config::mix::Calls;

    use super::*;

    fn entry(ranks: usize, (nodes, per_node): (usize, usize), seconds: f64) -> Entry {
        let known = |number: usize| (number > 0).then_some(number);
        Entry {
            calls: Calls {
                function: "bcast".to_owned(),
                bytes: (8, 8),
                count: 1.0,
                seconds: None,
                ranks: Some(ranks),
                nodes: known(nodes),
            },
            ranks_per_node: known(per_node),
            seconds,
            callers: ranks,
        }
    }

    fn tuned(entries: &[Entry]) -> Vec<String> {
        let shares = shares(entries);
        let tuned = shares.iter().filter(|share| share.is_tuned);
        tuned
            .map(|share| match share.layout {
                Some(layout) => layout.to_string(),
                None => format!("{} ranks", share.ranks),
            })
            .collect()
    }

    #[test]
    fn what_takes_time_is_tuned_the_dearest_first() {
        let entries = [
            entry(8, (4, 2), 3.0),
            entry(4, (4, 1), 5.0),
            entry(8, (4, 2), 4.0),
            entry(2, (1, 2), 0.3),
            // Three ranks on one node and one on another.
            entry(4, (2, 3), 2.0),
            entry(6, (0, 0), 1.0),
        ];
        assert_eq!(tuned(&entries), ["4x2", "4x1"]);
        let all = shares(&entries);
        let total: f64 = all.iter().map(|share| share.share).sum();
        assert!((total - 1.0).abs() < 1e-12, "{all:?}");
        assert_eq!(all.iter().map(|share| share.ranks).collect::<Vec<_>>(), [8, 4, 4, 6, 2]);
    }

    #[test]
    fn there_are_not_more_than_the_budget_bears_and_not_none() {
        let many: Vec<Entry> = (1..=6).map(|nodes| entry(2 * nodes, (nodes, 2), 1.0)).collect();
        assert_eq!(tuned(&many).len(), MOST);
        assert_eq!(tuned(&[entry(6, (0, 0), 1.0)]), ["6 ranks"]);
        assert!(tuned(&[]).is_empty());
    }
}
