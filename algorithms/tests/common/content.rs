//! The data that ranks give, and its combinations, made once for all cases.
//!
//! Both are sequences of which each case has a beginning or a part: what a rank gives does not depend on the collective, the count or the root.
//! Hashing every element once more for each of half a million cases took longer than the collectives did.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use kilter_algorithms::reference::{Content, Elements};

/// A sequence as far as it was asked for.
type Sequence = Arc<Vec<u8>>;

/// The sequences of elements of one kind.
struct Made {
    elements: Elements,
    /// Index: the rank that gives it.
    given: Vec<Sequence>,
    /// Index: the last of the ranks, from 0 on, that are combined.
    combined: Vec<Sequence>,
}

static MADE: RwLock<Vec<Made>> = RwLock::new(Vec::new());

/// The same content as that of its elements.
#[derive(Clone, Copy)]
pub(crate) struct MadeOnce(pub(crate) Elements);

/// Kinds of sequences.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Given,
    Combined,
}

impl Made {
    fn of(&self, kind: Kind) -> &[Sequence] {
        match kind {
            Kind::Given => &self.given,
            Kind::Combined => &self.combined,
        }
    }

    /// Makes so many elements of what all ranks up to this one give, and half as many more as there were.
    fn give(&mut self, last: usize, count: usize) {
        for rank in 0..=last {
            if self.given.len() == rank {
                self.given.push(Sequence::default());
            }
            let had = self.given[rank].len() / self.elements.bytes;
            if had < count {
                let further = self.elements.given(rank, had..count.max(had + had / 2));
                Arc::make_mut(&mut self.given[rank]).extend(further);
            }
        }
    }

    /// Combines so many elements of all ranks up to this one.
    fn combine(&mut self, last: usize, count: usize) {
        self.give(last, count);
        for rank in 0..=last {
            if self.combined.len() == rank {
                self.combined.push(Sequence::default());
            }
            let further = self.combined[rank].len()..count * self.elements.bytes;
            if further.is_empty() {
                continue;
            }
            let mut total = self.given[rank][further.clone()].to_vec();
            if rank > 0 {
                self.elements.combine(&self.combined[rank - 1][further], &mut total);
            }
            Arc::make_mut(&mut self.combined[rank]).extend(total);
        }
    }
}

impl MadeOnce {
    /// The part of a sequence.
    fn part(self, kind: Kind, index: usize, at: &Range<usize>) -> Vec<u8> {
        let bytes = at.start * self.0.bytes..at.end * self.0.bytes;
        let known = |all: &[Made]| {
            let made = all.iter().find(|made| made.elements == self.0)?;
            let sequence = made.of(kind).get(index)?;
            (sequence.len() >= bytes.end).then(|| Arc::clone(sequence))
        };
        let found = known(&MADE.read().unwrap_or_else(PoisonError::into_inner));
        found.unwrap_or_else(|| self.made(kind, index, at.end))[bytes].to_vec()
    }

    /// A sequence, made to so many elements at least.
    fn made(self, kind: Kind, index: usize, count: usize) -> Sequence {
        let mut all = MADE.write().unwrap_or_else(PoisonError::into_inner);
        if all.iter().all(|made| made.elements != self.0) {
            all.push(Made {
                elements: self.0,
                given: Vec::new(),
                combined: Vec::new(),
            });
        }
        let mut own = all.iter_mut().filter(|made| made.elements == self.0);
        let made = own.next().expect("it was added");
        match kind {
            Kind::Given => made.give(index, count),
            Kind::Combined => made.combine(index, count),
        }
        Arc::clone(&made.of(kind)[index])
    }
}

impl Content for MadeOnce {
    type Unit = u8;

    fn given(&self, rank: usize, at: Range<usize>) -> Vec<u8> {
        self.part(Kind::Given, rank, &at)
    }

    fn combine(&self, lower: &[u8], upper: &mut [u8]) {
        self.0.combine(lower, upper);
    }

    fn combined(&self, ranks: usize, at: Range<usize>) -> Vec<u8> {
        self.part(Kind::Combined, ranks - 1, &at)
    }
}
