//! Ranks of a block, and their messages around a round: the next item, and that all are ready.
//!
//! The functions are called by their names with P, so that no library that interposes the names without it counts these messages as measured
//! ones.

use std::ffi::c_int;
use std::time::Duration;

use kilter_mpi::{MPI_Comm, MpiError, constants};
use kilter_protocol::plan::Wait;
use mpi::ffi;

use crate::control;

const TAG_COMMAND: c_int = 1;
const TAG_READY: c_int = 2;

/// Sleep of a rank that shares its core between two looks for a command.
const PAUSE: Duration = Duration::from_micros(50);

/// Travels instead of an item's number.
const END: u64 = u64::MAX;

/// Rank 0 and those who work with it, in a binomial tree.
#[derive(Debug)]
pub(super) struct Team {
    comm: MPI_Comm,
    wait: Wait,
    /// Above this rank; none above rank 0.
    parent: Option<usize>,
    children: Vec<usize>,
}

/// Calls a PMPI function and turns its return value into a result.
macro_rules! pmpi {
    ($function:ident($($argument:expr),* $(,)?)) => {
        MpiError::check(stringify!($function), ffi::$function($($argument),*))
    };
}

/// The ranks that take part: rank 0 and the last, or all.
fn members(is_of_all_ranks: bool, p_ranks: usize) -> Vec<usize> {
    if is_of_all_ranks {
        (0..p_ranks).collect()
    } else {
        vec![0, p_ranks - 1]
    }
}

impl Team {
    /// The team as `rank` of `p_ranks` sees it, two or more; `None` where that is no member.
    pub(super) fn new(
        comm: MPI_Comm,
        wait: Wait,
        is_of_all_ranks: bool,
        (rank, p_ranks): (usize, usize),
    ) -> Option<Team> {
        let members = members(is_of_all_ranks, p_ranks);
        let place = members.iter().position(|member| *member == rank)?;
        Some(Team {
            comm,
            wait,
            parent: control::parent(place).map(|place| members[place]),
            children: control::children(place, members.len())
                .into_iter()
                .map(|place| members[place])
                .collect(),
        })
    }

    /// Rank 0 says which item is next.
    pub(super) fn command(&self, item: usize) -> Result<(), MpiError> {
        self.pass_on(item as u64)
    }

    /// Rank 0 says that there is no other.
    pub(super) fn dismiss(&self) -> Result<(), MpiError> {
        self.pass_on(END)
    }

    /// The others hear which item is next; `None` at the end.
    pub(super) fn hear(&self) -> Result<Option<usize>, MpiError> {
        let parent = self.parent.unwrap_or_default();
        if self.wait == Wait::Sleep {
            control::sleep_until_message(self.comm, (parent, TAG_COMMAND), [PAUSE; 2])?;
        }
        let mut command = [0_u64; 1];
        self.receive(parent, TAG_COMMAND, &mut command)?;
        let [number] = command;
        self.pass_on(number)?;
        Ok((number != END).then_some(number as usize))
    }

    /// Waits until all ranks below are ready.
    pub(super) fn await_ready(&self) -> Result<(), MpiError> {
        self.children
            .iter()
            .try_for_each(|child| self.receive(*child, TAG_READY, &mut []))
    }

    /// Says that this rank and all below are ready: zero bytes on the way to rank 0.
    pub(super) fn ready(&self) -> Result<(), MpiError> {
        self.await_ready()?;
        self.parent.map_or(Ok(()), |parent| self.send(parent, TAG_READY, &[]))
    }

    fn pass_on(&self, number: u64) -> Result<(), MpiError> {
        self.children
            .iter()
            .try_for_each(|child| self.send(*child, TAG_COMMAND, &[number]))
    }

    fn send(&self, to: usize, tag: c_int, numbers: &[u64]) -> Result<(), MpiError> {
        // No pointer of an empty slice, which some library takes for a constant of its own.
        let nothing = [0_u64];
        let data = if numbers.is_empty() { &nothing } else { numbers };
        let count = numbers.len() as c_int;
        // SAFETY: the buffer has `count` numbers and is lent for the call.
        unsafe {
            pmpi!(PMPI_Send(
                data.as_ptr().cast(),
                count,
                constants::uint64(),
                to as c_int,
                tag,
                self.comm
            ))
        }
    }

    fn receive(&self, from: usize, tag: c_int, numbers: &mut [u64]) -> Result<(), MpiError> {
        let mut nothing = [0_u64];
        let count = numbers.len() as c_int;
        let data = if numbers.is_empty() { &mut nothing } else { numbers };
        // SAFETY: the buffer has `count` numbers and is lent for the call.
        unsafe {
            pmpi!(PMPI_Recv(
                data.as_mut_ptr().cast(),
                count,
                constants::uint64(),
                from as c_int,
                tag,
                self.comm,
                constants::status_ignore()
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(is_of_all_ranks: bool, rank: usize, p_ranks: usize) -> Option<Team> {
        Team::new(constants::comm_null(), Wait::Spin, is_of_all_ranks, (rank, p_ranks))
    }

    #[test]
    fn two_are_the_first_and_the_last_rank() {
        for p_ranks in [2, 3, 8] {
            let (first, last) = (
                team(false, 0, p_ranks).unwrap(),
                team(false, p_ranks - 1, p_ranks).unwrap(),
            );
            assert_eq!((first.parent, first.children.as_slice()), (None, &[p_ranks - 1][..]));
            assert_eq!((last.parent, last.children.as_slice()), (Some(0), &[][..]));
            assert!((1..p_ranks - 1).all(|rank| team(false, rank, p_ranks).is_none()));
        }
    }

    #[test]
    fn what_rank_0_says_reaches_all_of_a_team_of_all_ranks_once() {
        for p_ranks in 2..20 {
            let teams: Vec<Team> = (0..p_ranks).map(|rank| team(true, rank, p_ranks).unwrap()).collect();
            let mut told: Vec<usize> = teams.iter().flat_map(|team| team.children.clone()).collect();
            told.sort_unstable();
            assert_eq!(told, (1..p_ranks).collect::<Vec<_>>());
            for (rank, team) in teams.iter().enumerate() {
                assert!(team.children.iter().all(|child| teams[*child].parent == Some(rank)));
            }
        }
    }
}
