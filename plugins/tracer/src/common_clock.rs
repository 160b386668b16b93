//! How the clocks of the ranks differ: asked for when the program begins and ends, by messages on a communicator of the tracer's own.
//!
//! Ranks under one kernel read one clock, so that one rank of each host asks, the leader: along a binomial tree of the leaders, each asks its parent
//! for the time. A question asked at a, answered with t and heard at b says that the other clock is t - (a + b)/2 ahead, wrong by (b - a)/2 at most
//! (Cristian 1989, doi:10.1007/BF01784024); of several questions the one with the shortest way counts. Two such readings, at the begin and at the end, make a
//! line with offset and drift, which `kilter-profiling` draws. On one host nothing is asked.

use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kilter_mpi::{MPI_Comm, MpiError, constants, info};
use kilter_protocol::calls::{Clock, Reading};

use crate::clock::nanoseconds;

/// Questions to a parent.
const QUESTIONS: usize = 20;

/// Tag of questions and answers. The communicator is the tracer's own.
const TAG: c_int = 1;

/// The leaders' tree, as one rank sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tree {
    /// Lowest rank with the clock of this one.
    leader: u32,
    /// The rank to ask.
    asks: Option<u32>,
    /// The ranks to answer, in this order, after having asked.
    answers: Vec<u32>,
}

impl Tree {
    /// The tree of ranks whose clocks have these identities.
    fn new(clocks: &[u64], rank: usize) -> Tree {
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
        };
        let Some(place) = leaders.iter().position(|at| *at == rank) else {
            return tree;
        };
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
}

/// A communicator of the tracer's own.
struct Private(MPI_Comm);

// SAFETY: a handle, which any thread may hold; it is used in MPI_Init and MPI_Finalize alone, which the program calls once each.
unsafe impl Send for Private {}
// SAFETY: as above.
unsafe impl Sync for Private {}

/// The clock of this rank.
pub(crate) struct CommonClock {
    tree: Tree,
    at_begin: Option<Reading>,
    /// Kept until the end if there is more than one clock.
    private: Option<Private>,
}

impl CommonClock {
    /// Compares the clocks for the first time.
    ///
    /// # Errors
    /// The library's.
    ///
    /// # Safety
    /// MPI was just initialised, and all ranks of the world make this call.
    pub(crate) unsafe fn at_begin(rank: usize, ranks: usize) -> Result<CommonClock, MpiError> {
        let own = identity();
        let mut clocks = vec![0_u64; ranks];
        // SAFETY: collective by this function's contract; as many numbers are written as there are ranks.
        let private = unsafe {
            let private = info::comm_private(constants::comm_world())?;
            let bytes = size_of::<u64>() as c_int;
            let code = mpi_sys::PMPI_Allgather(
                (&raw const own).cast(),
                bytes,
                constants::byte(),
                clocks.as_mut_ptr().cast(),
                bytes,
                constants::byte(),
                private,
            );
            MpiError::check("PMPI_Allgather", code)?;
            private
        };
        let tree = Tree::new(&clocks, rank);
        let is_one = clocks.iter().all(|clock| *clock == own);
        if is_one {
            // SAFETY: collective by this function's contract, since all ranks found the same.
            unsafe { info::comm_free(private)? };
        }
        let mut common = CommonClock {
            tree,
            at_begin: None,
            private: (!is_one).then_some(Private(private)),
        };
        // SAFETY: by this function's contract.
        common.at_begin = unsafe { common.compare() };
        Ok(common)
    }

    /// The clock as it is known at the begin.
    pub(crate) fn known(&self) -> Clock {
        Clock {
            leader: self.tree.leader,
            asks: self.tree.asks,
            at_begin: self.at_begin,
        }
    }

    /// Asks and answers; the reading of a leader other than rank 0.
    ///
    /// # Safety
    /// MPI runs, and all ranks of the world make this call, or are within MPI.
    pub(crate) unsafe fn compare(&self) -> Option<Reading> {
        let comm = self.private.as_ref()?.0;
        // SAFETY: by this function's contract; those that are asked answer as often.
        unsafe {
            let reading = self.tree.asks.and_then(|parent| ask(comm, parent));
            for child in &self.tree.answers {
                let _ = answer(comm, *child);
            }
            reading
        }
    }
}

/// Asks for the time; the answer that took the shortest.
///
/// # Safety
/// `peer` of `comm` answers as often.
unsafe fn ask(comm: MPI_Comm, peer: u32) -> Option<Reading> {
    let mut best: Option<Reading> = None;
    for _ in 0..QUESTIONS {
        let asked_ns = nanoseconds();
        // SAFETY: by this function's contract.
        let theirs_ns = unsafe {
            send(comm, peer, asked_ns).ok()?;
            receive(comm, peer).ok()?
        };
        let reading = Reading::new(asked_ns, theirs_ns, nanoseconds());
        if best.is_none_or(|best| reading.round_trip_ns < best.round_trip_ns) {
            best = Some(reading);
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
    let code = unsafe { mpi_sys::PMPI_Send(from, BYTES, constants::byte(), peer, TAG, comm) };
    MpiError::check("PMPI_Send", code)
}

/// # Safety
/// `peer` of `comm` sends one.
unsafe fn receive(comm: MPI_Comm, peer: u32) -> Result<u64, MpiError> {
    let mut number = 0_u64;
    let to: *mut c_void = (&raw mut number).cast();
    let peer = c_int::try_from(peer).unwrap_or(c_int::MAX);
    let status = constants::status_ignore();
    // SAFETY: by this function's contract; eight bytes are written.
    let code = unsafe { mpi_sys::PMPI_Recv(to, BYTES, constants::byte(), peer, TAG, comm, status) };
    MpiError::check("PMPI_Recv", code)?;
    Ok(number)
}

/// Identity of this process's clock: of the kernel that runs, and of the namespace of times in it. Names of hosts do not tell: those of network namespaces
/// differ, and their clock is one.
fn identity() -> u64 {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    if kernel.is_empty() {
        info::host_name().unwrap_or_default().hash(&mut hasher);
    }
    (kernel, namespace).hash(&mut hasher);
    hasher.finish()
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
            }
            let answers: usize = trees.iter().map(|tree| tree.answers.len()).sum();
            assert_eq!(answers, hosts - 1);
        }
    }

    #[test]
    fn one_clock_is_asked_by_nobody() {
        let tree = Tree::new(&[7, 7, 7], 2);
        assert_eq!((tree.leader, tree.asks, tree.answers.len()), (0, None, 0));
        assert_eq!(identity(), identity());
    }
}
