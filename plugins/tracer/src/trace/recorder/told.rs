//! Parts as numbers: ranks, tags and places in memory.

use kilter_protocol::trace::record::{ANY_TAG, Plain, peer};

use crate::communicator::State;
use crate::trace::operations::Pending;
use crate::trace::payload::Elements;

/// A rank as it is recorded.
#[inline]
fn other(rank: i32) -> i32 {
    match rank {
        0.. => rank,
        mpi_sys::MPI_PROC_NULL => peer::NOBODY,
        mpi_sys::MPI_ANY_SOURCE => peer::ANY,
        mpi_sys::MPI_ROOT => peer::ROOT,
        _ => peer::UNKNOWN,
    }
}

#[inline]
fn tag_of(tag: i32) -> i32 {
    if tag == mpi_sys::MPI_ANY_TAG { ANY_TAG } else { tag }
}

/// A part about a rank of a communicator.
#[inline(always)]
pub(super) fn part(operation: u64, state: Option<&State>, rank: i32, tag: i32) -> Plain {
    let peer = other(rank);
    let world = match state.zip(u32::try_from(peer).ok()) {
        Some((state, rank)) => {
            let found = state.peers().world_rank(rank).and_then(|rank| i32::try_from(rank).ok());
            found.unwrap_or(peer::UNKNOWN)
        }
        None => peer,
    };
    Plain {
        communicator: state.map_or(0, |state| state.id + 1),
        operation,
        peer,
        world,
        tag: tag_of(tag),
        ..Plain::NONE
    }
}

/// Says where elements lie, and how many there may be.
#[inline(always)]
pub(super) fn place(part: &mut Plain, elements: &Elements) {
    part.bytes = elements.bytes();
    part.address = elements.address as u64;
    part.class = elements.class;
    part.element_bytes = u32::try_from(elements.element_bytes).unwrap_or(u32::MAX);
}

/// The part of an operation of which nothing else is told.
#[inline(always)]
pub(super) fn only(pending: &Pending) -> Plain {
    Plain {
        communicator: pending.state.map_or(0, |state| state.id + 1),
        operation: pending.operation,
        ..Plain::NONE
    }
}
