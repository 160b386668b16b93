//! Differences of the ranks' clocks, asked for by messages.
//!
//! Ranks under one kernel read one clock, so that one rank of each host asks, the leader: along a binomial tree of the leaders, each asks its parent
//! for the time. A question asked at a, answered with t and heard at b says that the other clock is t - (a + b)/2 ahead, wrong by (b - a)/2 at most
//! (Cristian 1989, doi:10.1007/BF01784024); of several questions the one with the shortest way counts. On one host nothing is asked.

use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use mpi_sys::MPI_Comm;

use crate::error::pmpi;
use crate::{MpiError, constants, info};

/// Questions to a parent.
const QUESTIONS: usize = 20;

/// Tag of questions and answers. The communicator is Kilter's own.
const TAG: c_int = 1;

/// Nanoseconds of the system's clock, which is not set.
#[inline]
#[must_use]
pub fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

/// Identity of this process's clock: of the kernel that runs, and of the namespace of times in it. Names of hosts do not tell: those of network namespaces
/// differ, and their clock is one.
#[must_use]
pub fn identity() -> u64 {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    if kernel.is_empty() {
        info::host_name().unwrap_or_default().hash(&mut hasher);
    }
    (kernel, namespace).hash(&mut hasher);
    hasher.finish()
}

/// A question for the time, with its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Time of the question, on the asker's clock.
    pub asked_ns: u64,
    /// The answer, on the other clock.
    pub theirs_ns: u64,
    /// Time at which the answer came, on the asker's clock.
    pub answered_ns: u64,
}

impl Question {
    fn round_trip_ns(self) -> u64 {
        self.answered_ns.saturating_sub(self.asked_ns)
    }

    /// The other clock less the asker's.
    #[must_use]
    pub fn offset_ns(self) -> i64 {
        let own_ns = self.asked_ns.wrapping_add(self.round_trip_ns() / 2);
        self.theirs_ns.cast_signed().wrapping_sub(own_ns.cast_signed())
    }
}

/// The leaders' tree, as one rank sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Lowest rank with the clock of this one.
    pub leader: u32,
    /// The rank to ask.
    pub asks: Option<u32>,
    /// The ranks to answer, in this order, after having asked.
    answers: Vec<u32>,
    /// Other ranks with the clock of this one, if it is their leader.
    followers: Vec<u32>,
}

impl Tree {
    /// The tree of ranks whose clocks have these identities.
    #[must_use]
    pub fn new(clocks: &[u64], rank: usize) -> Tree {
        let number = |rank: usize| u32::try_from(rank).unwrap_or(u32::MAX);
        let mut seen = std::collections::HashMap::new();
        let mut leaders = Vec::new();
        for (at, clock) in clocks.iter().enumerate() {
            seen.entry(*clock).or_insert_with(|| {
                leaders.push(at);
                at
            });
        }
        let leader = clocks
            .get(rank)
            .and_then(|clock| seen.get(clock))
            .copied()
            .unwrap_or(rank);
        let mut tree = Tree {
            leader: number(leader),
            asks: None,
            answers: Vec::new(),
            followers: Vec::new(),
        };
        let Some(place) = leaders.iter().position(|at| *at == rank) else {
            return tree;
        };
        let same = |at: &usize| *at != rank && clocks[*at] == clocks[rank];
        tree.followers = (0..clocks.len()).filter(same).map(number).collect();
        // The parent of a place is the place without its lowest bit.
        let lowest = if place == 0 {
            leaders.len().next_power_of_two()
        } else {
            tree.asks = leaders.get(place & (place - 1)).map(|at| number(*at));
            1 << place.trailing_zeros()
        };
        let mut step = lowest / 2;
        while step > 0 {
            tree.answers.extend(leaders.get(place + step).map(|at| number(*at)));
            step /= 2;
        }
        tree
    }

    /// Asks and answers; what a leader other than rank 0 has asked.
    ///
    /// # Safety
    /// All ranks of `comm`, of which this is the tree, make this call, or are within MPI. The communicator is Kilter's own.
    pub unsafe fn compare(&self, comm: MPI_Comm) -> Option<Question> {
        // SAFETY: by this function's contract; those that are asked answer as often.
        unsafe {
            let question = self.asks.and_then(|parent| ask(comm, parent));
            for child in &self.answers {
                let _ = answer(comm, *child);
            }
            question
        }
    }

    /// Nanoseconds by which the clock of rank 0 is ahead of this rank's. Each leader learns it from its parent, and tells those that share its clock.
    ///
    /// # Errors
    /// The library's.
    ///
    /// # Safety
    /// As for [`Tree::compare`].
    pub unsafe fn offset_ns(&self, comm: MPI_Comm, rank: u32) -> Result<i64, MpiError> {
        // SAFETY: by this function's contract: each message that is sent here is received by the rank that this one is the leader of, or answers.
        unsafe {
            if rank != self.leader {
                return Ok(receive(comm, self.leader)?.cast_signed());
            }
            let mut offset = 0;
            if let Some(parent) = self.asks {
                let failed = MpiError {
                    operation: "PMPI_Recv",
                    code: constants::err_other(),
                };
                let question = ask(comm, parent).ok_or(failed)?;
                offset = question.offset_ns().wrapping_add(receive(comm, parent)?.cast_signed());
            }
            for child in &self.answers {
                answer(comm, *child)?;
                send(comm, *child, offset.cast_unsigned())?;
            }
            for follower in &self.followers {
                send(comm, *follower, offset.cast_unsigned())?;
            }
            Ok(offset)
        }
    }
}

/// Asks for the time; the answer that took the shortest.
///
/// # Safety
/// `peer` of `comm` answers as often.
unsafe fn ask(comm: MPI_Comm, peer: u32) -> Option<Question> {
    let mut best: Option<Question> = None;
    for _ in 0..QUESTIONS {
        let asked_ns = nanoseconds();
        // SAFETY: by this function's contract.
        let theirs_ns = unsafe {
            send(comm, peer, asked_ns).ok()?;
            receive(comm, peer).ok()?
        };
        let question = Question {
            asked_ns,
            theirs_ns,
            answered_ns: nanoseconds(),
        };
        if best.is_none_or(|best| question.round_trip_ns() < best.round_trip_ns()) {
            best = Some(question);
        }
    }
    best
}

/// Answers questions for the time.
///
/// # Safety
/// `peer` of `comm` asks.
unsafe fn answer(comm: MPI_Comm, peer: u32) -> Result<(), MpiError> {
    for _ in 0..QUESTIONS {
        // SAFETY: by this function's contract.
        unsafe {
            receive(comm, peer)?;
            send(comm, peer, nanoseconds())?;
        }
    }
    Ok(())
}

const BYTES: c_int = size_of::<u64>() as c_int;

/// # Safety
/// `peer` of `comm` receives it.
unsafe fn send(comm: MPI_Comm, peer: u32, number: u64) -> Result<(), MpiError> {
    let from: *const c_void = (&raw const number).cast();
    let peer = c_int::try_from(peer).unwrap_or(c_int::MAX);
    // SAFETY: by this function's contract; eight bytes are read.
    unsafe { pmpi!(PMPI_Send(from, BYTES, constants::byte(), peer, TAG, comm)) }
}

/// # Safety
/// `peer` of `comm` sends one.
unsafe fn receive(comm: MPI_Comm, peer: u32) -> Result<u64, MpiError> {
    let mut number = 0_u64;
    let to: *mut c_void = (&raw mut number).cast();
    let peer = c_int::try_from(peer).unwrap_or(c_int::MAX);
    let status = constants::status_ignore();
    // SAFETY: by this function's contract; eight bytes are written.
    unsafe { pmpi!(PMPI_Recv(to, BYTES, constants::byte(), peer, TAG, comm, status))? };
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leader_but_the_first_asks_one_that_answers_it() {
        for hosts in 1..=20_usize {
            // Two ranks on each host, placed in turn.
            let clocks: Vec<u64> = (0..2 * hosts).map(|rank| (rank % hosts) as u64).collect();
            let trees: Vec<Tree> = (0..clocks.len()).map(|rank| Tree::new(&clocks, rank)).collect();
            for (rank, tree) in trees.iter().enumerate() {
                assert_eq!(tree.leader as usize, rank % hosts);
                assert_eq!(tree.asks.is_some(), rank > 0 && rank < hosts);
                if let Some(parent) = tree.asks {
                    assert!((parent as usize) < rank);
                    assert!(trees[parent as usize].answers.contains(&(rank as u32)));
                }
                let expected: &[u32] = if rank < hosts { &[(rank + hosts) as u32] } else { &[] };
                assert_eq!(tree.followers, expected);
            }
            let answers: usize = trees.iter().map(|tree| tree.answers.len()).sum();
            assert_eq!(answers, hosts - 1);
        }
    }

    #[test]
    fn one_clock_is_asked_by_nobody() {
        let tree = Tree::new(&[7, 7, 7], 2);
        assert_eq!((tree.leader, tree.asks, tree.answers.len()), (0, None, 0));
        assert_eq!(Tree::new(&[7, 7, 7], 0).followers, [1, 2]);
        assert_eq!(identity(), identity());
    }

    #[test]
    fn the_middle_of_the_way_is_when_the_answer_was_given() {
        let question = Question {
            asked_ns: 1000,
            theirs_ns: 5100,
            answered_ns: 1200,
        };
        assert_eq!((question.round_trip_ns(), question.offset_ns()), (200, 4000));
        let behind = Question {
            theirs_ns: 100,
            ..question
        };
        assert_eq!(behind.offset_ns(), -1000);
    }
}
