//! Messages among the ranks of a node in `MPI_Init`: the first rank learns the wishes of all and decides for all.
//!
//! Only point-to-point messages are used, because collectives may belong to another preloaded library.

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MpiError, constants, info};

use crate::cpus::{Cpus, WORDS};
use crate::placement::{Decision, Node, Place, Wish, place};
use crate::settings::{Cpu, Mode, Settings};

/// A wish as numbers: mode, place, computing threads, two sets.
const WISH: usize = 3 + 2 * WORDS;
/// A decision as numbers: kind, CPU, ranks, computing threads, CPUs.
const DECISION: usize = 5;
/// Value in the place of a CPU: unbound, or any CPU that is free.
const UNBOUND: u64 = u64::MAX;
const AUTO: u64 = u64::MAX - 1;

/// Decides on this rank's wish.
///
/// # Safety
/// MPI runs; all ranks of `world` make the same call.
pub(crate) unsafe fn decide(
    world: MPI_Comm,
    settings: &Settings,
    allowed: Cpus,
    given: Cpus,
) -> Result<Decision, MpiError> {
    let mut node = constants::comm_null();
    // SAFETY: writes one handle; collective by this function's contract.
    MpiError::check("PMPI_Comm_split_type", unsafe {
        mpi_sys::PMPI_Comm_split_type(
            world,
            constants::comm_type_shared(),
            0,
            constants::info_null(),
            &raw mut node,
        )
    })?;
    // SAFETY: the communicator is new; all its ranks do the same with it.
    unsafe {
        let _ = mpi_sys::PMPI_Comm_set_errhandler(node, constants::errors_return());
        let decided = decide_on_node(node, settings, allowed, given);
        let _ = info::comm_free(node);
        decided
    }
}

unsafe fn decide_on_node(
    node: MPI_Comm,
    settings: &Settings,
    allowed: Cpus,
    given: Cpus,
) -> Result<Decision, MpiError> {
    let (rank, ranks) = (info::rank(node)?, info::size(node)?);
    let own = Wish {
        mode: settings.mode,
        place: match &settings.cpu {
            Cpu::Auto => Place::Auto,
            Cpu::Unbound => Place::Unbound,
            Cpu::Named(numbers) => numbers
                .get(rank % numbers.len().max(1))
                .map_or(Place::Auto, |cpu| Place::Cpu(*cpu)),
        },
        computing: settings.computing,
        allowed,
        given,
    };
    // SAFETY: each rank but the first sends one message and receives one; the first receives and sends as many.
    unsafe {
        if rank > 0 {
            send(node, 0, &encode_wish(&own))?;
            return Ok(decode_decision(receive(node, rank_number(0))?));
        }
        let mut wishes = vec![own];
        for other in 1..ranks {
            wishes.push(decode_wish(&receive(node, rank_number(other))?));
        }
        let decisions = place(&wishes);
        for (other, decision) in decisions.iter().enumerate().skip(1) {
            send(node, rank_number(other), &encode_decision(*decision))?;
        }
        Ok(decisions.first().copied().unwrap_or(Decision::Off))
    }
}

/// A rank as MPI takes it; it came from there.
fn rank_number(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

/// # Safety
/// MPI runs, and rank `peer` of `comm` makes the matching [`receive`].
unsafe fn send(comm: MPI_Comm, peer: c_int, numbers: &[u64]) -> Result<(), MpiError> {
    // SAFETY: the buffer has so many numbers; the peer receives them, by this function's contract.
    MpiError::check("PMPI_Send", unsafe {
        mpi_sys::PMPI_Send(
            numbers.as_ptr().cast(),
            numbers.len() as c_int,
            constants::uint64(),
            peer,
            0,
            comm,
        )
    })
}

/// # Safety
/// MPI runs, and rank `peer` of `comm` makes the matching [`send`] of `N` numbers.
unsafe fn receive<const N: usize>(comm: MPI_Comm, peer: c_int) -> Result<[u64; N], MpiError> {
    let mut numbers = [0; N];
    // SAFETY: the buffer has so many numbers; the peer sends as many, by this function's contract.
    MpiError::check("PMPI_Recv", unsafe {
        mpi_sys::PMPI_Recv(
            numbers.as_mut_ptr().cast(),
            N as c_int,
            constants::uint64(),
            peer,
            0,
            comm,
            constants::status_ignore(),
        )
    })?;
    Ok(numbers)
}

fn encode_wish(wish: &Wish) -> [u64; WISH] {
    let mut numbers = [0; WISH];
    numbers[0] = match wish.mode {
        Mode::Off => 0,
        Mode::On => 1,
        Mode::Force => 2,
    };
    numbers[1] = match wish.place {
        Place::Auto => AUTO,
        Place::Unbound => UNBOUND,
        Place::Cpu(cpu) => cpu as u64,
    };
    numbers[2] = wish.computing as u64;
    numbers[3..3 + WORDS].copy_from_slice(&wish.allowed.0);
    numbers[3 + WORDS..].copy_from_slice(&wish.given.0);
    numbers
}

fn decode_wish(numbers: &[u64; WISH]) -> Wish {
    let set = |first: usize| Cpus(std::array::from_fn(|word| numbers[first + word]));
    Wish {
        mode: match numbers[0] {
            0 => Mode::Off,
            1 => Mode::On,
            _ => Mode::Force,
        },
        place: match numbers[1] {
            AUTO => Place::Auto,
            UNBOUND => Place::Unbound,
            cpu => Place::Cpu(cpu as usize),
        },
        computing: numbers[2] as usize,
        allowed: set(3),
        given: set(3 + WORDS),
    }
}

fn encode_decision(decision: Decision) -> [u64; DECISION] {
    match decision {
        Decision::Off => [0; DECISION],
        Decision::Refused(node) => [1, 0, node.ranks as u64, node.computing as u64, node.cpus as u64],
        Decision::Run { cpu, alone } => [2 + u64::from(alone), cpu.map_or(UNBOUND, |cpu| cpu as u64), 0, 0, 0],
    }
}

fn decode_decision(numbers: [u64; DECISION]) -> Decision {
    match numbers {
        [0, ..] => Decision::Off,
        [1, _, ranks, computing, cpus] => Decision::Refused(Node {
            ranks: ranks as usize,
            computing: computing as usize,
            cpus: cpus as usize,
        }),
        [kind, cpu, ..] => Decision::Run {
            cpu: (cpu != UNBOUND).then_some(cpu as usize),
            alone: kind == 3,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{decode_decision, decode_wish, encode_decision, encode_wish};
    use crate::placement::{Decision, Node, Place, Wish};
    use crate::settings::Mode;

    #[test]
    fn what_is_sent_is_what_is_understood() {
        for mode in [Mode::Off, Mode::On, Mode::Force] {
            for place in [Place::Auto, Place::Unbound, Place::Cpu(0), Place::Cpu(1023)] {
                let wish = Wish {
                    mode,
                    place,
                    computing: 7,
                    allowed: [0, 5, 64].into_iter().collect(),
                    given: [0, 5, 64, 1023].into_iter().collect(),
                };
                assert_eq!(decode_wish(&encode_wish(&wish)), wish);
            }
        }
        let node = Node {
            ranks: 2,
            computing: 4,
            cpus: 6,
        };
        let mut decisions = vec![Decision::Off, Decision::Refused(node)];
        for cpu in [None, Some(0), Some(1023)] {
            decisions.extend([true, false].map(|alone| Decision::Run { cpu, alone }));
        }
        for decision in decisions {
            assert_eq!(decode_decision(encode_decision(decision)), decision);
        }
    }
}
