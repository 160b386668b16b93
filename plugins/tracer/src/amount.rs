//! Bytes or requests of a call, as they are counted.

use kilter_mpi::{MPI_Datatype, constants};

use crate::call::{Data, Volume};
use crate::communicator::State;
use crate::datatype;
use crate::number::Number;
use crate::trace::act::known;

/// True if this is the rank of this process in a communicator of one side.
#[inline]
pub(crate) fn is_own_rank(rank: i32, state: Option<&State>) -> bool {
    state.is_some_and(|state| u32::try_from(rank) == Ok(state.rank) && state.remote.is_none())
}

/// Bytes or requests of a call, and the class of its type.
///
/// # Safety
/// The call was valid, and its communicator and types still are.
#[inline(always)]
pub(crate) unsafe fn amount<N: Number>(state: Option<&State>, call: &Volume<N>) -> (u64, u8) {
    let data = match call.root {
        // Roots of intercommunicators are negative: `MPI_ROOT` passes what a root does, `MPI_PROC_NULL` nothing.
        Some((root, _)) if root == mpi_sys::MPI_PROC_NULL => Data::Nothing,
        Some((root, data)) if root < 0 || is_own_rank(root, state) => data,
        _ => call.data,
    };
    if call.to == Some(mpi_sys::MPI_PROC_NULL) {
        return (0, 0);
    }
    let ranks = || state.map_or(0, |state| u64::from(state.peers().count()));
    // SAFETY: types are valid, and lists have an entry for each rank, by this function's contract.
    unsafe {
        match data {
            Data::Nothing => (0, 0),
            Data::Requests(count) => (count.unsigned(), 0),
            Data::Come(status, count, datatype) => match known(status).and_then(constants::received_bytes) {
                Some(bytes) => (bytes as u64, datatype::element(datatype).class),
                None => of(count.unsigned(), datatype),
            },
            Data::Elements(count, datatype) => of(count.unsigned(), datatype),
            Data::Blocks(count, datatype) => of(count.unsigned().saturating_mul(ranks()), datatype),
            Data::List(counts, datatype) => of(sum(counts, ranks()), datatype),
            Data::ListOfOwn(counts, datatype) => {
                let ranks = state.map_or(0, |state| u64::from(state.members.count()));
                of(sum(counts, ranks), datatype)
            }
            Data::Lists(counts, types) => (0..ranks() as usize).fold((0, 0), |(sum, _): (u64, u8), rank| {
                let (bytes, class) = of((*counts.add(rank)).unsigned(), *types.add(rank));
                (sum.saturating_add(bytes), class)
            }),
        }
    }
}

/// # Safety
/// There are so many counts.
#[inline(never)]
unsafe fn sum<N: Number>(counts: *const N, ranks: u64) -> u64 {
    (0..ranks as usize).fold(0, |sum: u64, rank| {
        // SAFETY: by this function's contract.
        let count = unsafe { *counts.add(rank) };
        sum.saturating_add(count.unsigned())
    })
}

/// Bytes of so many elements, and the class of their type.
///
/// # Safety
/// The type is valid.
#[inline]
unsafe fn of(count: u64, datatype: MPI_Datatype) -> (u64, u8) {
    // SAFETY: by this function's contract.
    let element = unsafe { datatype::element(datatype) };
    (count.saturating_mul(element.bytes), element.class)
}
