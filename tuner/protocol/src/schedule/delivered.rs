//! The data of a schedule: which bytes of whom lie where, once it was carried out.

use std::collections::BTreeMap;
use std::ops::Range;

use super::walk::{Happens, walk};
use super::{Message, Schedule};

/// More pieces than this are not followed.
const MOST_PIECES: usize = 1 << 18;

/// Bytes of a rank's memory that were one rank's to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Begin in the memory.
    pub at: u64,
    /// Length.
    pub bytes: u64,
    /// The rank in whose memory they lay at first.
    pub rank: usize,
    /// Begin in that memory.
    pub origin: u64,
}

/// Memory of a rank, as pieces by their ends: they lie one behind the other.
#[derive(Debug, Clone)]
struct Memory(BTreeMap<u64, Piece>);

impl Memory {
    /// The memory of a rank to begin with.
    fn own(rank: usize, bytes: u64) -> Memory {
        let all = Piece {
            at: 0,
            bytes,
            rank,
            origin: 0,
        };
        Memory((bytes > 0).then_some((bytes, all)).into_iter().collect())
    }

    /// Pieces of a range, cut at its ends.
    fn read(&self, range: Range<u64>) -> Vec<Piece> {
        if range.is_empty() {
            return Vec::new();
        }
        let within = self.0.range(range.start + 1..).map(|(_, piece)| *piece);
        within
            .take_while(|piece| piece.at < range.end)
            .map(|piece| {
                let begin = piece.at.max(range.start);
                Piece {
                    at: begin,
                    bytes: (piece.at + piece.bytes).min(range.end) - begin,
                    rank: piece.rank,
                    origin: piece.origin + (begin - piece.at),
                }
            })
            .collect()
    }

    /// Puts pieces, which lie one behind the other from 0 on, to a place.
    fn write(&mut self, at: u64, pieces: &[Piece]) {
        let bytes: u64 = pieces.iter().map(|piece| piece.bytes).sum();
        let range = at..at + bytes;
        if range.is_empty() {
            return;
        }
        let cut: Vec<Piece> = self
            .0
            .range(range.start + 1..)
            .map(|(_, piece)| *piece)
            .take_while(|piece| piece.at < range.end)
            .collect();
        for piece in cut {
            let end = piece.at + piece.bytes;
            self.0.remove(&end);
            let rest = [piece.at..range.start, range.end..end];
            for kept in rest.into_iter().filter(|kept| !kept.is_empty()) {
                let (at, bytes) = (kept.start, kept.end - kept.start);
                let origin = piece.origin + (at - piece.at);
                let kept = Piece {
                    at,
                    bytes,
                    origin,
                    ..piece
                };
                self.0.insert(at + bytes, kept);
            }
        }
        for piece in pieces {
            let moved = Piece {
                at: at + piece.at,
                ..*piece
            };
            self.0.insert(moved.at + moved.bytes, moved);
        }
    }
}

impl Schedule {
    /// Content of each rank's memory after the schedule was carried out so many times; none if the data are cut into too many pieces to be
    /// followed, or combined. The schedule is checked.
    #[must_use]
    pub fn delivered(&self, times: usize) -> Option<Vec<Vec<Piece>>> {
        if self.combines() {
            return None;
        }
        let own = self.memory.iter().enumerate();
        let mut memories: Vec<Memory> = own.map(|(rank, &bytes)| Memory::own(rank, bytes)).collect();
        for _ in 0..times {
            let mut under_way: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
            let mut pieces = 0;
            let walked = walk(self, &mut |happens| match happens {
                Happens::Sent(number) if pieces <= MOST_PIECES => {
                    let Message {
                        from, bytes, from_at, ..
                    } = self.messages[number];
                    let mut data = memories[from as usize].read(from_at..from_at + bytes);
                    data.iter_mut().for_each(|piece| piece.at -= from_at);
                    pieces += data.len();
                    under_way.insert(number, data);
                }
                Happens::Received(number) => {
                    let Message { to, to_at, .. } = self.messages[number];
                    if let Some(data) = under_way.remove(&number) {
                        memories[to as usize].write(to_at, &data);
                    }
                }
                Happens::Sent(_) | Happens::Combined(..) => {}
            });
            if walked.is_err() || pieces > MOST_PIECES {
                return None;
            }
        }
        let all = memories.into_iter().map(|memory| memory.0.into_values().collect());
        Some(all.collect())
    }
}

/// Bytes of `rank` that lie among pieces, each counted once.
#[must_use]
pub fn covered(pieces: &[Piece], rank: usize) -> u64 {
    let own = pieces.iter().filter(|piece| piece.rank == rank);
    let mut ranges: Vec<(u64, u64)> = own.map(|piece| (piece.origin, piece.origin + piece.bytes)).collect();
    ranges.sort_unstable();
    let mut end = 0;
    let mut sum = 0;
    for (begin, until) in ranges {
        let begin = begin.max(end);
        sum += until.saturating_sub(begin);
        end = end.max(until);
    }
    sum
}
