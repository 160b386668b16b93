//! The data that ranks give, and its combination in the order of ranks.

use std::ops::Range;

use super::Operator;

/// The data that the ranks of a call give. An element is one unit or several; ranges are of elements.
pub trait Content {
    /// The unit that elements are made of, such as a byte.
    type Unit: Copy;

    /// The elements of this range that `rank` gives.
    fn given(&self, rank: usize, at: Range<usize>) -> Vec<Self::Unit>;

    /// `upper = lower o upper`, element by element; `lower` is of lower ranks.
    fn combine(&self, lower: &[Self::Unit], upper: &mut [Self::Unit]);

    /// The combination of these elements over ranks `0..ranks`.
    fn combined(&self, ranks: usize, at: Range<usize>) -> Vec<Self::Unit> {
        let mut total = self.given(0, at.clone());
        for rank in 1..ranks {
            let mut next = self.given(rank, at.clone());
            self.combine(&total, &mut next);
            total = next;
        }
        total
    }
}

/// Elements of one byte or of words of 32 bits, made for an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elements {
    /// The operator, where data is combined.
    pub operator: Operator,
    /// Bytes of an element: 1, or a multiple of 4.
    pub bytes: usize,
}

impl Content for Elements {
    type Unit = u8;

    fn given(&self, rank: usize, at: Range<usize>) -> Vec<u8> {
        self.operator.contribution(rank, at, self.bytes)
    }

    fn combine(&self, lower: &[u8], upper: &mut [u8]) {
        self.operator.combine(self.bytes, lower, upper);
    }
}

/// Content whose inputs are given as bytes. Combinations are computed once, for all ranks.
#[derive(Debug, Clone)]
pub struct Given<'a> {
    inputs: &'a [Vec<u8>],
    elements: Elements,
    /// By rank `i`, the combination of ranks `0..=i`; empty if nothing is combined.
    prefixes: Vec<Vec<u8>>,
}

impl Given<'_> {
    /// Inputs of all ranks; `combines` if they are as long as each other and are to be combined.
    #[must_use]
    pub fn new(inputs: &[Vec<u8>], elements: Elements, combines: bool) -> Given<'_> {
        let mut prefixes: Vec<Vec<u8>> = Vec::new();
        for input in inputs.iter().filter(|_| combines) {
            let mut next = input.clone();
            if let Some(lower) = prefixes.last() {
                elements.combine(lower, &mut next);
            }
            prefixes.push(next);
        }
        Given {
            inputs,
            elements,
            prefixes,
        }
    }

    fn bytes(&self, at: &Range<usize>) -> Range<usize> {
        at.start * self.elements.bytes..at.end * self.elements.bytes
    }
}

impl Content for Given<'_> {
    type Unit = u8;

    fn given(&self, rank: usize, at: Range<usize>) -> Vec<u8> {
        self.inputs[rank][self.bytes(&at)].to_vec()
    }

    fn combine(&self, lower: &[u8], upper: &mut [u8]) {
        self.elements.combine(lower, upper);
    }

    fn combined(&self, ranks: usize, at: Range<usize>) -> Vec<u8> {
        self.prefixes[ranks - 1][self.bytes(&at)].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, Elements, Given};
    use crate::reference::Operator;

    #[test]
    fn combinations_at_hand_are_those_of_one_rank_after_the_other() {
        let elements = Elements {
            operator: Operator::Compose,
            bytes: 12,
        };
        let inputs: Vec<Vec<u8>> = (0..5).map(|rank| elements.given(rank, 0..9)).collect();
        let given = Given::new(&inputs, elements, true);
        for ranks in 1..=5 {
            assert_eq!(given.combined(ranks, 2..9), elements.combined(ranks, 2..9), "{ranks}");
        }
        assert_eq!(given.given(3, 4..6), elements.given(3, 4..6));
    }
}
