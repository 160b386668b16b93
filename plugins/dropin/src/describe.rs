//! From the arguments of an MPI call to those of the plugin ABI, and to the total volume in bytes.

use kilter_abi::Arguments;
use kilter_algorithms::{Collective, Shape};
use kilter_mpi::{constants, layout};

use crate::communicator::State;
use crate::given::{Given, Number};
use crate::rules::Action;
use crate::tables::Tables;

/// Arguments that are significant on this rank.
struct Meant {
    send: bool,
    recv: bool,
    /// Lists of counts with displacements.
    send_list: bool,
    recv_list: bool,
}

impl Meant {
    #[inline]
    fn on(collective: Collective, is_root: bool, in_place: bool) -> Meant {
        let (gives, takes) = (
            collective.input() != Shape::AtRoot || is_root,
            collective.output() != Shape::AtRoot || is_root,
        );
        // A reduction has one count and type for both sides, a broadcast one buffer.
        let has_sides = collective.has_data() && !collective.has_operator() && collective != Collective::Bcast;
        let is_scatter = matches!(collective, Collective::Scatter | Collective::Scatterv);
        let send = has_sides && gives && (is_scatter || !in_place);
        let recv = collective.has_operator() || !has_sides || takes && !(is_scatter && in_place);
        Meant {
            send,
            recv: recv && collective.has_data(),
            send_list: send && matches!(collective, Collective::Alltoallv | Collective::Scatterv),
            recv_list: recv
                && matches!(
                    collective,
                    Collective::Allgatherv | Collective::Alltoallv | Collective::Gatherv | Collective::ReduceScatter
                ),
        }
    }
}

/// The arguments as plugins want them; `bytes` is the total volume. `None` stands for
/// a call that no replacement should see: a null handle, a negative count, a root that is no rank, `MPI_IN_PLACE` where it is not allowed, or
/// one buffer for both sides of a reduction, which the library shall report as it does.
///
/// # Safety
/// The arguments are those of a call of this collective on the state's communicator; `tables` has room for a number for each
/// rank in each table, and stays as it is while the result is used.
#[inline(always)]
pub(crate) unsafe fn describe<N: Number, D: Number>(
    collective: Collective,
    state: &State,
    given: &Given<N, D>,
    bytes: u64,
    tables: &mut Tables,
) -> Option<Arguments> {
    let root = usize::try_from(given.root).ok().filter(|root| *root < state.size)?;
    if collective.has_operator() && given.op == constants::op_null() {
        return None;
    }
    let is_root = root == state.rank;
    let in_place = constants::in_place()
        == match collective {
            Collective::Scatter | Collective::Scatterv => given.recv.cast_const(),
            _ => given.send,
        };
    if in_place && collective.has_root() && !is_root {
        // Only the root's data may be in place; the library says so.
        return None;
    }
    let meant = Meant::on(collective, is_root, in_place);
    let is_null = |datatype| datatype == constants::datatype_null();
    if (meant.send && is_null(given.send_type)) || (meant.recv && is_null(given.recv_type)) {
        return None;
    }
    if !in_place && is_aliased(collective, given, is_root) {
        return None;
    }
    // Arguments that are not significant on this rank may be anything, a negative count too.
    let count = |count: N, meant: bool| match count.try_into() {
        Ok(count) if count >= 0 || !meant => Some(count),
        _ => None,
    };
    // SAFETY: lists that are meant have an entry for each rank, by this function's contract.
    let lists = unsafe {
        let (p, null) = (state.size, std::ptr::null());
        let (mut send, mut recv) = ((null, null), (null, null));
        if meant.send_list {
            send = list(given.send_counts, given.send_displacements, &mut tables.send, p)?;
        }
        if meant.recv_list {
            recv = list(given.recv_counts, given.recv_displacements, &mut tables.recv, p)?;
        }
        (send, recv)
    };
    let ((send_counts, send_displacements), (recv_counts, recv_displacements)) = lists;
    Some(Arguments {
        struct_size: size_of::<Arguments>() as u32,
        collective: number(collective),
        algorithm: std::ptr::null(),
        send: given.send,
        recv: given.recv,
        send_count: count(given.send_count, meant.send && !meant.send_list)?,
        recv_count: count(given.recv_count, meant.recv && !meant.recv_list)?,
        send_type: given.send_type,
        recv_type: given.recv_type,
        send_counts,
        send_displacements,
        recv_counts,
        recv_displacements,
        op: given.op,
        root: given.root,
        bytes,
        parameters: std::ptr::null(),
    })
}

/// True if a reduction's send and receive buffers have the same address. Libraries refuse such a call, so the drop-in leaves it to them.
/// Derived types are exempt: two of them may share an address and no byte. Collectives that move data are exempt too: one rank alone may pass
/// the same address twice (rank 0 with its own block of an allgather, which Open MPI accepts), and that rank alone would call the library.
#[inline]
fn is_aliased<N: Number, D: Number>(collective: Collective, given: &Given<N, D>, is_root: bool) -> bool {
    collective.has_operator()
        && !given.send.is_null()
        && given.send == given.recv.cast_const()
        // Only the root has a receive buffer; other ranks may pass any address.
        && (is_root || !collective.has_root())
        && layout::plain_size(given.recv_type).is_some()
}

/// The total volume in bytes, the same on all ranks; `listed` elements are in the list of what is received. `None` for a null
/// type or a negative count.
#[inline(always)]
fn volume<N: Number, D: Number>(
    collective: Collective,
    state: &State,
    given: &Given<N, D>,
    (is_root, listed): (bool, i64),
) -> Option<u64> {
    // The sides may be described differently. The root's volume comes from the side that it describes even in place.
    let of_send = match collective {
        Collective::Gather => !is_root,
        Collective::Scatter => is_root,
        _ => false,
    };
    let (count, datatype) = match collective {
        Collective::Allgatherv | Collective::ReduceScatter => (listed, given.recv_type),
        _ if of_send => (given.send_count.try_into().ok()?, given.send_type),
        _ => (given.recv_count.try_into().ok()?, given.recv_type),
    };
    let blocks = match collective {
        Collective::Allgather
        | Collective::Alltoall
        | Collective::Gather
        | Collective::ReduceScatterBlock
        | Collective::Scatter => state.size as u64,
        _ => 1,
    };
    if datatype == constants::datatype_null() {
        return None;
    }
    let size = layout::size(datatype).ok()?;
    u64::try_from(count).ok()?.checked_mul(blocks)?.checked_mul(size as u64)
}

/// The total volume in bytes of a call that may be replaced, with what runs then; the volume is 0 for what not every rank knows. Most
/// calls that are left alone are told apart here, before anything else is looked at and without copying anything.
///
/// # Safety
/// As for [`describe`].
#[inline(always)]
pub(crate) unsafe fn early<N: Number, D: Number>(
    collective: Collective,
    state: &State,
    given: Given<N, D>,
) -> Option<(u64, &Action)> {
    // SAFETY: by this function's contract.
    let bytes = unsafe { bytes_of(collective, state, given) }?;
    Some((bytes, state.table.lookup(collective, bytes)?))
}

/// The total volume in bytes of a call that may be replaced; 0 for what not every rank knows. `None` for a call that moves no data.
///
/// # Safety
/// As for [`describe`].
#[inline(always)]
pub(crate) unsafe fn bytes_of<N: Number, D: Number>(
    collective: Collective,
    state: &State,
    given: Given<N, D>,
) -> Option<u64> {
    let is_root = usize::try_from(given.root) == Ok(state.rank);
    if collective.volume_is_known() {
        let listed = match collective {
            // SAFETY: by this function's contract.
            Collective::Allgatherv | Collective::ReduceScatter => unsafe { sum(given.recv_counts, state.size) }?,
            _ => 0,
        };
        // Calls that move no data are left to the library.
        volume(collective, state, &given, (is_root, listed)).filter(|bytes| *bytes > 0)
    } else {
        // A volume that not every rank knows counts as 0; such a collective has one rule for all sizes.
        Some(0)
    }
}

/// The sum of a list; `None` where there is none, or with a negative count.
///
/// # Safety
/// A list that is not null has `p_ranks` entries.
#[inline(never)]
unsafe fn sum<N: Number>(counts: *const N, p_ranks: usize) -> Option<i64> {
    if counts.is_null() {
        return None;
    }
    // SAFETY: by this function's contract.
    let counts = unsafe { std::slice::from_raw_parts(counts, p_ranks) };
    counts.iter().try_fold(0_i64, |sum, count| {
        let count = (*count).try_into().ok().filter(|count| *count >= 0)?;
        sum.checked_add(count)
    })
}

/// Copies a list of counts and, where there is one, of displacements.
///
/// # Safety
/// Each list that is not null has `p_ranks` entries.
unsafe fn list<N: Number, D: Number>(
    counts: *const N,
    displacements: *const D,
    (wide_counts, wide_displacements): &mut (Box<[i64]>, Box<[i64]>),
    p_ranks: usize,
) -> Option<(*const i64, *const i64)> {
    if counts.is_null() {
        return None;
    }
    // SAFETY: by this function's contract.
    let counts = unsafe { std::slice::from_raw_parts(counts, p_ranks) };
    for (wide, count) in wide_counts.iter_mut().zip(counts) {
        *wide = (*count).try_into().ok()?;
        if *wide < 0 {
            return None;
        }
    }
    if displacements.is_null() {
        return Some((wide_counts.as_ptr(), std::ptr::null()));
    }
    // SAFETY: by this function's contract.
    let displacements = unsafe { std::slice::from_raw_parts(displacements, p_ranks) };
    for (wide, displacement) in wide_displacements.iter_mut().zip(displacements) {
        *wide = (*displacement).try_into().ok()?;
    }
    Some((wide_counts.as_ptr(), wide_displacements.as_ptr()))
}

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
        Collective::ReduceLocal => kilter_abi::COLLECTIVES.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::{Meant, number};
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

    /// The standard's "significant only at root" and "ignored", function by function.
    #[test]
    fn what_a_rank_need_not_say_is_not_looked_at() {
        let meant = |collective, is_root, in_place| {
            let Meant {
                send,
                recv,
                send_list,
                recv_list,
            } = Meant::on(collective, is_root, in_place);
            [send, recv, send_list, recv_list].map(u8::from)
        };
        assert_eq!(meant(Collective::Barrier, true, false), [0, 0, 0, 0]);
        assert_eq!(meant(Collective::Bcast, false, false), [0, 1, 0, 0]);
        assert_eq!(meant(Collective::Allgather, false, false), [1, 1, 0, 0]);
        assert_eq!(meant(Collective::Allgather, false, true), [0, 1, 0, 0]);
        assert_eq!(meant(Collective::Allgatherv, false, true), [0, 1, 0, 1]);
        assert_eq!(meant(Collective::Alltoallv, false, false), [1, 1, 1, 1]);
        assert_eq!(meant(Collective::Alltoallv, false, true), [0, 1, 0, 1]);
        assert_eq!(meant(Collective::Gather, false, false), [1, 0, 0, 0]);
        assert_eq!(meant(Collective::Gather, true, true), [0, 1, 0, 0]);
        assert_eq!(meant(Collective::Gatherv, false, false), [1, 0, 0, 0]);
        assert_eq!(meant(Collective::Gatherv, true, false), [1, 1, 0, 1]);
        assert_eq!(meant(Collective::Scatterv, false, false), [0, 1, 0, 0]);
        assert_eq!(meant(Collective::Scatterv, true, true), [1, 0, 1, 0]);
        assert_eq!(meant(Collective::ReduceScatter, false, true), [0, 1, 0, 1]);
        assert_eq!(meant(Collective::Reduce, false, false), [0, 1, 0, 0]);
    }
}
