//! A call, and from where each element of a rank's result comes.

use std::ops::Range;

use super::Content;
use crate::{Collective, Shape};

/// The division of a call's volume into blocks. Block `r` belongs to rank `r`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Division {
    /// All blocks are of the same length.
    Equal,
    /// One block is the whole volume.
    Lone(usize),
    /// Ever longer blocks: those of ranks below `r` hold `r (r + 1) / (p (p + 1))` of the volume, in whole units of so many elements.
    Triangle(usize),
    /// Blocks of these lengths, whose sum is the volume.
    Listed(Vec<usize>),
    /// Blocks of an alltoall: rank `from` has `[from][to]` elements for rank `to`.
    Pairs(Vec<Vec<usize>>),
}

/// A call of a collective. All lengths are in elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Number of ranks.
    pub p_ranks: usize,
    /// The root, where the collective has one.
    pub root: usize,
    /// True if ranks pass `MPI_IN_PLACE` where the standard lets them.
    pub in_place: bool,
    /// All elements that are divided into blocks, or those that one rank gives or gets where there are no blocks.
    pub volume: usize,
    /// The blocks, where the collective has some.
    pub division: Division,
}

/// From where elements of a result come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From what `rank` gives, from element `at` on.
    Given {
        /// The rank that gives it.
        rank: usize,
        /// Index in what that rank gives.
        at: usize,
    },
    /// The combination of what the lowest ranks give, in the order of ranks, from element `at` on.
    Combined {
        /// Number of ranks combined, from rank 0 on.
        ranks: usize,
        /// Index in the data that each of them gives.
        at: usize,
    },
}

/// Elements of a result that come from one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Index of the first one in the result.
    pub at: usize,
    /// Number of elements.
    pub length: usize,
    /// Their source.
    pub source: Source,
}

/// Data that a rank gives and that lies in its receive buffer before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// Index in the receive buffer's data.
    pub at: usize,
    /// Indices in the data that the rank gives.
    pub given: Range<usize>,
}

impl Call {
    /// A call that is not in place.
    #[must_use]
    pub fn new(collective: Collective, p_ranks: usize, root: usize, volume: usize, division: Division) -> Call {
        Call {
            collective,
            p_ranks,
            root,
            in_place: false,
            volume,
            division,
        }
    }

    /// The elements of a rank's block.
    #[inline]
    #[must_use]
    pub fn block(&self, rank: usize) -> Range<usize> {
        let (n, p) = (self.volume, self.p_ranks);
        match &self.division {
            Division::Equal => rank * (n / p)..(rank + 1) * (n / p),
            Division::Lone(owner) => match rank.cmp(owner) {
                std::cmp::Ordering::Less => 0..0,
                std::cmp::Ordering::Equal => 0..n,
                std::cmp::Ordering::Greater => n..n,
            },
            Division::Triangle(unit) => {
                let begin = |rank: usize| (n / unit) * (rank * (rank + 1)) / (p * (p + 1)) * unit;
                begin(rank)..begin(rank + 1)
            }
            Division::Listed(lengths) => after(lengths[..rank].iter().copied(), lengths[rank]),
            Division::Pairs(_) => panic!("blocks of pairs are no rank's"),
        }
    }

    /// The block that `from` sends to `to` in an alltoall, as indices in the data that `from` gives.
    #[inline]
    #[must_use]
    pub fn sent(&self, from: usize, to: usize) -> Range<usize> {
        match &self.division {
            Division::Pairs(lengths) => after(lengths[from][..to].iter().copied(), lengths[from][to]),
            _ => self.block(to),
        }
    }

    /// The block that `to` receives from `from` in an alltoall, as indices in the result of `to`.
    #[inline]
    #[must_use]
    pub fn received(&self, to: usize, from: usize) -> Range<usize> {
        match &self.division {
            Division::Pairs(lengths) => after(lengths[..from].iter().map(|row| row[to]), lengths[from][to]),
            _ => self.block(from),
        }
    }

    /// The rank whose block holds element `i` of what `rank` gets.
    #[inline]
    fn owner(&self, rank: usize, i: usize) -> usize {
        if matches!(self.division, Division::Equal) {
            return i / (self.volume / self.p_ranks).max(1);
        }
        // Blocks end one after the other. Halving: a look at every rank, for every element, takes minutes where there are thousands.
        let (mut low, mut high) = (0, self.p_ranks - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.received(rank, middle).end <= i {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Elements that a rank gives: those of its send buffer or, [in place](Call::own) and at the root of a broadcast, of its receive buffer.
    #[inline]
    #[must_use]
    pub fn gives(&self, rank: usize) -> usize {
        match self.collective.input() {
            Shape::Nothing => 0,
            Shape::AtRoot if rank != self.root => 0,
            Shape::Blocks => self.block(rank).len(),
            _ => match &self.division {
                Division::Pairs(lengths) => lengths[rank].iter().sum(),
                _ => self.volume,
            },
        }
    }

    /// True if the rank passes `MPI_IN_PLACE` as its send buffer.
    #[inline]
    #[must_use]
    pub fn sends_in_place(&self, rank: usize) -> bool {
        match self.collective.input() {
            _ if !self.in_place => false,
            Shape::Nothing | Shape::AtRoot => false,
            _ => self.collective.output() != Shape::AtRoot || rank == self.root,
        }
    }

    /// True if the rank passes `MPI_IN_PLACE` as its receive buffer: the root of a scatter, whose block stays where it is.
    #[inline]
    #[must_use]
    pub fn receives_in_place(&self, rank: usize) -> bool {
        let scatters = self.collective.input() == Shape::AtRoot && self.collective.output() == Shape::Blocks;
        self.in_place && scatters && rank == self.root
    }

    /// Elements of a rank's receive buffer; 0 where that means nothing on this rank.
    #[inline]
    #[must_use]
    pub fn room(&self, rank: usize) -> usize {
        match self.collective.output() {
            Shape::Nothing => 0,
            Shape::AtRoot if rank != self.root => 0,
            _ if self.receives_in_place(rank) => 0,
            Shape::Blocks if self.sends_in_place(rank) => self.volume,
            Shape::Blocks => self.block(rank).len(),
            _ => match &self.division {
                Division::Pairs(lengths) => lengths.iter().map(|row| row[rank]).sum(),
                _ => self.volume,
            },
        }
    }

    /// Elements of a rank's result, with which its receive buffer begins.
    #[inline]
    #[must_use]
    pub fn result(&self, rank: usize) -> usize {
        match self.collective.output() {
            Shape::ExclusivePrefix if rank == 0 => 0,
            Shape::Blocks if !self.receives_in_place(rank) => self.block(rank).len(),
            _ => self.room(rank),
        }
    }

    /// Elements of a rank's receive buffer that may hold anything after the call: all of the lowest rank's in an exclusive scan, and what was
    /// given in place beyond the result. An algorithm of ours leaves the former as they were.
    #[inline]
    #[must_use]
    pub fn undefined(&self, rank: usize) -> Range<usize> {
        self.result(rank)..self.room(rank)
    }

    /// The data that a rank gives and that lies in its receive buffer before the call: a root's broadcast, or a call in place. `None` otherwise.
    #[inline]
    #[must_use]
    pub fn own(&self, rank: usize) -> Option<Own> {
        let given = 0..self.gives(rank);
        let broadcasts = self.collective == Collective::Bcast && rank == self.root;
        if !broadcasts && !self.sends_in_place(rank) {
            return None;
        }
        let at = match self.collective.input() {
            Shape::Blocks => self.block(rank).start,
            _ => 0,
        };
        Some(Own { at, given })
    }

    /// The piece of a rank's result that holds element `i`.
    #[inline]
    #[must_use]
    pub fn piece(&self, rank: usize, i: usize) -> Piece {
        let piece = |block: Range<usize>, source| Piece {
            at: block.start,
            length: block.len(),
            source,
        };
        let own = || self.block(rank);
        let whole = |source| piece(0..self.volume, source);
        let all = self.p_ranks;
        match self.collective {
            Collective::Allgather | Collective::Allgatherv | Collective::Gather | Collective::Gatherv => {
                let owner = self.owner(rank, i);
                piece(self.block(owner), Source::Given { rank: owner, at: 0 })
            }
            Collective::Alltoall | Collective::Alltoallv => {
                let from = self.owner(rank, i);
                let at = self.sent(from, rank).start;
                piece(self.received(rank, from), Source::Given { rank: from, at })
            }
            Collective::Scatter | Collective::Scatterv => {
                let (rank, at) = (self.root, own().start);
                piece(0..own().len(), Source::Given { rank, at })
            }
            Collective::ReduceScatter | Collective::ReduceScatterBlock => {
                let at = own().start;
                piece(0..own().len(), Source::Combined { ranks: all, at })
            }
            // Nothing is expected of a barrier's buffers: its volume is nothing.
            Collective::Barrier => whole(Source::Given { rank, at: 0 }),
            Collective::Bcast => whole(Source::Given { rank: self.root, at: 0 }),
            Collective::Allreduce | Collective::Reduce => whole(Source::Combined { ranks: all, at: 0 }),
            Collective::Exscan => whole(Source::Combined { ranks: rank, at: 0 }),
            Collective::Scan | Collective::ReduceLocal => whole(Source::Combined { ranks: rank + 1, at: 0 }),
        }
    }

    /// The pieces of a rank's result, one behind the other.
    pub fn pieces(&self, rank: usize) -> impl Iterator<Item = Piece> + '_ {
        let (mut next, end) = (0, self.result(rank));
        std::iter::from_fn(move || {
            let piece = (next < end).then(|| self.piece(rank, next))?;
            next = piece.at + piece.length;
            Some(piece)
        })
    }

    /// The data that a rank gives.
    #[must_use]
    pub fn given<C: Content>(&self, content: &C, rank: usize) -> Vec<C::Unit> {
        content.given(rank, 0..self.gives(rank))
    }

    /// The result that a rank must get.
    #[must_use]
    pub fn delivered<C: Content>(&self, content: &C, rank: usize) -> Vec<C::Unit> {
        let mut result = Vec::new();
        for piece in self.pieces(rank) {
            result.extend(match piece.source {
                Source::Given { rank, at } => content.given(rank, at..at + piece.length),
                Source::Combined { ranks, at } => content.combined(ranks, at..at + piece.length),
            });
        }
        result
    }
}

/// The range of so many elements behind those of these lengths.
fn after(before: impl Iterator<Item = usize>, length: usize) -> Range<usize> {
    let begin = before.sum();
    begin..begin + length
}

#[cfg(test)]
mod tests;
