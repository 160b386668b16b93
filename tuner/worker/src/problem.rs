//! One call's data: each rank's input, and the output that each must get, byte by byte.
//!
//! [`kilter_algorithms::reference`] says what a collective delivers. This module adds the layout in buffers, the bytes of the elements, and the
//! tasks that are no collective's. Inputs are functions of rank and byte index ([`closed_form`]), so that a rank knows every other's.

use std::ops::Range;
use std::rc::Rc;

use kilter_algorithms::reference::{Call, Division, Source, closed_form};
use kilter_algorithms::{Collective, Shape};
use kilter_protocol::expression::{Counts, Layout};
use kilter_protocol::plan::{Operand, Operator};
use kilter_protocol::task::{Functionality, Task};

use crate::layout::View;
use crate::operand;

/// A call as one rank sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The task.
    pub(crate) task: Task,
    /// Elements and operator, where data is combined.
    pub(crate) operand: Operand,
    /// Total volume `n` in bytes.
    pub(crate) n_bytes: usize,
    /// Number of ranks.
    pub(crate) p_ranks: usize,
    /// This rank.
    pub(crate) rank: usize,
    /// The root, where the collective has one.
    pub(crate) root: usize,
    /// The rank whose data an exchange brings.
    pub(crate) source: usize,
    /// Tells calls on successive slices apart.
    pub(crate) slice: usize,
    /// True if a rank's own block lies in the output from the start.
    pub(crate) in_place: bool,
    /// Blocks of lengths of their own; none where the task divides the volume.
    pub(crate) lengths: Option<Rc<Division>>,
}

/// A byte with a wrong value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Index in the buffer.
    pub(crate) byte: usize,
    /// The byte found.
    pub(crate) got: u8,
    /// The byte expected.
    pub(crate) expected: u8,
}

impl Wrong {
    /// The first byte that is not as expected, of those of a buffer from byte `at` on.
    pub(crate) fn first(found: &[u8], expected: &[u8], at: usize) -> Option<Wrong> {
        if found == expected {
            return None;
        }
        let mut both = found.iter().zip(expected).zip(at..);
        let ((got, expected), byte) = both.find(|((got, expected), _)| got != expected)?;
        Some(Wrong {
            byte,
            got: *got,
            expected: *expected,
        })
    }
}

/// Byte between strided data, in inputs and in outputs: nobody may write there.
pub(crate) const GAP: u8 = 0xC3;

impl Problem {
    /// The collective whose data movement this is, where it is one's.
    fn collective(&self) -> Option<Collective> {
        match self.task.functionality {
            Functionality::Function(collective) => Some(collective),
            _ => None,
        }
    }

    fn is(&self, collective: Collective) -> bool {
        self.collective() == Some(collective)
    }

    /// Bytes of this rank's input buffer; 0 if the task reads nothing here (a broadcast's only buffer is its output).
    pub(crate) fn send_bytes(&self) -> usize {
        self.send_view().span()
    }

    /// Bytes of the buffer that this rank gets into.
    pub(crate) fn recv_bytes(&self) -> usize {
        self.recv_view().span()
    }

    /// Layout of this rank's input.
    pub(crate) fn send_view(&self) -> View {
        let layout = self.task.sendtype;
        match (self.task.functionality, self.collective()) {
            (_, Some(Collective::Bcast)) => View::new(layout, 0, 1),
            (_, Some(collective)) => {
                let data_bytes = self.call(collective).gives(self.rank);
                self.view_of(layout, data_bytes, collective.input())
            }
            (Functionality::Transfer | Functionality::Copying | Functionality::Combining, _) if self.rank == 0 => {
                View::new(layout, self.n_bytes, 1)
            }
            (Functionality::Exchange | Functionality::Packing | Functionality::Unpacking, _) => {
                View::new(layout, self.n_bytes, 1)
            }
            _ => View::new(layout, 0, 1),
        }
    }

    /// Layout of this rank's output.
    pub(crate) fn recv_view(&self) -> View {
        let mut layout = self.task.recvtype;
        if self.is(Collective::Bcast) && self.rank == self.root {
            layout = self.task.sendtype;
        }
        match (self.task.functionality, self.collective()) {
            (_, Some(collective)) => {
                // The root's block in place has a buffer, too, which is what it is compared with.
                let call = Call {
                    in_place: false,
                    ..self.call(collective)
                };
                self.view_of(layout, call.room(self.rank), collective.output())
            }
            (Functionality::Transfer, _) if self.rank + 1 == self.p_ranks => View::new(layout, self.n_bytes, 1),
            (Functionality::Copying | Functionality::Combining, _) if self.rank == 0 => {
                View::new(layout, self.n_bytes, 1)
            }
            (Functionality::Exchange | Functionality::Packing | Functionality::Unpacking, _) => {
                View::new(layout, self.n_bytes, 1)
            }
            _ => View::new(layout, 0, 1),
        }
    }

    fn view_of(&self, layout: Layout, data_bytes: usize, shape: Shape) -> View {
        match shape {
            // Contributions are combined element by element, whole; everything else of a divided function comes in blocks.
            Shape::AtRoot | Shape::Everywhere | Shape::BlocksForEach | Shape::BlocksFromEach
                if self.task.functionality.has_blocks() && layout != Layout::Contiguous && data_bytes > 0 =>
            {
                View::new(layout, data_bytes / self.p_ranks, self.p_ranks)
            }
            _ => View::new(layout, data_bytes, 1),
        }
    }

    /// The call as the reference sees it: its elements are bytes.
    fn call(&self, collective: Collective) -> Call {
        let division = match (&self.lengths, self.task.counts) {
            (Some(lengths), _) => Division::clone(lengths),
            (None, Counts::Uniform) => Division::Equal,
            (None, Counts::Root) => Division::Lone(self.root),
            (None, Counts::Triangle) => Division::Triangle(self.operand.bytes() as usize),
        };
        Call {
            in_place: self.in_place,
            ..Call::new(collective, self.p_ranks, self.root, self.n_bytes, division)
        }
    }

    /// Begin and length in bytes of a rank's block of the volume.
    pub(crate) fn block(&self, rank: usize) -> (usize, usize) {
        // Blocks are divided alike for every collective.
        let block = self.call(Collective::Gatherv).block(rank);
        (block.start, block.len())
    }

    /// Bytes of the blocks that this rank gives (`is_send`) or gets, rank by rank, as a call with counts lists them.
    pub(crate) fn listed(&self, collective: Collective, is_send: bool) -> Vec<usize> {
        let call = self.call(collective);
        let block = |rank: usize| match (collective, is_send) {
            (Collective::Alltoallv, true) => call.sent(self.rank, rank),
            (Collective::Alltoallv, false) => call.received(self.rank, rank),
            _ => call.block(rank),
        };
        (0..self.p_ranks).map(|rank| block(rank).len()).collect()
    }

    /// Writes this rank's input.
    pub(crate) fn fill_send(&self, send: &mut [u8]) {
        write(self.send_view(), send, |to| self.write_given(self.rank, 0, to));
    }

    /// Finds a changed byte in this rank's input.
    pub(crate) fn check_send(&self, send: &[u8]) -> Option<Wrong> {
        first_wrong(self.send_view(), send, |at, to| self.write_given(self.rank, at, to))
    }

    /// Writes the output's contents before the call: where the output is defined, every byte differs from the expected one (the root of a
    /// broadcast, and a rank's own block in place: its data).
    pub(crate) fn fill_recv(&self, recv: &mut [u8]) {
        let expectation = self.expectation();
        write(self.recv_view(), recv, |to| {
            expectation.write_after(0, to);
            expectation.turn_into_before(to);
        });
    }

    /// Looks whether the output is right, where the task defines it.
    pub(crate) fn check_recv(&self, recv: &[u8]) -> Option<Wrong> {
        let expectation = self.expectation();
        if expectation.is_nothing() {
            return None;
        }
        first_wrong(self.recv_view(), recv, |at, to| expectation.write_after(at, to))
    }

    /// Contents of the output before the call, as [`Problem::fill_recv`] writes them, and after it. Each byte is computed once.
    pub(crate) fn recv_images(&self) -> (Vec<u8>, Vec<u8>) {
        let (view, expectation) = (self.recv_view(), self.expectation());
        let mut data = vec![0; view.data_bytes()];
        expectation.write_after(0, &mut data);
        let after = laid_out(view, &data);
        expectation.turn_into_before(&mut data);
        let before = laid_out(view, &data);
        if expectation.is_nothing() {
            return (before.clone(), before);
        }
        (before, after)
    }

    /// True if the task does not define this rank's output.
    pub(crate) fn has_no_output(&self) -> bool {
        self.expectation().is_nothing()
    }

    fn expectation(&self) -> Expectation<'_> {
        let call = self.collective().map(|collective| self.call(collective));
        let own = call.as_ref().and_then(|call| call.own(self.rank));
        Expectation {
            problem: self,
            own: own.map_or(0..0, |own| own.at..own.at + own.given.len()),
            call,
        }
    }

    /// Writes `rank`'s input from byte `at` on.
    fn write_given(&self, rank: usize, at: usize, to: &mut [u8]) {
        let combines = self.task.functionality == Functionality::Combining;
        if combines || self.collective().is_some_and(Collective::has_operator) {
            self.write_combined(rank..rank + 1, at, to);
        } else {
            closed_form::write_moved(rank, self.slice, at, to);
        }
    }

    /// Writes this rank's input, combined with itself, from byte `at` on.
    fn write_doubled(&self, at: usize, to: &mut [u8]) {
        if matches!(self.operand.operator, Operator::Or | Operator::And) {
            return self.write_given(self.rank, at, to);
        }
        // Whole elements, of which the first and the last may be asked for in part.
        let before = at % self.operand.bytes() as usize;
        let mut twice = vec![0; (before + to.len()).next_multiple_of(self.operand.bytes() as usize)];
        self.write_given(self.rank, at - before, &mut twice);
        let once = twice.clone();
        operand::combine(self.operand, &once, &mut twice);
        to.copy_from_slice(&twice[before..before + to.len()]);
    }

    /// Writes the combined inputs of a range of ranks from byte `at` on.
    fn write_combined(&self, ranks: Range<usize>, at: usize, to: &mut [u8]) {
        operand::write_combined(self.operand, ranks, (self.p_ranks, self.slice), at, to);
    }
}

/// The output that this rank must have.
struct Expectation<'a> {
    problem: &'a Problem,
    /// The call, where the task is a collective's.
    call: Option<Call>,
    /// Part of the output that holds this rank's data before the call: none, or the part that does not change.
    own: Range<usize>,
}

impl Expectation<'_> {
    /// True if the task does not define the output.
    fn is_nothing(&self) -> bool {
        let rank = self.problem.rank;
        // In place, the block of a scatter's root stays where it was.
        let is_nothing = |call: &Call| call.receives_in_place(rank) || !call.undefined(rank).is_empty();
        self.call.as_ref().is_some_and(is_nothing)
    }

    /// Turns the right output into the one before the call.
    fn turn_into_before(&self, data: &mut [u8]) {
        let is_own = |i: &usize| self.own.contains(i);
        let others = data.iter_mut().enumerate().filter(|(i, _)| !is_own(i));
        others.for_each(|(_, byte)| *byte = !*byte);
    }

    /// Writes the output after the call from byte `at` on.
    fn write_after(&self, at: usize, to: &mut [u8]) {
        let Problem {
            task,
            rank,
            slice,
            source,
            ..
        } = *self.problem;
        let Some(call) = &self.call else {
            return match task.functionality {
                Functionality::Transfer => closed_form::write_moved(0, slice, at, to),
                Functionality::Exchange => closed_form::write_moved(source, slice, at, to),
                Functionality::Combining => self.problem.write_doubled(at, to),
                _ => closed_form::write_moved(rank, slice, at, to),
            };
        };
        let (mut next, mut rest) = (at, to);
        while !rest.is_empty() {
            let piece = call.piece(rank, next);
            let within = next - piece.at;
            let (bytes, behind) = rest.split_at_mut((piece.length - within).min(rest.len()));
            match piece.source {
                Source::Given { rank, at } => self.problem.write_given(rank, at + within, bytes),
                Source::Combined { ranks, at } => self.problem.write_combined(0..ranks, at + within, bytes),
            }
            next += bytes.len();
            rest = behind;
        }
    }
}

/// Writes all data of a buffer, and the gaps between it.
fn write(view: View, buffer: &mut [u8], all: impl FnOnce(&mut [u8])) {
    if !view.has_gaps() {
        return all(buffer);
    }
    let mut data = vec![0; view.data_bytes()];
    all(&mut data);
    buffer.copy_from_slice(&laid_out(view, &data));
}

/// Data as it lies in a buffer.
fn laid_out(view: View, data: &[u8]) -> Vec<u8> {
    if !view.has_gaps() {
        return data.to_vec();
    }
    let mut buffer = vec![GAP; view.span()];
    for (i, byte) in data.iter().enumerate() {
        buffer[view.position(i)] = *byte;
    }
    buffer
}

/// Bytes that are compared at a time: what is expected is worked out on the way, and rarely all of it.
const COMPARED_BYTES: usize = 4096;

fn first_wrong(view: View, buffer: &[u8], expected: impl Fn(usize, &mut [u8])) -> Option<Wrong> {
    if view.has_gaps() {
        let mut data = vec![0; view.data_bytes()];
        expected(0, &mut data);
        return Wrong::first(buffer, &laid_out(view, &data), 0);
    }
    let mut right = [0; COMPARED_BYTES];
    buffer
        .chunks(COMPARED_BYTES)
        .zip((0..).step_by(COMPARED_BYTES))
        .find_map(|(found, at)| {
            let right = &mut right[..found.len()];
            expected(at, right);
            Wrong::first(found, right, at)
        })
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::reference::Content;
    use kilter_protocol::plan::Element;

    use super::*;

    fn problem(collective: Collective, n_bytes: usize, p_ranks: usize, rank: usize, root: usize) -> Problem {
        Problem {
            task: collective.into(),
            operand: Element::Byte.into(),
            n_bytes,
            p_ranks,
            rank,
            root,
            source: 0,
            slice: 0,
            in_place: false,
            lengths: None,
        }
    }

    /// Numbers with each of their operators.
    fn numbers() -> impl Iterator<Item = Operand> {
        let elements = [Element::Int, Element::Float, Element::Double];
        elements.into_iter().flat_map(|element| {
            let operators = Operator::ALL.into_iter().filter(move |one| one.takes(element));
            operators.map(move |operator| Operand { element, operator })
        })
    }

    /// Inputs of a problem's ranks, combined one rank after the other.
    struct OneByOne(Problem);

    impl Content for OneByOne {
        type Unit = u8;

        fn given(&self, rank: usize, at: Range<usize>) -> Vec<u8> {
            let mut bytes = vec![0; at.len()];
            self.0.write_given(rank, at.start, &mut bytes);
            bytes
        }

        fn combine(&self, lower: &[u8], upper: &mut [u8]) {
            operand::combine(self.0.operand, lower, upper);
        }
    }

    fn check_as_one_by_one(problem: Problem, collective: Collective) {
        let mut recv = problem
            .call(collective)
            .delivered(&OneByOne(problem.clone()), problem.rank);
        // Anything, where nothing is defined.
        recv.resize(problem.recv_bytes(), 0);
        assert_eq!(problem.check_recv(&recv), None, "{problem:?}");
        problem.fill_recv(&mut recv);
        let untouched_is_right = problem.n_bytes == 0
            || recv.is_empty()
            || (collective == Collective::Bcast && problem.rank == problem.root)
            || (collective == Collective::Exscan && problem.rank == 0);
        assert_eq!(problem.check_recv(&recv).is_none(), untouched_is_right, "{problem:?}");
    }

    #[test]
    fn expected_results_are_those_of_one_rank_after_the_other() {
        for collective in Collective::of_several_ranks() {
            for p_ranks in [1, 2, 3, 4, 5, 8, 13] {
                for root in [0, p_ranks - 1] {
                    for rank in 0..p_ranks {
                        for n_bytes in [0, p_ranks, 6 * p_ranks, 64 * p_ranks] {
                            check_as_one_by_one(problem(collective, n_bytes, p_ranks, rank, root), collective);
                        }
                        for operand in numbers() {
                            let mut numbers = problem(collective, 24 * p_ranks, p_ranks, rank, root);
                            numbers.operand = operand;
                            check_as_one_by_one(numbers, collective);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_of_every_kind_of_counts_are_the_volume() {
        for (counts, n_bytes) in [
            (Counts::Uniform, 13 * 24),
            (Counts::Triangle, 4 * 13 * 14),
            (Counts::Triangle, 40),
            (Counts::Root, 24),
        ] {
            for p_ranks in [1, 2, 3, 8, 13] {
                let mut problem = problem(
                    Collective::Gatherv,
                    n_bytes / p_ranks * p_ranks,
                    p_ranks,
                    0,
                    p_ranks / 2,
                );
                problem.task.counts = counts;
                let mut end = 0;
                for rank in 0..p_ranks {
                    let (begin, length) = problem.block(rank);
                    assert_eq!(begin, end, "{counts:?} p={p_ranks}");
                    end += length;
                }
                assert_eq!(end, problem.n_bytes, "{counts:?} p={p_ranks}");
                problem.rank = problem.root;
                check_as_one_by_one(problem, Collective::Gatherv);
            }
        }
    }

    #[test]
    fn blocks_of_lengths_of_their_own_are_expected_where_they_belong() {
        let listed = Division::Listed(vec![5, 0, 17, 1]);
        let pairs = Division::Pairs(vec![
            vec![0, 3, 1, 8],
            vec![9, 0, 0, 2],
            vec![4, 4, 0, 4],
            vec![1, 0, 6, 0],
        ]);
        for (collective, lengths, n_bytes) in [
            (Collective::Gatherv, &listed, 23),
            (Collective::Scatterv, &listed, 23),
            (Collective::Allgatherv, &listed, 23),
            (Collective::Alltoallv, &pairs, 14),
        ] {
            for rank in 0..4 {
                let mut problem = problem(collective, n_bytes, 4, rank, 2);
                problem.lengths = Some(Rc::new(lengths.clone()));
                let bytes = |is_send: bool| problem.listed(collective, is_send).iter().sum::<usize>();
                if collective == Collective::Alltoallv {
                    assert_eq!(
                        (problem.send_bytes(), problem.recv_bytes()),
                        (bytes(true), bytes(false))
                    );
                }
                let recv = vec![0; problem.recv_bytes()];
                assert_eq!(problem.check_recv(&recv).is_some(), !recv.is_empty(), "{problem:?}");
                let delivered = problem
                    .call(collective)
                    .delivered(&OneByOne(problem.clone()), problem.rank);
                assert_eq!(problem.check_recv(&delivered), None, "{problem:?}");
            }
        }
    }
}
