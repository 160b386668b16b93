//! Ranks and messages of an occurrence that are drawn.

use std::collections::BTreeSet;

use crate::model::finding::{Collective, Finding, Instance};

/// Most rows.
const MOST_RANKS: usize = 24;
/// Most arrows.
const MOST_MESSAGES: usize = 160;

/// Choice.
pub(super) struct Chosen {
    /// Ranks of the communicator, ascending.
    pub(super) ranks: Vec<u32>,
    /// Indexes of messages between them.
    pub(super) messages: Vec<usize>,
}

/// Chooses by a walk along the messages that begins where the collective does, or at the root where its data go, and takes ranks in
/// as messages come to them. So what is drawn hangs together.
pub(super) fn choose(finding: &Finding, instance: &Instance) -> Chosen {
    let mut walk: Vec<usize> = (0..instance.messages.len()).collect();
    if matches!(finding.collective, Collective::Gather | Collective::Reduce) {
        walk.sort_by_key(|at| std::cmp::Reverse(instance.messages[*at].received_ns));
    } else {
        walk.sort_by_key(|at| instance.messages[*at].sent_ns);
    }
    let mut ranks = BTreeSet::new();
    if finding.ranks.len() <= MOST_RANKS {
        ranks.extend(&finding.ranks);
    } else if let Some(root) = instance.root {
        ranks.insert(root);
    }
    let mut messages = Vec::new();
    for at in walk {
        let ends = [instance.messages[at].from, instance.messages[at].to];
        let new: BTreeSet<u32> = ends.into_iter().filter(|rank| !ranks.contains(rank)).collect();
        if messages.len() < MOST_MESSAGES && ranks.len() + new.len() <= MOST_RANKS {
            ranks.extend(new);
            messages.push(at);
        }
    }
    messages.sort_unstable();
    Chosen {
        ranks: ranks.into_iter().collect(),
        messages,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::model::finding::Sent;

    fn messages(pairs: impl Iterator<Item = (u32, u32)>) -> Vec<Sent> {
        let one = |(at, (from, to)): (u64, (u32, u32))| fixture::sent(from, to, at * 10, at * 10 + 5);
        (0..).zip(pairs).map(one).collect()
    }

    #[test]
    fn few_are_all_drawn() {
        let finding = fixture::finding(messages((1..4).map(|to| (0, to))), 4);
        let chosen = choose(&finding, &finding.instances[0]);
        assert_eq!((chosen.ranks, chosen.messages), (vec![0, 1, 2, 3], vec![0, 1, 2]));
    }

    #[test]
    fn of_many_those_that_hang_together_with_the_root() {
        let ring = fixture::finding(messages((0..999).map(|from| (from, from + 1))), 1000);
        let chosen = choose(&ring, &ring.instances[0]);
        assert_eq!(chosen.ranks, (0..24).collect::<Vec<u32>>());
        assert_eq!(chosen.messages, (0..23).collect::<Vec<usize>>());
        // The last messages of a gather are those to its root.
        let mut gather = fixture::finding(messages((0..999).map(|from| (999 - from, 998 - from))), 1000);
        gather.collective = Collective::Gather;
        let chosen = choose(&gather, &gather.instances[0]);
        assert_eq!(chosen.ranks, (0..24).collect::<Vec<u32>>());
        let pairs = (0..20).flat_map(|from| (0..20).map(move |to| (from, to)));
        let dense = fixture::finding(messages(pairs), 20);
        assert_eq!(choose(&dense, &dense.instances[0]).messages.len(), MOST_MESSAGES);
    }
}
