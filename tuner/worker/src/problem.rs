//! One call's data: what each rank gives, and what each must get, computed without MPI.
//!
//! Inputs are functions of rank and byte index, so that a rank knows what every other gave. Data that is moved is hashed: a
//! block in the wrong place shows. Bytes that are combined (with a bitwise OR) are sparse: at each byte at most four ranks give
//! a bit, each its own, so that a missing rank, a shifted byte and a prefix of the wrong length all show, and with many ranks
//! the OR does not saturate. Numbers that are combined (with a sum) are small and whole: every order of adding them gives the
//! same bytes, in floating point too.

use kilter_algorithms::{Collective, Shape};
use kilter_protocol::expression::{Counts, Layout};
use kilter_protocol::plan::Element;
use kilter_protocol::task::{Functionality, Task};

use crate::hash::mix;
use crate::layout::View;

/// A call as one rank sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What is achieved.
    pub(crate) task: Task,
    /// What is combined, where data is combined.
    pub(crate) element: Element,
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
    /// Whether a rank's own block lies in the output from the start.
    pub(crate) in_place: bool,
}

/// A byte that is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Index in the buffer.
    pub(crate) byte: usize,
    /// What it is.
    pub(crate) got: u8,
    /// What it should be.
    pub(crate) expected: u8,
}

/// Ranks that give a bit at one byte of a reduction.
const RANKS_PER_BYTE: usize = 4;

/// What lies between strided data, in inputs and in outputs: nobody may write there.
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

    /// Bytes of the buffer that this rank gives from; 0 where the task reads nothing here (a broadcast's one buffer is what
    /// it gets).
    pub(crate) fn send_bytes(&self) -> usize {
        self.send_view().span()
    }

    /// Bytes of the buffer that this rank gets into.
    pub(crate) fn recv_bytes(&self) -> usize {
        self.recv_view().span()
    }

    /// How the data lies that this rank gives.
    pub(crate) fn send_view(&self) -> View {
        let layout = self.task.sendtype;
        match (self.task.functionality, self.collective()) {
            (_, Some(Collective::Bcast)) => View::new(layout, 0, 1),
            (_, Some(collective)) => self.view_of(layout, collective.input()),
            (Functionality::Transfer | Functionality::Copying | Functionality::Combining, _) if self.rank == 0 => {
                View::new(layout, self.n_bytes, 1)
            }
            (Functionality::Exchange | Functionality::Packing | Functionality::Unpacking, _) => {
                View::new(layout, self.n_bytes, 1)
            }
            _ => View::new(layout, 0, 1),
        }
    }

    /// How the data lies that this rank gets.
    pub(crate) fn recv_view(&self) -> View {
        let mut layout = self.task.recvtype;
        if self.is(Collective::Bcast) && self.rank == self.root {
            layout = self.task.sendtype;
        }
        match (self.task.functionality, self.collective()) {
            (_, Some(collective)) => self.view_of(layout, collective.output()),
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

    fn view_of(&self, layout: Layout, shape: Shape) -> View {
        let divided = self.task.functionality.has_blocks();
        match shape {
            Shape::Nothing => View::new(layout, 0, 1),
            Shape::AtRoot if self.rank != self.root => View::new(layout, 0, 1),
            Shape::Blocks => View::new(layout, self.block(self.rank).1, 1),
            // Contributions are combined element by element, whole; everything else of a divided function comes in blocks.
            Shape::AtRoot | Shape::Everywhere | Shape::BlocksForEach | Shape::BlocksFromEach
                if divided && layout != Layout::Contiguous =>
            {
                View::new(layout, self.n_bytes / self.p_ranks, self.p_ranks)
            }
            _ => View::new(layout, self.n_bytes, 1),
        }
    }

    /// Begin and length in bytes of a rank's block of the volume.
    pub(crate) fn block(&self, rank: usize) -> (usize, usize) {
        let (n, p) = (self.n_bytes, self.p_ranks);
        match self.task.counts {
            Counts::Uniform => (rank * (n / p), n / p),
            Counts::Root => (
                if rank > self.root { n } else { 0 },
                if rank == self.root { n } else { 0 },
            ),
            Counts::Triangle => {
                let size = self.element.bytes() as usize;
                let begin = |rank: usize| (n / size) * (rank * (rank + 1)) / (p * (p + 1)) * size;
                (begin(rank), begin(rank + 1) - begin(rank))
            }
        }
    }

    /// Writes what this rank gives.
    pub(crate) fn fill_send(&self, send: &mut [u8]) {
        let view = self.send_view();
        fill_gaps(view, send);
        for i in 0..view.data_bytes() {
            send[view.position(i)] = self.given(self.rank, i);
        }
    }

    /// Looks whether what this rank gives has been changed.
    pub(crate) fn check_send(&self, send: &[u8]) -> Option<Wrong> {
        first_wrong(self.send_view(), send, |i| self.given(self.rank, i))
    }

    /// Writes what the output holds before the call: where it is defined, at every byte something else than is expected there
    /// (the root of a broadcast, and a rank's own block in place: its data).
    pub(crate) fn fill_recv(&self, recv: &mut [u8]) {
        let view = self.recv_view();
        fill_gaps(view, recv);
        for i in 0..view.data_bytes() {
            recv[view.position(i)] = self.before(i, self.expected(i));
        }
    }

    /// Byte `i` of the output before the call, where `expected` is right.
    fn before(&self, i: usize, expected: u8) -> u8 {
        let gives = self.is(Collective::Bcast) && self.rank == self.root;
        let is_own = || {
            let (begin, length) = self.block(self.rank);
            (begin..begin + length).contains(&i)
        };
        let is_own = self.in_place && is_own();
        if gives || is_own { expected } else { !expected }
    }

    /// Looks whether the output is right, where the task defines it.
    pub(crate) fn check_recv(&self, recv: &[u8]) -> Option<Wrong> {
        if self.has_no_output() {
            return None;
        }
        first_wrong(self.recv_view(), recv, |i| self.expected(i))
    }

    /// What the output holds before the call, as [`Problem::fill_recv`] writes it, and what a call leaves there. Each byte is computed once.
    pub(crate) fn recv_images(&self) -> (Vec<u8>, Vec<u8>) {
        let view = self.recv_view();
        let mut before = vec![0; view.span()];
        fill_gaps(view, &mut before);
        let mut after = before.clone();
        for i in 0..view.data_bytes() {
            let (position, expected) = (view.position(i), self.expected(i));
            before[position] = self.before(i, expected);
            after[position] = expected;
        }
        if self.has_no_output() {
            after.clone_from(&before);
        }
        (before, after)
    }

    /// Whether the task says nothing of this rank's output.
    pub(crate) fn has_no_output(&self) -> bool {
        let is_scatter = self.is(Collective::Scatter) || self.is(Collective::Scatterv);
        (self.is(Collective::Exscan) && self.rank == 0)
            // In place, the root's block stays where it was.
            || (self.in_place && is_scatter && self.rank == self.root)
    }

    /// Byte `i` of what `rank` gives.
    fn given(&self, rank: usize, i: usize) -> u8 {
        let combines = self.task.functionality == Functionality::Combining;
        if combines || self.collective().is_some_and(Collective::has_operator) {
            self.combined(rank..rank + 1, i)
        } else {
            moved(rank, self.slice, i)
        }
    }

    /// Byte `i` of what this rank must get.
    fn expected(&self, i: usize) -> u8 {
        let Some(collective) = self.collective() else {
            return match self.task.functionality {
                Functionality::Transfer => moved(0, self.slice, i),
                Functionality::Exchange => moved(self.source, self.slice, i),
                Functionality::Combining => self.doubled(i),
                _ => moved(self.rank, self.slice, i),
            };
        };
        let (all, own_begin) = (0..self.p_ranks, self.block(self.rank).0);
        match collective {
            Collective::Allgather | Collective::Allgatherv | Collective::Gather | Collective::Gatherv => {
                let (owner, begin) = self.owner(i);
                moved(owner, self.slice, i - begin)
            }
            Collective::Alltoall | Collective::Alltoallv => {
                let (owner, begin) = self.owner(i);
                moved(owner, self.slice, own_begin + i - begin)
            }
            // Nothing is expected of a barrier's buffers.
            Collective::Barrier => 0,
            Collective::Bcast => moved(self.root, self.slice, i),
            Collective::Scatter | Collective::Scatterv => moved(self.root, self.slice, own_begin + i),
            Collective::Allreduce | Collective::Reduce => self.combined(all, i),
            Collective::ReduceScatter | Collective::ReduceScatterBlock => self.combined(all, own_begin + i),
            Collective::Exscan => self.combined(0..self.rank, i),
            Collective::Scan | Collective::ReduceLocal => self.combined(0..self.rank + 1, i),
        }
    }

    /// The rank whose block holds byte `i` of the volume, and where that block begins.
    fn owner(&self, i: usize) -> (usize, usize) {
        if self.task.counts == Counts::Uniform {
            let block = (self.n_bytes / self.p_ranks).max(1);
            return (i / block, i / block * block);
        }
        // Blocks end one after the other. Halving: a look at every rank, for every byte, takes minutes where there are thousands.
        let (mut low, mut high) = (0, self.p_ranks - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            let (begin, length) = self.block(middle);
            if begin + length <= i {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low, self.block(low).0)
    }

    /// Byte `i` of what this rank gives, combined with itself.
    fn doubled(&self, i: usize) -> u8 {
        let size = self.element.bytes() as usize;
        let twice = 2 * sum_of_small_numbers(self.rank..self.rank + 1, self.slice, i / size);
        match self.element {
            Element::Byte => self.given(self.rank, i),
            Element::Int => twice.to_ne_bytes()[i % size],
            Element::Float => (twice as f32).to_ne_bytes()[i % size],
            Element::Double => f64::from(twice).to_ne_bytes()[i % size],
        }
    }

    /// Byte `i` of the combination of what the ranks of a range give.
    fn combined(&self, ranks: std::ops::Range<usize>, i: usize) -> u8 {
        let size = self.element.bytes() as usize;
        let sum = || sum_of_small_numbers(ranks.clone(), self.slice, i / size);
        match self.element {
            Element::Byte => combined_bytes(ranks, self.p_ranks, self.slice, i),
            Element::Int => sum().to_ne_bytes()[i % size],
            Element::Float => (sum() as f32).to_ne_bytes()[i % size],
            Element::Double => f64::from(sum()).to_ne_bytes()[i % size],
        }
    }
}

/// Writes the bytes that are no data.
fn fill_gaps(view: View, buffer: &mut [u8]) {
    if view.has_gaps() {
        buffer.fill(GAP);
    }
}

fn first_wrong(view: View, buffer: &[u8], expected: impl Fn(usize) -> u8) -> Option<Wrong> {
    let at = |byte: usize, expected: u8| {
        let got = buffer[byte];
        (got != expected).then_some(Wrong { byte, got, expected })
    };
    if !view.has_gaps() {
        return (0..buffer.len()).find_map(|byte| at(byte, expected(byte)));
    }
    let mut next = 0;
    for i in 0..view.data_bytes() {
        let byte = view.position(i);
        let wrong = (next..byte)
            .find_map(|gap| at(gap, GAP))
            .or_else(|| at(byte, expected(i)));
        if wrong.is_some() {
            return wrong;
        }
        next = byte + 1;
    }
    (next..buffer.len()).find_map(|gap| at(gap, GAP))
}

/// Byte `i` that `rank` gives to be moved.
pub(crate) fn moved(rank: usize, slice: usize, i: usize) -> u8 {
    (mix(((rank as u64) << 48) ^ ((slice as u64) << 36) ^ (i as u64 + 1)) >> 56) as u8
}

/// Ranks that give each number once among them. A prime that no usual number of cores is a multiple of, so that neither a tree's part nor
/// the ranks of a node are whole groups: where one such part is summed twice and another not at all, the sum is wrong.
const GROUP: usize = 29;

/// What the ranks of a group give together: 1 + 2 + ... + 29.
const SUM_OF_GROUP: u32 = 435;

/// Element `i` that `rank` gives to be summed: 1 to 29, so that no rank's is nothing and sums of 2^20 ranks are exact in `f32`; in an
/// order of the group's own.
fn small_number(rank: usize, slice: usize, i: usize) -> u32 {
    let group = (rank / GROUP) as u64;
    let first = mix((group << 48) ^ ((slice as u64) << 36) ^ (i as u64 + 1)) >> 32;
    ((first + rank as u64) % GROUP as u64) as u32 + 1
}

/// Element `i` of the sum of what the ranks of a range give. Takes no longer for more ranks: it is asked for at every byte.
fn sum_of_small_numbers(ranks: std::ops::Range<usize>, slice: usize, i: usize) -> u32 {
    let one_by_one = |ranks: std::ops::Range<usize>| -> u32 { ranks.map(|rank| small_number(rank, slice, i)).sum() };
    let (first, end) = (ranks.start.next_multiple_of(GROUP), ranks.end / GROUP * GROUP);
    if first >= end {
        return one_by_one(ranks);
    }
    one_by_one(ranks.start..first) + ((end - first) / GROUP) as u32 * SUM_OF_GROUP + one_by_one(end..ranks.end)
}

/// Byte `i` of the OR of what the ranks of a range give to be combined.
///
/// The ranks are dealt into `ceil(p/4)` groups; byte `i` belongs to one group, whose members set one bit each, side by side
/// from a bit that depends on `i`.
fn combined_bytes(ranks: std::ops::Range<usize>, p_ranks: usize, slice: usize, i: usize) -> u8 {
    let groups = p_ranks.div_ceil(RANKS_PER_BYTE).max(1);
    let hash = mix(((slice as u64) << 36) ^ (i as u64 + 1));
    // The upper half as a fraction of the groups: this is asked for at every byte, where a division takes longer than the hash.
    let group = (((hash >> 32) * groups as u64) >> 32) as usize;
    // Members of the group below a rank.
    let below = |rank: usize| match rank {
        0 => 0,
        // Every group has as many, or all ranks.
        _ if groups == 1 => rank,
        _ => (rank + groups - 1 - group) / groups,
    };
    let bits = |members: usize| (1_u32 << members) - 1;
    let mask = bits(below(ranks.end)) & !bits(below(ranks.start));
    (mask as u8).rotate_left((hash & 7) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(collective: Collective, n_bytes: usize, p_ranks: usize, rank: usize, root: usize) -> Problem {
        Problem {
            task: collective.into(),
            element: Element::Byte,
            n_bytes,
            p_ranks,
            rank,
            root,
            source: 0,
            slice: 0,
            in_place: false,
        }
    }

    fn inputs(collective: Collective, n_bytes: usize, p_ranks: usize, root: usize) -> Vec<Vec<u8>> {
        (0..p_ranks)
            .map(|rank| {
                let problem = problem(collective, n_bytes, p_ranks, rank, root);
                let bytes = if collective == Collective::Bcast && rank == root {
                    n_bytes
                } else {
                    problem.send_bytes()
                };
                (0..bytes).map(|i| problem.given(rank, i)).collect()
            })
            .collect()
    }

    fn or(inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut result = vec![0; inputs.first().map_or(0, Vec::len)];
        for input in inputs {
            for (to, from) in result.iter_mut().zip(input) {
                *to |= from;
            }
        }
        result
    }

    /// What the collective does, in plain words and without this module's formulas.
    fn carry_out(collective: Collective, inputs: &[Vec<u8>], rank: usize, root: usize) -> Vec<u8> {
        let p_ranks = inputs.len();
        let block_of = |data: &[u8], owner: usize| {
            let block = data.len() / p_ranks;
            data[owner * block..(owner + 1) * block].to_vec()
        };
        match collective {
            Collective::Allgather | Collective::Allgatherv => inputs.concat(),
            Collective::Gather | Collective::Gatherv if rank == root => inputs.concat(),
            Collective::Reduce if rank == root => or(inputs),
            Collective::Gather | Collective::Gatherv | Collective::Reduce => Vec::new(),
            Collective::Alltoall | Collective::Alltoallv => {
                inputs.iter().flat_map(|input| block_of(input, rank)).collect()
            }
            Collective::Barrier => Vec::new(),
            Collective::Bcast => inputs[root].clone(),
            Collective::Scatter | Collective::Scatterv => block_of(&inputs[root], rank),
            Collective::Allreduce => or(inputs),
            Collective::ReduceScatter | Collective::ReduceScatterBlock => block_of(&or(inputs), rank),
            Collective::Exscan if rank == 0 => vec![0; inputs[0].len()],
            Collective::Exscan => or(&inputs[..rank]),
            Collective::Scan => or(&inputs[..=rank]),
            Collective::ReduceLocal => unreachable!("not a collective of several ranks"),
        }
    }

    #[test]
    fn expected_results_are_those_of_the_collective() {
        let collectives = Collective::of_several_ranks();
        for collective in collectives {
            for p_ranks in [1, 2, 3, 4, 5, 8, 13] {
                for n_bytes in [0, p_ranks, 6 * p_ranks, 64 * p_ranks] {
                    for root in [0, p_ranks - 1] {
                        let inputs = inputs(collective, n_bytes, p_ranks, root);
                        for rank in 0..p_ranks {
                            let problem = problem(collective, n_bytes, p_ranks, rank, root);
                            let mut recv = carry_out(collective, &inputs, rank, root);
                            assert_eq!(recv.len(), problem.recv_bytes(), "{problem:?}");
                            assert_eq!(problem.check_recv(&recv), None, "{problem:?}");
                            problem.fill_recv(&mut recv);
                            let untouched_is_right = n_bytes == 0
                                || recv.is_empty()
                                || (collective == Collective::Bcast && rank == root)
                                || (collective == Collective::Exscan && rank == 0);
                            assert_eq!(problem.check_recv(&recv).is_none(), untouched_is_right, "{problem:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_rank_shows_in_a_reduction_and_four_at_most_at_one_byte() {
        for p_ranks in [1, 2, 4, 5, 8, 9, 64, 200] {
            let n_bytes = 64 * p_ranks;
            let result: Vec<u8> = (0..n_bytes)
                .map(|i| combined_bytes(0..p_ranks, p_ranks, 0, i))
                .collect();
            assert!(
                result
                    .iter()
                    .all(|byte| (1..=4).contains(&byte.count_ones()) || p_ranks > 4),
                "p={p_ranks}"
            );
            assert!(result.iter().all(|byte| byte.count_ones() <= 4), "p={p_ranks}");
            for rank in 0..p_ranks {
                let without: Vec<u8> = (0..n_bytes)
                    .map(|i| combined_bytes(0..rank, p_ranks, 0, i) | combined_bytes(rank + 1..p_ranks, p_ranks, 0, i))
                    .collect();
                assert_ne!(without, result, "p={p_ranks}: rank {rank} does not show");
            }
        }
    }

    #[test]
    fn a_sum_is_that_of_its_ranks_and_shows_a_part_that_is_summed_twice() {
        for i in 0..40 {
            for range in [0..0, 0..1, 5..12, 0..29, 1..30, 28..90, 29..87, 3..1000, 58..58] {
                let one_by_one: u32 = range.clone().map(|rank| small_number(rank, 2, i)).sum();
                assert_eq!(sum_of_small_numbers(range.clone(), 2, i), one_by_one, "{range:?} {i}");
            }
        }
        // The ranks of a node, or of a subtree, in place of those of the next one.
        for part in [1, 2, 4, 8, 13, 16, 24, 26, 28, 32, 48, 52, 56, 64, 104, 128, 1024] {
            let shows = (0..40).any(|i| {
                let [one, next] = [0, part].map(|begin| sum_of_small_numbers(begin..begin + part, 0, i));
                one != next
            });
            assert!(shows, "{part}");
        }
    }

    #[test]
    fn the_owner_of_a_byte_is_the_rank_whose_block_holds_it() {
        for (counts, n_bytes) in [
            (Counts::Triangle, 4 * 13 * 14),
            (Counts::Triangle, 40),
            (Counts::Root, 24),
        ] {
            for p_ranks in [1, 2, 3, 8, 13] {
                let mut problem = problem(Collective::Gatherv, n_bytes, p_ranks, 0, p_ranks / 2);
                problem.task.counts = counts;
                let mut owned = 0;
                for rank in 0..p_ranks {
                    let (begin, length) = problem.block(rank);
                    for i in begin..begin + length {
                        assert_eq!(problem.owner(i), (rank, begin), "{counts:?} p={p_ranks}: byte {i}");
                        owned += 1;
                    }
                }
                assert_eq!(owned, n_bytes, "{counts:?} p={p_ranks}");
            }
        }
    }

    #[test]
    fn slices_and_shifted_data_differ() {
        let data = |slice: usize, shift: usize| -> Vec<(u8, u8)> {
            (shift..shift + 64)
                .map(|i| (moved(1, slice, i), combined_bytes(0..3, 3, slice, i)))
                .collect()
        };
        assert!(data(0, 0) != data(1, 0) && data(0, 0) != data(0, 1));
    }
}
