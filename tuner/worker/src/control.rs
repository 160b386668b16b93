//! Messages between the ranks besides the measured ones: point-to-point, on a communicator of their own, so that no measured collective, nor a
//! setting of one, influences them.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::Duration;

use kilter_mpi::{MPI_Comm, MpiError, constants, info};
use kilter_protocol::fault::Fault;
use kilter_protocol::json_line::JsonLine;
use mpi::ffi;

use crate::clock;
use crate::dissemination;

/// Tags by purpose, so that a message out of turn cannot be mistaken.
const TAG_EXCHANGE: c_int = 1;
const TAG_BROADCAST: c_int = 2;
const TAG_GATHER: c_int = 3;
const TAG_PING: c_int = 4;
const TAG_TREE: c_int = 5;

/// First and longest sleep between two looks of a rank that waits for a line.
const FIRST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// The private communicator of all ranks; its methods are called by all of them, in the same order.
pub(crate) struct Control {
    comm: MPI_Comm,
    rank: usize,
    p_ranks: usize,
}

/// Refusal by some rank of a step that all ranks had to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The fault of the lowest rank that could not: on rank 0 and on that rank itself. Elsewhere one's own, if there is one.
    pub(crate) fault: Option<Fault>,
}

impl Refusal {
    fn of(fault: Fault) -> Refusal {
        Refusal { fault: Some(fault) }
    }
}

/// Calls a PMPI function and turns its return value into a result.
macro_rules! pmpi {
    ($function:ident($($argument:expr),* $(,)?)) => {
        MpiError::check(stringify!($function), ffi::$function($($argument),*))
    };
}

impl Control {
    /// Makes the communicator. Called by all ranks.
    pub(crate) fn new() -> Result<Control, MpiError> {
        // SAFETY: MPI_COMM_WORLD is an intracommunicator and every rank makes this call right after initialisation.
        let comm = unsafe { info::comm_private(constants::comm_world())? };
        Ok(Control {
            comm,
            rank: info::rank(comm)?,
            p_ranks: info::size(comm)?,
        })
    }

    /// This rank.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    pub(crate) fn p_ranks(&self) -> usize {
        self.p_ranks
    }

    /// True on the rank that reads the plan and writes the report.
    pub(crate) fn is_root(&self) -> bool {
        self.rank == 0
    }

    /// Element-wise maxima over the ranks; returns on no rank before all have entered.
    #[inline]
    pub(crate) fn exchange_max<const N: usize>(&self, own: [u64; N]) -> Result<[u64; N], MpiError> {
        let bytes = size_of::<[u64; N]>() as c_int;
        let byte = constants::byte();
        dissemination::exchange_max(self.rank, self.p_ranks, own, |payload, (first, second)| {
            let mut heard = [[0; N]; 2];
            let [to_first, to_second] = &mut heard;
            let into_first = to_first.as_mut_ptr().cast();
            // SAFETY: all buffers have `bytes` bytes. Nothing returns before the last call has waited for all that was begun, whatever failed. Statuses are
            // filled by their calls.
            let (begun, exchanged, ended) = unsafe {
                let mut requests = [constants::request_null(); 2];
                let begun = second.map_or(Ok(()), |(to, from)| {
                    let [receive, send] = &mut requests;
                    let (into, payload) = (to_second.as_mut_ptr().cast(), payload.as_ptr().cast());
                    let (to, from) = (to as c_int, from as c_int);
                    pmpi!(PMPI_Irecv(into, bytes, byte, from, TAG_EXCHANGE, self.comm, receive))?;
                    pmpi!(PMPI_Isend(payload, bytes, byte, to, TAG_EXCHANGE, self.comm, send))
                });
                let (to, from) = first;
                let mut status = MaybeUninit::uninit();
                let exchanged = pmpi!(PMPI_Sendrecv(
                    payload.as_ptr().cast(),
                    bytes,
                    byte,
                    to as c_int,
                    TAG_EXCHANGE,
                    into_first,
                    bytes,
                    byte,
                    from as c_int,
                    TAG_EXCHANGE,
                    self.comm,
                    status.as_mut_ptr(),
                ));
                let mut statuses = MaybeUninit::<[mpi::ffi::MPI_Status; 2]>::uninit();
                let ended = second.map_or(Ok(()), |_| {
                    pmpi!(PMPI_Waitall(2, requests.as_mut_ptr(), statuses.as_mut_ptr().cast()))
                });
                (begun, exchanged, ended)
            };
            begun.and(exchanged).and(ended)?;
            Ok(heard)
        })
    }

    /// Makes a refusal of one rank a refusal of all.
    pub(crate) fn agree<T>(&self, own: Result<T, Fault>) -> Result<Result<T, Refusal>, MpiError> {
        // The maximum of `p - rank` over those who refuse names the lowest of them.
        let refused = if own.is_err() { self.p_ranks - self.rank } else { 0 };
        let [highest, ..] = self.exchange_max([refused as u64, 0, 0, 0])?;
        if highest == 0 {
            return Ok(own.map_err(Refusal::of));
        }
        let rank = self.p_ranks - highest as usize;
        let mut fault = own.err();
        if rank != 0 && self.rank == rank {
            self.send(0, TAG_GATHER, fault.to_json().unwrap_or_default().as_bytes())?;
        } else if rank != 0 && self.is_root() {
            let told = self.receive(rank, TAG_GATHER)?;
            // Both ranks run this program; where the bytes are damaged all the same, the item is out.
            let damaged = |_| Fault::Refused {
                rank,
                why: format!("a fault that cannot be read: {}", String::from_utf8_lossy(&told)),
            };
            fault = JsonLine::from_json(&told).unwrap_or_else(|error| Some(damaged(error)));
        }
        Ok(Err(Refusal { fault }))
    }

    /// Makes refusals of one rank refusals of all, for many steps at once: one exchange if no rank refuses anything.
    pub(crate) fn agree_all<T>(&self, own: Vec<Result<T, Fault>>) -> Result<Vec<Result<T, Refusal>>, MpiError> {
        let refuses = own.iter().any(Result::is_err);
        let [refused, ..] = self.exchange_max([u64::from(refuses), 0, 0, 0])?;
        if refused == 0 {
            // All are right, so no refusal is made up here.
            return Ok(own.into_iter().map(|one| one.map_err(Refusal::of)).collect());
        }
        own.into_iter().map(|one| self.agree(one)).collect()
    }

    /// Rank 0 gives `line` to all; the others pass `None` and wait asleep, since it may take the tuner seconds to think of one.
    ///
    /// The tree is binomial: the parent of a rank is the rank without its lowest set bit.
    pub(crate) fn broadcast(&self, line: Option<&[u8]>) -> Result<Vec<u8>, MpiError> {
        let line = match line {
            Some(line) => line.to_vec(),
            None => {
                let parent = self.parent().unwrap_or_default();
                sleep_until_message(self.comm, (parent, TAG_BROADCAST), [FIRST_SLEEP, LONGEST_SLEEP])?;
                self.receive(parent, TAG_BROADCAST)?
            }
        };
        for child in self.children() {
            self.send(child, TAG_BROADCAST, &line)?;
        }
        Ok(line)
    }

    /// Every rank's bytes, on rank 0; elsewhere nothing.
    pub(crate) fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, MpiError> {
        if !self.is_root() {
            self.send(0, TAG_GATHER, &own)?;
            return Ok(Vec::new());
        }
        let mut all = vec![own];
        for rank in 1..self.p_ranks {
            all.push(self.receive(rank, TAG_GATHER)?);
        }
        Ok(all)
    }

    /// Sends a number to `peer` and waits for one from it.
    pub(crate) fn ask(&self, peer: usize) -> Result<u64, MpiError> {
        self.send(peer, TAG_PING, &[])?;
        let answer = self.receive(peer, TAG_PING)?;
        Ok(answer
            .first_chunk()
            .map(|bytes| u64::from_ne_bytes(*bytes))
            .unwrap_or_default())
    }

    /// Waits for a question of `peer` and answers it.
    pub(crate) fn answer(&self, peer: usize, number: impl FnOnce() -> u64) -> Result<(), MpiError> {
        self.receive(peer, TAG_PING)?;
        self.send(peer, TAG_PING, &number().to_ne_bytes())
    }

    /// The rank above this one in the binomial tree; none above rank 0.
    pub(crate) fn parent(&self) -> Option<usize> {
        parent(self.rank)
    }

    /// The ranks below this one, the one with the largest subtree first.
    pub(crate) fn children(&self) -> Vec<usize> {
        children(self.rank, self.p_ranks)
    }

    /// Sends to a child of the tree.
    pub(crate) fn tell(&self, child: usize, data: &[u8]) -> Result<(), MpiError> {
        self.send(child, TAG_TREE, data)
    }

    /// Receives from the parent.
    pub(crate) fn hear(&self, parent: usize) -> Result<Vec<u8>, MpiError> {
        self.receive(parent, TAG_TREE)
    }

    /// Frees the communicator.
    pub(crate) fn free(self) -> Result<(), MpiError> {
        // SAFETY: `self` is consumed, and all ranks end the same way.
        unsafe { info::comm_free(self.comm) }
    }

    fn send(&self, to: usize, tag: c_int, data: &[u8]) -> Result<(), MpiError> {
        let length = c_int::try_from(data.len()).map_err(|_| MpiError {
            operation: "PMPI_Send",
            code: constants::err_count(),
        })?;
        // SAFETY: the buffer has `length` bytes and is lent for the call.
        unsafe {
            pmpi!(PMPI_Send(
                data.as_ptr().cast(),
                length,
                constants::byte(),
                to as c_int,
                tag,
                self.comm
            ))
        }
    }

    fn receive(&self, from: usize, tag: c_int) -> Result<Vec<u8>, MpiError> {
        let mut status = MaybeUninit::zeroed();
        let mut length: c_int = 0;
        // SAFETY: the probe fills the status, from which the length of the message is read; the buffer has that many bytes.
        unsafe {
            pmpi!(PMPI_Probe(from as c_int, tag, self.comm, status.as_mut_ptr()))?;
            pmpi!(PMPI_Get_count(status.as_ptr(), constants::byte(), &raw mut length))?;
            let mut data = vec![0_u8; usize::try_from(length).unwrap_or(0)];
            let buffer = data.as_mut_ptr().cast();
            pmpi!(PMPI_Recv(
                buffer,
                length,
                constants::byte(),
                from as c_int,
                tag,
                self.comm,
                status.as_mut_ptr()
            ))?;
            Ok(data)
        }
    }
}

/// Sleeps until a message has come; between two looks for as long as `sleeps` say, first and longest. A receive of MPI's would spin, on a core
/// that a measuring rank may need.
pub(crate) fn sleep_until_message(
    comm: MPI_Comm,
    (from, tag): (usize, c_int),
    sleeps: [Duration; 2],
) -> Result<(), MpiError> {
    if clock::SIMULATED {
        // A simulated rank that waits costs nothing, and one that sleeps stops them all.
        return Ok(());
    }
    let [mut sleep, longest] = sleeps;
    loop {
        let mut here: c_int = 0;
        // SAFETY: writes the flag and the status.
        unsafe {
            let mut status = MaybeUninit::uninit();
            pmpi!(PMPI_Iprobe(
                from as c_int,
                tag,
                comm,
                &raw mut here,
                status.as_mut_ptr()
            ))?;
        }
        if here != 0 {
            return Ok(());
        }
        std::thread::sleep(sleep);
        sleep = (sleep * 2).min(longest);
    }
}

/// The parent of a rank in the binomial tree whose root is rank 0: the rank without its lowest set bit.
pub(crate) fn parent(rank: usize) -> Option<usize> {
    (rank > 0).then(|| rank & (rank - 1))
}

/// The children of a rank in that tree, the one with the largest subtree first.
pub(crate) fn children(rank: usize, p_ranks: usize) -> Vec<usize> {
    let lowest_bit = if rank == 0 {
        p_ranks.next_power_of_two()
    } else {
        rank & rank.wrapping_neg()
    };
    let mut bit = lowest_bit / 2;
    let mut children = Vec::new();
    while bit > 0 {
        if rank + bit < p_ranks {
            children.push(rank + bit);
        }
        bit /= 2;
    }
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_root_is_the_child_of_the_rank_it_listens_to() {
        for p_ranks in 1..=33 {
            let mut parents = vec![None; p_ranks];
            for rank in 0..p_ranks {
                for child in children(rank, p_ranks) {
                    assert_eq!(
                        parents[child].replace(rank),
                        None,
                        "p={p_ranks}: two parents of {child}"
                    );
                }
            }
            for (rank, found) in parents.into_iter().enumerate() {
                assert_eq!(found, parent(rank), "p={p_ranks}");
            }
        }
    }
}
