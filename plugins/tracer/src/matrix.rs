//! Messages to each rank of the world: numbers and bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::table::increase;

struct Peer {
    messages: AtomicU64,
    bytes: AtomicU64,
}

/// A line of the matrix of messages: this rank's.
pub(crate) struct Line {
    peers: Vec<Peer>,
    shared: bool,
    lost: AtomicU64,
}

impl Line {
    /// A line for so many ranks; one that counts every message as lost if that takes more than `bytes`.
    pub(crate) fn new(ranks: usize, bytes: usize, shared: bool) -> Line {
        let fits = ranks
            .checked_mul(size_of::<Peer>())
            .is_some_and(|needed| needed <= bytes);
        let peer = |_| Peer {
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        Line {
            peers: (0..if fits { ranks } else { 0 }).map(peer).collect(),
            shared,
            lost: AtomicU64::new(0),
        }
    }

    /// Adds a message to a world rank; `None` for a receiver outside of the world.
    #[inline]
    pub(crate) fn add(&self, to: Option<u32>, bytes: u64) {
        match to.and_then(|to| self.peers.get(to as usize)) {
            Some(peer) => {
                increase(&peer.messages, 1, self.shared);
                increase(&peer.bytes, bytes, self.shared);
            }
            None => increase(&self.lost, 1, self.shared),
        }
    }

    /// Messages that are in no peer's numbers.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Receiver, messages and bytes, where there are any.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        (0..).zip(&self.peers).filter_map(|(to, peer)| {
            let messages = peer.messages.load(Ordering::Relaxed);
            (messages > 0).then(|| (to, messages, peer.bytes.load(Ordering::Relaxed)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn messages_are_counted_by_their_receivers() {
        let line = Line::new(3, 1024, false);
        for (to, bytes) in [(Some(2), 8), (Some(2), 4), (Some(0), 0), (None, 5), (Some(3), 5)] {
            line.add(to, bytes);
        }
        assert_eq!(line.messages().collect::<Vec<_>>(), [(0, 1, 0), (2, 2, 12)]);
        assert_eq!(line.lost(), 2);
        let none = Line::new(1000, 1024, true);
        none.add(Some(1), 8);
        assert_eq!((none.messages().count(), none.lost()), (0, 1));
    }
}
