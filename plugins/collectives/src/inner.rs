//! Calls inside a row that is made of collectives: carried out as they are deployed, else by the library.

use std::ffi::c_int;
use std::sync::OnceLock;

use kilter_abi::{Arguments, CallDeployed, Context, UNAVAILABLE};
use kilter_algorithms::Collective;
use kilter_mpi::{Arena, CallArguments, Caller, Division, Library, MPI_Comm, MpiError, constants, layout};

/// Room for the lists of a call with counts, kept from call to call.
#[derive(Debug, Default)]
pub struct Lists {
    counts: Vec<i64>,
    displacements: Vec<i64>,
}

/// Asks somebody to carry a call out in the form of the ABI; the answer is that of `kilter_context.call`.
pub struct AsDeployed<'a, F> {
    /// Whom it asks.
    pub ask: F,
    /// Room for lists.
    pub lists: &'a mut Lists,
}

/// Asks the host of a plugin for what is deployed on the communicator of a context, for calls inside one that is under way. `None` where the
/// host has no such function.
///
/// # Safety
/// The context is lent for the call under way, and stays as long as what is returned.
pub(crate) unsafe fn host(
    context: *mut Context,
    under_way: *const Arguments,
) -> Option<impl FnMut(&Arguments) -> c_int> {
    // SAFETY: by this function's contract.
    let call: CallDeployed = unsafe { Context::caller(context) }?;
    // SAFETY: by this function's contract; all ranks make the call, as that of a composition.
    Some(move |inner: &Arguments| unsafe { call(context, under_way, inner) })
}

impl<F: FnMut(&Arguments) -> c_int> Caller for AsDeployed<'_, F> {
    unsafe fn call(
        &mut self,
        collective: Collective,
        comm: MPI_Comm,
        arguments: &CallArguments,
        blocks: Division<'_>,
        arena: &mut Arena,
    ) -> Result<(), MpiError> {
        // A call without data is nobody's, and one of no other ranks is the library's.
        if arguments.count > 0 && collective != Collective::ReduceLocal {
            let ranks = arena.place(comm)?;
            let inner = describe(collective, ranks, arguments, blocks, self.lists)?;
            let code = (self.ask)(&inner);
            if code != UNAVAILABLE {
                return MpiError::check(collective.mpi_name(), code);
            }
        }
        // SAFETY: the same contract.
        unsafe { Library.call(collective, comm, arguments, blocks, arena) }
    }
}

/// The call in the form of the ABI; its lists are in `lists`.
fn describe(
    collective: Collective,
    (rank, p_ranks): (usize, usize),
    arguments: &CallArguments,
    blocks: Division<'_>,
    lists: &mut Lists,
) -> Result<Arguments, MpiError> {
    let &CallArguments {
        send,
        recv,
        count,
        datatype,
        op,
        root,
    } = arguments;
    let null = constants::datatype_null();
    let (block, whole) = (blocks.block(rank, p_ranks, count).1 as i64, count as i64);
    let mut inner = Arguments {
        struct_size: size_of::<Arguments>() as u32,
        collective: number(collective),
        algorithm: std::ptr::null(),
        send,
        recv,
        send_count: 0,
        recv_count: 0,
        send_type: null,
        recv_type: datatype,
        send_counts: std::ptr::null(),
        send_displacements: std::ptr::null(),
        recv_counts: std::ptr::null(),
        recv_displacements: std::ptr::null(),
        op: if collective.has_operator() {
            op
        } else {
            constants::op_null()
        },
        root: if collective.has_root() { root } else { 0 },
        bytes: if collective.volume_is_known() {
            count as u64 * layout::size(datatype)? as u64
        } else {
            0
        },
        parameters: std::ptr::null(),
    };
    if !collective.has_operator() && collective != Collective::Bcast {
        inner.send_type = datatype;
    }
    if collective.has_counts() {
        lists.fill(blocks, p_ranks, count);
    }
    let (counts, displacements) = (lists.counts.as_ptr(), lists.displacements.as_ptr());
    match collective {
        Collective::Allgather | Collective::Alltoall | Collective::Gather | Collective::Scatter => {
            (inner.send_count, inner.recv_count) = (block, block);
        }
        Collective::Allgatherv | Collective::Gatherv => {
            inner.send_count = block;
            (inner.recv_counts, inner.recv_displacements) = (counts, displacements);
        }
        Collective::Alltoallv => {
            (inner.send_counts, inner.send_displacements) = (counts, displacements);
            (inner.recv_counts, inner.recv_displacements) = (counts, displacements);
        }
        Collective::Scatterv => {
            (inner.send_counts, inner.send_displacements) = (counts, displacements);
            inner.recv_count = block;
        }
        Collective::ReduceScatter => inner.recv_counts = counts,
        Collective::ReduceScatterBlock => inner.recv_count = block,
        _ => inner.recv_count = whole,
    }
    Ok(inner)
}

impl Lists {
    fn fill(&mut self, blocks: Division<'_>, p_ranks: usize, count: usize) {
        self.counts.clear();
        self.displacements.clear();
        let mut end = 0;
        for rank in 0..p_ranks {
            let length = match blocks {
                Division::Equal => (count / p_ranks) as i64,
                Division::Counts(counts) => counts.get(rank).copied().map_or(0, i64::from),
            };
            self.counts.push(length);
            self.displacements.push(end);
            end += length;
        }
    }
}

/// The ABI's number of a collective, found once.
fn number(collective: Collective) -> u32 {
    static NUMBERS: OnceLock<Vec<u32>> = OnceLock::new();
    let all = || {
        let number = |one: &Collective| kilter_abi::collective_number(one.name()).unwrap_or(u32::MAX);
        Collective::ALL.iter().map(number).collect()
    };
    NUMBERS.get_or_init(all)[collective as usize]
}
