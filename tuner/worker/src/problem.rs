//! One call's data: what each rank gives, and what each must get, computed without MPI.
//!
//! Inputs are functions of rank and byte index, so that a rank knows what every other gave. Data that is moved is hashed: a
//! block in the wrong place shows. Data that is combined (with a bitwise OR) is sparse: at each byte at most four ranks give
//! a bit, each its own, so that a missing rank, a shifted byte and a prefix of the wrong length all show, and with many ranks
//! the OR does not saturate.

use kilter_algorithms::{Collective, Shape};

/// A collective call as one rank sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What is carried out.
    pub(crate) collective: Collective,
    /// Total volume `n` in bytes.
    pub(crate) n_bytes: usize,
    /// Number of ranks.
    pub(crate) p_ranks: usize,
    /// This rank.
    pub(crate) rank: usize,
    /// The root, where the collective has one.
    pub(crate) root: usize,
    /// Tells calls on successive slices apart.
    pub(crate) slice: usize,
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

impl Problem {
    /// Bytes this rank gives; 0 where the collective reads nothing here (a broadcast's one buffer is what it gets).
    pub(crate) fn send_bytes(&self) -> usize {
        match self.collective {
            Collective::Bcast => 0,
            other => self.bytes_of(other.input()),
        }
    }

    /// Bytes this rank gets.
    pub(crate) fn recv_bytes(&self) -> usize {
        self.bytes_of(self.collective.output())
    }

    fn bytes_of(&self, shape: Shape) -> usize {
        match shape {
            Shape::AtRoot if self.rank != self.root => 0,
            Shape::Blocks => self.block_bytes(),
            _ => self.n_bytes,
        }
    }

    fn block_bytes(&self) -> usize {
        self.n_bytes / self.p_ranks
    }

    /// Writes what this rank gives.
    pub(crate) fn fill_send(&self, send: &mut [u8]) {
        for (i, byte) in send.iter_mut().enumerate() {
            *byte = self.given(self.rank, i);
        }
    }

    /// Looks whether what this rank gives has been changed.
    pub(crate) fn check_send(&self, send: &[u8]) -> Option<Wrong> {
        first_wrong(send, |i| self.given(self.rank, i))
    }

    /// Writes what the output holds before the call: where it is defined, at every byte something else than is expected there
    /// (the root of a broadcast: its data).
    pub(crate) fn fill_recv(&self, recv: &mut [u8]) {
        let gives = self.collective == Collective::Bcast && self.rank == self.root;
        for (i, byte) in recv.iter_mut().enumerate() {
            *byte = if gives { self.expected(i) } else { !self.expected(i) };
        }
    }

    /// Looks whether the output is right, where the collective defines it.
    pub(crate) fn check_recv(&self, recv: &[u8]) -> Option<Wrong> {
        if self.collective == Collective::Exscan && self.rank == 0 {
            return None;
        }
        first_wrong(recv, |i| self.expected(i))
    }

    /// Byte `i` of what `rank` gives.
    fn given(&self, rank: usize, i: usize) -> u8 {
        if self.collective.has_operator() {
            combined(rank..rank + 1, self.p_ranks, self.slice, i)
        } else {
            moved(rank, self.slice, i)
        }
    }

    /// Byte `i` of what this rank must get.
    fn expected(&self, i: usize) -> u8 {
        let block = self.block_bytes().max(1);
        let (all, own_begin) = (0..self.p_ranks, self.rank * block);
        match self.collective {
            Collective::Allgather | Collective::Gather | Collective::Gatherv => moved(i / block, self.slice, i % block),
            Collective::Alltoall => moved(i / block, self.slice, own_begin + i % block),
            Collective::Bcast => moved(self.root, self.slice, i),
            Collective::Scatter | Collective::Scatterv => moved(self.root, self.slice, own_begin + i),
            Collective::Allreduce | Collective::Reduce => combined(all, self.p_ranks, self.slice, i),
            Collective::ReduceScatter | Collective::ReduceScatterBlock => {
                combined(all, self.p_ranks, self.slice, own_begin + i)
            }
            Collective::Exscan => combined(0..self.rank, self.p_ranks, self.slice, i),
            Collective::Scan | Collective::ReduceLocal => combined(0..self.rank + 1, self.p_ranks, self.slice, i),
        }
    }
}

fn first_wrong(bytes: &[u8], expected: impl Fn(usize) -> u8) -> Option<Wrong> {
    bytes.iter().enumerate().find_map(|(byte, got)| {
        let expected = expected(byte);
        (*got != expected).then_some(Wrong {
            byte,
            got: *got,
            expected,
        })
    })
}

/// A number in which every bit depends on every bit of `x` (the finaliser of SplitMix64: Steele, Lea and Flood, OOPSLA 2014,
/// doi:10.1145/2660193.2660195).
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Byte `i` that `rank` gives to be moved.
fn moved(rank: usize, slice: usize, i: usize) -> u8 {
    (mix(((rank as u64) << 48) ^ ((slice as u64) << 36) ^ (i as u64 + 1)) >> 56) as u8
}

/// Byte `i` of the OR of what the ranks of a range give to be combined.
///
/// The ranks are dealt into `ceil(p/4)` groups; byte `i` belongs to one group, whose members set one bit each, side by side
/// from a bit that depends on `i`.
fn combined(ranks: std::ops::Range<usize>, p_ranks: usize, slice: usize, i: usize) -> u8 {
    let groups = p_ranks.div_ceil(RANKS_PER_BYTE).max(1);
    let hash = mix(((slice as u64) << 36) ^ (i as u64 + 1));
    let group = ((hash >> 32) % groups as u64) as usize;
    // Members of the group below a rank.
    let below = |rank: usize| (rank + groups - 1 - group) / groups;
    let bits = |members: usize| (1_u32 << members) - 1;
    let mask = bits(below(ranks.end)) & !bits(below(ranks.start));
    (mask as u8).rotate_left((hash & 7) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(collective: Collective, n_bytes: usize, p_ranks: usize, rank: usize, root: usize) -> Problem {
        Problem {
            collective,
            n_bytes,
            p_ranks,
            rank,
            root,
            slice: 0,
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
                let mut send = vec![0; bytes];
                problem.fill_send(&mut send);
                send
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
            Collective::Allgather => inputs.concat(),
            Collective::Gather | Collective::Gatherv if rank == root => inputs.concat(),
            Collective::Reduce if rank == root => or(inputs),
            Collective::Gather | Collective::Gatherv | Collective::Reduce => Vec::new(),
            Collective::Alltoall => inputs.iter().flat_map(|input| block_of(input, rank)).collect(),
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
        let collectives = Collective::ALL
            .iter()
            .filter(|collective| **collective != Collective::ReduceLocal);
        for &collective in collectives {
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
            let result: Vec<u8> = (0..n_bytes).map(|i| combined(0..p_ranks, p_ranks, 0, i)).collect();
            assert!(
                result
                    .iter()
                    .all(|byte| (1..=4).contains(&byte.count_ones()) || p_ranks > 4),
                "p={p_ranks}"
            );
            assert!(result.iter().all(|byte| byte.count_ones() <= 4), "p={p_ranks}");
            for rank in 0..p_ranks {
                let without: Vec<u8> = (0..n_bytes)
                    .map(|i| combined(0..rank, p_ranks, 0, i) | combined(rank + 1..p_ranks, p_ranks, 0, i))
                    .collect();
                assert_ne!(without, result, "p={p_ranks}: rank {rank} does not show");
            }
        }
    }

    #[test]
    fn slices_and_shifted_data_differ() {
        let data = |slice: usize, shift: usize| -> Vec<(u8, u8)> {
            (shift..shift + 64)
                .map(|i| (moved(1, slice, i), combined(0..3, 3, slice, i)))
                .collect()
        };
        assert!(data(0, 0) != data(1, 0) && data(0, 0) != data(0, 1));
    }
}
