//! Flows of bytes between ranks: the data movement of a benchmark, as all ranks see it.

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    /// The rank that gives.
    pub(super) from: usize,
    /// The rank that gets.
    pub(super) to: usize,
    /// Start in the data that `from` gives, in bytes.
    pub(super) begin: usize,
    /// Its length in bytes of data.
    pub(super) bytes: usize,
}

/// Extent of a benchmark, from which its flows follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Bytes that a rank gives.
    pub(super) bytes: usize,
    /// The number of ranks, two or more.
    pub(super) p_ranks: usize,
    /// Messages under way at once.
    pub(super) requests: usize,
}

impl Extent {
    /// The rank that works with rank 0: on several hosts it is on another one, as launchers place ranks.
    pub(super) fn last(self) -> usize {
        self.p_ranks - 1
    }

    /// A flow of all bytes in one message.
    pub(super) fn whole(self, from: usize, to: usize) -> Flow {
        Flow {
            from,
            to,
            begin: 0,
            bytes: self.bytes,
        }
    }

    /// The bytes of rank 0 in `parts` messages of one size, the last of which takes the rest; dealt to `peers` ranks in turn, the last rank
    /// first.
    pub(super) fn divided(self, parts: usize, peers: usize) -> Vec<Flow> {
        let size = self.bytes / parts.max(1);
        (0..parts)
            .map(|part| {
                let begin = part * size;
                Flow {
                    from: 0,
                    to: self.last() - part % peers.max(1),
                    begin,
                    bytes: if part + 1 == parts { self.bytes - begin } else { size },
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divided_bytes_are_all_there_once_and_the_last_message_takes_the_rest() {
        for (bytes, parts, peers) in [(0, 3, 1), (1, 4, 1), (100_000, 1, 1), (100_001, 7, 3), (5, 3, 3)] {
            let extent = Extent {
                bytes,
                p_ranks: 4,
                requests: parts,
            };
            let flows = extent.divided(parts, peers);
            assert_eq!(flows.len(), parts);
            let mut next = 0;
            for flow in &flows {
                assert_eq!((flow.from, flow.begin), (0, next));
                assert!((4 - peers..4).contains(&flow.to));
                next += flow.bytes;
            }
            assert_eq!(next, bytes);
            assert!(flows[..parts - 1].iter().all(|flow| flow.bytes == bytes / parts));
        }
    }
}
