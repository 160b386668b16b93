//! From the arguments of an MPI call to those of the plugin ABI, and to the total volume in bytes.
//!
//! `None` stands for a call that no replacement should see: a null handle, a negative count or a root that is no rank, which
//! the library shall report as it does.

use std::ffi::{c_int, c_void};

use kilter_abi::Arguments;
use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Datatype, MPI_Op, constants, info};

use crate::communicator::State;

/// The ABI's number of a collective; one past the last for what it does not have.
const fn number(collective: Collective) -> u32 {
    match collective {
        Collective::Allgather => 0,
        Collective::Allreduce => 1,
        Collective::Bcast => 2,
        Collective::Gather => 3,
        Collective::Reduce => 4,
        Collective::ReduceScatter => 5,
        Collective::ReduceScatterBlock => 6,
        Collective::Scan => 7,
        Collective::Scatter => 8,
        Collective::Allgatherv => 9,
        Collective::Alltoall => 10,
        Collective::Alltoallv => 11,
        Collective::Barrier => 12,
        Collective::Exscan => 13,
        Collective::Gatherv => 14,
        Collective::Scatterv => 15,
        _ => kilter_abi::COLLECTIVES.len() as u32,
    }
}

/// Arguments without any.
fn nothing(collective: Collective) -> Arguments {
    Arguments {
        struct_size: size_of::<Arguments>() as u32,
        collective: number(collective),
        algorithm: std::ptr::null(),
        send: std::ptr::null(),
        recv: std::ptr::null_mut(),
        send_count: 0,
        recv_count: 0,
        send_type: constants::datatype_null(),
        recv_type: constants::datatype_null(),
        send_counts: std::ptr::null(),
        send_displacements: std::ptr::null(),
        recv_counts: std::ptr::null(),
        recv_displacements: std::ptr::null(),
        op: constants::op_null(),
        root: 0,
        bytes: 0,
        parameters: std::ptr::null(),
    }
}

/// Bytes of `count` elements.
fn bytes(count: c_int, datatype: MPI_Datatype) -> Option<u64> {
    let count = u64::try_from(count).ok()?;
    if datatype == constants::datatype_null() {
        return None;
    }
    let mut size: c_int = 0;
    // SAFETY: writes one int; the library checks the handle.
    if unsafe { mpi_sys::PMPI_Type_size(datatype, &raw mut size) } != 0 {
        return None;
    }
    // Beyond what an int holds, the size is MPI_UNDEFINED, which is negative.
    count.checked_mul(u64::try_from(size).ok()?)
}

fn is_rank(root: c_int, state: &State) -> bool {
    usize::try_from(root).is_ok_and(|root| root < state.size)
}

fn is_root(root: c_int, state: &State) -> bool {
    info::rank(state.comm).is_ok_and(|rank| usize::try_from(root) == Ok(rank))
}

pub(crate) type Block = (c_int, MPI_Datatype);

/// Every rank gets all: what is received is the same everywhere, what is sent may be in place.
pub(crate) fn allgather(
    state: &State,
    collective: Collective,
    (send, (send_count, send_type)): (*const c_void, Block),
    (recv, (recv_count, recv_type)): (*mut c_void, Block),
) -> Option<Arguments> {
    let bytes = bytes(recv_count, recv_type)?.checked_mul(state.size as u64)?;
    if send != constants::in_place() && send_type == constants::datatype_null() {
        return None;
    }
    Some(Arguments {
        send,
        send_count: send_count.into(),
        send_type,
        recv,
        recv_count: recv_count.into(),
        recv_type,
        bytes,
        ..nothing(collective)
    })
}

/// The root alone has a defined receive side, and may be in place; the others have only what they send.
pub(crate) fn gather(
    state: &State,
    collective: Collective,
    (send, (send_count, send_type)): (*const c_void, Block),
    (recv, (recv_count, recv_type)): (*mut c_void, Block),
    root: c_int,
) -> Option<Arguments> {
    if !is_rank(root, state) {
        return None;
    }
    let block = if is_root(root, state) {
        bytes(recv_count, recv_type)?
    } else {
        bytes(send_count, send_type)?
    };
    let bytes = block.checked_mul(state.size as u64)?;
    Some(Arguments {
        send,
        send_count: send_count.into(),
        send_type,
        recv,
        recv_count: recv_count.into(),
        recv_type,
        root,
        bytes,
        ..nothing(collective)
    })
}

/// The root alone has a defined send side, and may be in place; the others have only what they receive.
pub(crate) fn scatter(
    state: &State,
    collective: Collective,
    (send, (send_count, send_type)): (*const c_void, Block),
    (recv, (recv_count, recv_type)): (*mut c_void, Block),
    root: c_int,
) -> Option<Arguments> {
    if !is_rank(root, state) {
        return None;
    }
    let block = if is_root(root, state) {
        bytes(send_count, send_type)?
    } else {
        bytes(recv_count, recv_type)?
    };
    let bytes = block.checked_mul(state.size as u64)?;
    Some(Arguments {
        send,
        send_count: send_count.into(),
        send_type,
        recv,
        recv_count: recv_count.into(),
        recv_type,
        root,
        bytes,
        ..nothing(collective)
    })
}

pub(crate) fn bcast(
    state: &State,
    collective: Collective,
    (recv, (recv_count, recv_type)): (*mut c_void, Block),
    root: c_int,
) -> Option<Arguments> {
    if !is_rank(root, state) {
        return None;
    }
    let bytes = bytes(recv_count, recv_type)?;
    Some(Arguments {
        recv,
        recv_count: recv_count.into(),
        recv_type,
        root,
        bytes,
        ..nothing(collective)
    })
}

/// Allreduce and scan; reduce with its root; reduce-scatter of equal blocks with `blocks` of them.
pub(crate) fn reduction(
    state: &State,
    collective: Collective,
    (send, recv): (*const c_void, *mut c_void),
    ((recv_count, recv_type), op): (Block, MPI_Op),
    root: c_int,
    blocks: usize,
) -> Option<Arguments> {
    if !is_rank(root, state) || op == constants::op_null() {
        return None;
    }
    let bytes = bytes(recv_count, recv_type)?.checked_mul(blocks as u64)?;
    Some(Arguments {
        send,
        recv,
        recv_count: recv_count.into(),
        recv_type,
        op,
        root,
        bytes,
        ..nothing(collective)
    })
}

/// Blocks of different lengths; their list is the same on all ranks.
///
/// # Safety
/// `recv_counts` has an entry for each rank.
pub(crate) unsafe fn reduce_scatter(
    state: &State,
    collective: Collective,
    (send, recv): (*const c_void, *mut c_void),
    recv_counts: *const c_int,
    (recv_type, op): (MPI_Datatype, MPI_Op),
) -> Option<Arguments> {
    if recv_counts.is_null() || op == constants::op_null() {
        return None;
    }
    // SAFETY: by this function's contract.
    let counts = unsafe { std::slice::from_raw_parts(recv_counts, state.size) };
    let mut total: u64 = 0;
    for count in counts {
        total += u64::try_from(*count).ok()?;
    }
    let recv_counts = state.recv_counts(counts);
    let bytes = bytes(1, recv_type)?.checked_mul(total)?;
    Some(Arguments {
        send,
        recv,
        recv_counts,
        recv_type,
        op,
        bytes,
        ..nothing(collective)
    })
}

#[cfg(test)]
mod tests {
    use super::number;
    use kilter_algorithms::Collective;

    #[test]
    fn numbers_are_those_of_the_abi() {
        for &collective in Collective::ALL {
            let expected = kilter_abi::collective_number(collective.name());
            assert_eq!(
                Some(number(collective)).filter(|number| *number < 16),
                expected,
                "{collective}"
            );
        }
    }
}
