//! Circulant graphs: every rank sends a fixed distance up in each round, over distances that halve `p`.
//!
//! With `p` ranks and `q = ceil(log2 p)`, the *skips* are `s[q] = p` and `s[k] = ceil(s[k+1] / 2)`, so `s[0] = 1`. In
//! round `k` of `q` rank `r` sends to `r + s[k]` and receives from `r - s[k]` (modulo `p`), whatever the algorithm. All
//! ranks have the same degree and, whatever `p`, every rank reaches every other within `q` rounds. For 5 ranks the skips
//! are 1, 2, 3 (and 5).
//!
//! Sources: J. L. Traeff, arXiv:2312.11236 (doi:10.48550/arXiv.2312.11236), for the broadcast's schedule; arXiv:2410.14234
//! (doi:10.48550/arXiv.2410.14234), for the collectives without pipeline.
//!
//! A broadcast of `m` blocks repeats the `q` rounds until `m - 1 + q` have passed, the fewest possible. Which block goes
//! where is told by two tables of `q` numbers for each rank, the same in every repetition (*phase*), in ranks relative to
//! the root:
//!
//! * The *base block* `b` of a rank is the one it is the first in its part of the graph to get: subtract from the rank the
//!   largest skip that fits until nothing is left; `b` is the number of the skip subtracted last. The root has none.
//! * In each phase a rank receives its base block, `b`, and `q - 1` blocks of the phase before, counted from there:
//!   `-1` to `-q`, all but `b - q`, which it received as base block a phase ago. The *receive table* says in which round.
//! * The *send table* is the receive table of the receivers: `send(r)[k] = receive(r + s[k])[k]`. The root sends block `k`
//!   in round `k`.
//!
//! Phase `j` adds `j * q` to all numbers. For five ranks:
//!
//! ```text
//! rank            0           1           2           3           4
//! base block      -           0           1           2           0
//! receive table               0 -1 -2    -3  1 -1    -2 -3  2    -1 -2  0
//! send table      0  1  2    -3 -3  0    -2 -2  .    -1  . -2     . -1 -1     the root needs nothing
//! ```

use super::ceil_log2;

/// More rounds than any number of ranks needs.
const ROUNDS: usize = usize::BITS as usize;

/// A block for each round of a phase; negative ones are those of the phase before.
pub type Table = [isize; ROUNDS];

/// The circulant graph of `p` ranks.
#[derive(Debug, Clone)]
pub struct Circulant {
    rounds: usize,
    /// `s[0..=rounds]`.
    skips: [usize; ROUNDS + 1],
}

/// Numbers of the blocks that one rank of a broadcast sends and receives in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Distance up to the receiver, and down to the sender.
    pub skip: usize,
    /// The block sent.
    pub sent: Option<usize>,
    /// The block received.
    pub received: Option<usize>,
}

impl Circulant {
    /// The graph of `p` ranks, `p >= 1`.
    #[must_use]
    pub fn new(p: usize) -> Circulant {
        let rounds = ceil_log2(p) as usize;
        let mut skips = [0; ROUNDS + 1];
        skips[rounds] = p;
        for round in (0..rounds).rev() {
            skips[round] = skips[round + 1].div_ceil(2);
        }
        Circulant { rounds, skips }
    }

    /// The rounds of a phase, `q = ceil(log2 p)`.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Skip `s[0]`, ..., `s[q]`.
    ///
    /// # Panics
    /// If there is no such skip.
    #[must_use]
    pub fn skip(&self, round: usize) -> usize {
        self.skips[..=self.rounds][round]
    }

    fn p(&self) -> usize {
        self.skips[self.rounds]
    }

    /// The base block of a relative rank; `q`, which is no block of a phase, for the root.
    #[must_use]
    pub fn base_block(&self, relative: usize) -> usize {
        let mut left = relative;
        for round in (0..self.rounds).rev() {
            if left == self.skips[round] {
                return round;
            }
            if left > self.skips[round] {
                left -= self.skips[round];
            }
        }
        self.rounds
    }

    /// The receive table of a relative rank other than the root.
    ///
    /// Searched are the paths from the root that add smaller and smaller skips, on two turns of the ring, so that `r + p`
    /// stands for the rank `r` and what comes before it exists. Block `e` comes by a path whose last skip is `s[e]`: in
    /// round `k` by the one that ends nearest below the sender, `r + p - s[k]`, and below where the one of the round
    /// before ended. Each block is taken once; a path that ends within reach of a later round is followed further first.
    #[must_use]
    pub fn receive_table(&self, relative: usize) -> Table {
        let base = self.base_block(relative);
        let mut search = Search {
            graph: self,
            target: relative + self.p(),
            bound: 2 * self.p(),
            left: (u64::MAX >> (63 - self.rounds)) & !(1 << base),
            round: 0,
            table: [0; ROUNDS],
        };
        search.descend(0, self.rounds + 1);
        let q = self.rounds as isize;
        for entry in &mut search.table[..self.rounds] {
            // Skip `q` is the way once round, to the root itself: it stands for the block that is new.
            *entry = if *entry == q { base as isize } else { *entry - q };
        }
        search.table
    }

    /// The send table of a relative rank; entries for which the receiver is the root are of no use.
    /// It is made of `q` receive tables.
    #[must_use]
    pub fn send_table(&self, relative: usize) -> Table {
        let mut table = [0; ROUNDS];
        for (round, entry) in table[..self.rounds].iter_mut().enumerate() {
            *entry = self.receive_table((relative + self.skips[round]) % self.p())[round];
        }
        table
    }

    /// The steps of a relative rank in the `m - 1 + q` rounds of a broadcast of `m >= 1` blocks. The first phase is cut short,
    /// so that the last phase ends with the last round.
    pub fn broadcast(&self, relative: usize, blocks: usize) -> impl Iterator<Item = Round> {
        let (q, p) = (self.rounds, self.p());
        let (receive, send) = if q == 0 {
            ([0; ROUNDS], [0; ROUNDS])
        } else {
            (self.receive_table(relative), self.send_table(relative))
        };
        let rounds = if q == 0 { 0 } else { blocks - 1 + q };
        let left_out = (q - rounds % q.max(1)) % q.max(1);
        let skips = self.skips;
        (left_out..left_out + rounds).map(move |index| {
            let round = index % q;
            // Entries of earlier phases are negative; the last block stands for those after it.
            let number = |entry: isize| {
                let block = entry + (index - round) as isize - left_out as isize;
                usize::try_from(block).ok().map(|block| block.min(blocks - 1))
            };
            let skip = skips[round];
            Round {
                skip,
                sent: number(send[round]).filter(|_| !(relative + skip).is_multiple_of(p)),
                received: number(receive[round]).filter(|_| relative != 0),
            }
        })
    }
}

struct Search<'g> {
    graph: &'g Circulant,
    target: usize,
    /// Paths must end below the one taken last.
    bound: usize,
    /// Blocks not yet taken, a bit each.
    left: u64,
    /// The round to find a block for.
    round: usize,
    table: Table,
}

impl Search<'_> {
    /// Continues the path that ends at `at` by skips below number `below`, largest first.
    fn descend(&mut self, at: usize, below: usize) {
        let skips = &self.graph.skips;
        let mut skip = below;
        while let Some(next) = highest_below(self.left, skip) {
            skip = next;
            if self.round == self.graph.rounds {
                return;
            }
            let end = at + skips[skip];
            if end + skips[self.round] > self.target || end >= self.bound {
                continue;
            }
            if end + skips[self.round + 1] <= self.target {
                self.descend(end, skip);
                if self.round == self.graph.rounds {
                    return;
                }
            }
            if at + skips[self.round + 1] > self.target {
                return;
            }
            if self.left >> skip & 1 == 1 {
                self.bound = end;
                self.table[self.round] = skip as isize;
                self.round += 1;
                self.left &= !(1 << skip);
            }
        }
    }
}

/// The highest bit set below bit `below`.
fn highest_below(bits: u64, below: usize) -> Option<usize> {
    let masked = if below < 64 { bits & ((1 << below) - 1) } else { bits };
    masked.checked_ilog2().map(|bit| bit as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The four conditions under which the tables are a broadcast.
    fn assert_tables(p: usize) {
        let graph = Circulant::new(p);
        let q = graph.rounds();
        let tables: Vec<Table> = (0..p).map(|rank| graph.receive_table(rank)).collect();
        for rank in 1..p {
            let received = &tables[rank][..q];
            let base = graph.base_block(rank) as isize;
            let new_and_old: BTreeSet<isize> = (-(q as isize)..0)
                .filter(|&block| block != base - q as isize)
                .chain([base])
                .collect();
            assert_eq!(
                received.iter().copied().collect::<BTreeSet<_>>(),
                new_and_old,
                "{rank} of {p}"
            );
            let to = |round| (rank + graph.skip(round)) % p;
            let send: Vec<isize> = (0..q).map(|round| tables[to(round)][round]).collect();
            if rank % 16 == 1 {
                assert_eq!(graph.send_table(rank)[..q], send, "{rank} of {p}");
            }
            for (round, sent) in send.iter().enumerate().filter(|&(round, _)| to(round) != 0) {
                assert!(
                    *sent == base - q as isize || received[..round].contains(sent),
                    "rank {rank} of {p} does not have block {sent} in round {round}"
                );
            }
        }
        for round in 0..q {
            assert_eq!(graph.send_table(0)[round], round as isize, "the root of {p}");
        }
    }

    #[test]
    fn tables_fit_together() {
        (2..=256)
            .chain([511, 512, 513, 1000, 1023, 1024, 1025])
            .for_each(assert_tables);
    }

    /// The blocks really go round: each arrives once, from a rank that has it.
    fn assert_broadcast(p: usize, blocks: usize) {
        let graph = Circulant::new(p);
        let mut ranks: Vec<_> = (0..p).map(|rank| graph.broadcast(rank, blocks)).collect();
        let mut has = vec![vec![false; blocks]; p];
        has[0] = vec![true; blocks];
        let mut rounds = 0;
        loop {
            let all: Vec<Round> = ranks.iter_mut().filter_map(Iterator::next).collect();
            if all.is_empty() {
                break;
            }
            assert_eq!(all.len(), p);
            rounds += 1;
            for (rank, round) in all.iter().enumerate() {
                let to = (rank + round.skip) % p;
                assert_eq!(round.sent, all[to].received, "p = {p}, {blocks} blocks, {rank} -> {to}");
                assert!(
                    round.sent.is_none_or(|block| has[rank][block]),
                    "p = {p}, {blocks} blocks"
                );
            }
            for (rank, round) in all.iter().enumerate() {
                if let Some(block) = round.received {
                    assert!(!has[rank][block], "block {block} comes to rank {rank} of {p} twice");
                    has[rank][block] = true;
                }
            }
        }
        assert!(has.iter().flatten().all(|has| *has), "p = {p}, {blocks} blocks");
        assert_eq!(rounds, if p == 1 { 0 } else { blocks - 1 + graph.rounds() });
    }

    proptest! {
        /// Far more ranks than a test can run: what one rank gets and sends is still all right, and found at once.
        #[test]
        fn tables_of_many_ranks(p in 2_usize..1 << 40, rank in 1_usize..1 << 40) {
            let (graph, rank) = (Circulant::new(p), 1 + rank % (p - 1));
            let (q, base) = (graph.rounds() as isize, graph.base_block(rank) as isize);
            let received = graph.receive_table(rank);
            let mut sorted = received[..q as usize].to_vec();
            sorted.sort_unstable();
            let expected: Vec<isize> = (-q..0).filter(|&block| block != base - q).chain([base]).collect();
            prop_assert_eq!(sorted, expected);
            for (round, &sent) in graph.send_table(rank)[..q as usize].iter().enumerate() {
                let to_root = (rank + graph.skip(round)) % p == 0;
                prop_assert!(to_root || sent == base - q || received[..round].contains(&sent));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn every_block_arrives_once(p in 1_usize..1500, blocks in 1_usize..40) {
            assert_tables(p.max(2));
            assert_broadcast(p, blocks);
        }
    }

    #[test]
    fn few_ranks_and_blocks() {
        for p in 1..=40 {
            for blocks in 1..=12 {
                assert_broadcast(p, blocks);
            }
        }
    }

    #[test]
    fn tables_of_five_ranks() {
        let graph = Circulant::new(5);
        let receive: Vec<Table> = (1..5).map(|rank| graph.receive_table(rank)).collect();
        let receive: Vec<&[isize]> = receive.iter().map(|table| &table[..3]).collect();
        assert_eq!(receive, [[0, -1, -2], [-3, 1, -1], [-2, -3, 2], [-1, -2, 0]]);
        assert_eq!(graph.send_table(1)[..3], [-3, -3, 0]);
        assert_eq!(
            (1..5).map(|rank| graph.base_block(rank)).collect::<Vec<_>>(),
            [0, 1, 2, 0]
        );
    }

    #[test]
    fn skips_halve() {
        let skips = |p| {
            let graph = Circulant::new(p);
            (0..=graph.rounds()).map(|round| graph.skip(round)).collect::<Vec<_>>()
        };
        assert_eq!(skips(1), [1]);
        assert_eq!(skips(2), [1, 2]);
        assert_eq!(skips(5), [1, 2, 3, 5]);
        assert_eq!(skips(16), [1, 2, 4, 8, 16]);
        assert_eq!(skips(17), [1, 2, 3, 5, 9, 17]);
    }
}
