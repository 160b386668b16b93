//! Steps of a side on one rank, all worked out before the measurement.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, MpiError};
use kilter_protocol::expression::Single;
use mpi::ffi::{self, MPI_Request, MPI_Status, MPI_Win};

use super::calls::Call;

/// Tags by purpose.
const TAG_DATA: c_int = 7;
const TAG_READY: c_int = 8;

/// One action of one rank. Pointers are into the item's buffers or its scratch, which outlive the program.
#[derive(Debug)]
pub(crate) enum Step {
    /// Local copy.
    Copy {
        /// Source.
        from: *const u8,
        /// Destination, elsewhere.
        to: *mut u8,
        /// Number of bytes.
        bytes: usize,
    },
    /// Writes zeros.
    Zero {
        /// Start.
        at: *mut u8,
        /// Number of bytes.
        bytes: usize,
    },
    /// `MPI_Reduce_local`.
    Combine {
        /// Added operand.
        from: *const c_void,
        /// Operand to which it is added.
        to: *mut c_void,
        /// Elements.
        count: c_int,
        /// Their type.
        datatype: MPI_Datatype,
        /// Operator.
        op: MPI_Op,
    },
    /// A blocking collective.
    Collective(Box<Call>),
    /// A non-blocking collective, completed by [`Step::WaitAll`].
    Start(Box<Call>, usize),
    /// Starts a persistent collective, completed by [`Step::WaitAll`].
    StartPersistent(usize),
    /// A message to or from one rank.
    Message(Single, Message),
    /// Sends or receives the empty message that says that a receive is posted.
    Ready {
        /// True if this rank decides.
        says: bool,
        /// The other.
        peer: c_int,
        /// The communicator.
        comm: MPI_Comm,
    },
    /// Send to one and receive from another.
    Sendrecv(Message, Message),
    /// Completes everything outstanding.
    WaitAll,
    /// `MPI_Pack` of one element of a type.
    Pack {
        /// Strided data.
        from: *const c_void,
        /// Its type.
        datatype: MPI_Datatype,
        /// Contiguous data.
        to: *mut c_void,
        /// Its length in bytes.
        bytes: c_int,
        /// Any communicator.
        comm: MPI_Comm,
    },
    /// `MPI_Unpack` of one element of a type.
    Unpack {
        /// Contiguous data.
        from: *const c_void,
        /// Its length in bytes.
        bytes: c_int,
        /// Strided data.
        to: *mut c_void,
        /// Its type.
        datatype: MPI_Datatype,
        /// Any communicator.
        comm: MPI_Comm,
    },
    /// `MPI_Win_fence`.
    Fence,
    /// `MPI_Put` or `MPI_Get`.
    OneSided(Single, Message, ffi::MPI_Aint),
}

/// One end of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    /// The data.
    pub(crate) data: *mut c_void,
    /// Elements.
    pub(crate) count: c_int,
    /// Their type.
    pub(crate) datatype: MPI_Datatype,
    /// The rank at the other end.
    pub(crate) peer: c_int,
    /// The communicator.
    pub(crate) comm: MPI_Comm,
    /// Place of its request, if it has one.
    pub(crate) request: usize,
}

/// State that steps share.
#[derive(Debug)]
pub(crate) struct State {
    /// Requests, null or inactive between two runs.
    pub(crate) requests: Vec<MPI_Request>,
    /// Filled by waits and not read.
    pub(crate) statuses: Vec<MPI_Status>,
    /// The window of one-sided steps.
    pub(crate) window: MPI_Win,
}

impl Step {
    /// Carries it out.
    ///
    /// # Safety
    /// The step was compiled for the buffers, communicators and requests that are there now, and every rank runs its own.
    #[inline]
    pub(crate) unsafe fn run(&self, state: &mut State) -> Result<(), MpiError> {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Step::Copy { from, to, bytes } => {
                    to.copy_from_nonoverlapping(*from, *bytes);
                    Ok(())
                }
                Step::Zero { at, bytes } => {
                    at.write_bytes(0, *bytes);
                    Ok(())
                }
                Step::Combine {
                    from,
                    to,
                    count,
                    datatype,
                    op,
                } => MpiError::check(
                    "MPI_Reduce_local",
                    ffi::PMPI_Reduce_local(*from, *to, *count, *datatype, *op),
                ),
                Step::Collective(call) => call.block(),
                Step::Start(call, request) => call.start(&mut state.requests[*request]),
                Step::StartPersistent(request) => {
                    MpiError::check("MPI_Start", ffi::PMPI_Start(&raw mut state.requests[*request]))
                }
                Step::Message(single, message) => message.run(*single, state),
                Step::Ready { says, peer, comm } => ready(*says, *peer, *comm),
                Step::Sendrecv(send, recv) => sendrecv(send, recv),
                Step::WaitAll => MpiError::check(
                    "MPI_Waitall",
                    ffi::PMPI_Waitall(
                        state.requests.len() as c_int,
                        state.requests.as_mut_ptr(),
                        state.statuses.as_mut_ptr(),
                    ),
                ),
                Step::Pack {
                    from,
                    datatype,
                    to,
                    bytes,
                    comm,
                } => {
                    let mut position = 0;
                    let code = ffi::PMPI_Pack(*from, 1, *datatype, *to, *bytes, &raw mut position, *comm);
                    MpiError::check("MPI_Pack", code)
                }
                Step::Unpack {
                    from,
                    bytes,
                    to,
                    datatype,
                    comm,
                } => {
                    let mut position = 0;
                    let code = ffi::PMPI_Unpack(*from, *bytes, &raw mut position, *to, 1, *datatype, *comm);
                    MpiError::check("MPI_Unpack", code)
                }
                Step::Fence => MpiError::check("MPI_Win_fence", ffi::PMPI_Win_fence(0, state.window)),
                Step::OneSided(single, message, begin) => message.one_sided(*single, *begin, state.window),
            }
        }
    }
}

impl Message {
    /// # Safety
    /// As for [`Step::run`].
    unsafe fn run(&self, single: Single, state: &mut State) -> Result<(), MpiError> {
        let &Message {
            data,
            count,
            datatype,
            peer,
            comm,
            request,
        } = self;
        let mut status = MaybeUninit::<MPI_Status>::uninit();
        // SAFETY: by this function's contract; the status is written.
        let code = unsafe {
            match single {
                Single::Ssend => ffi::PMPI_Ssend(data, count, datatype, peer, TAG_DATA, comm),
                Single::Rsend => ffi::PMPI_Rsend(data, count, datatype, peer, TAG_DATA, comm),
                Single::Isend => ffi::PMPI_Isend(
                    data,
                    count,
                    datatype,
                    peer,
                    TAG_DATA,
                    comm,
                    &raw mut state.requests[request],
                ),
                Single::Irecv => ffi::PMPI_Irecv(
                    data,
                    count,
                    datatype,
                    peer,
                    TAG_DATA,
                    comm,
                    &raw mut state.requests[request],
                ),
                Single::Recv => ffi::PMPI_Recv(data, count, datatype, peer, TAG_DATA, comm, status.as_mut_ptr()),
                _ => ffi::PMPI_Send(data, count, datatype, peer, TAG_DATA, comm),
            }
        };
        MpiError::check(single.mpi_name(), code)
    }

    /// # Safety
    /// As for [`Step::run`]; the target's window holds the bytes from `begin` on.
    unsafe fn one_sided(&self, single: Single, begin: ffi::MPI_Aint, window: MPI_Win) -> Result<(), MpiError> {
        let &Message {
            data,
            count,
            datatype,
            peer,
            ..
        } = self;
        // SAFETY: by this function's contract.
        let code = unsafe {
            if single == Single::Put {
                ffi::PMPI_Put(data, count, datatype, peer, begin, count, datatype, window)
            } else {
                ffi::PMPI_Get(data, count, datatype, peer, begin, count, datatype, window)
            }
        };
        MpiError::check(single.mpi_name(), code)
    }
}

unsafe fn ready(says: bool, peer: c_int, comm: MPI_Comm) -> Result<(), MpiError> {
    let mut nothing = [0_u64; 1];
    let (data, byte) = (nothing.as_mut_ptr().cast(), kilter_mpi::constants::byte());
    let mut status = MaybeUninit::<MPI_Status>::uninit();
    // SAFETY: empty messages; both ranks take part.
    unsafe {
        if says {
            MpiError::check("MPI_Send", ffi::PMPI_Send(data, 0, byte, peer, TAG_READY, comm))
        } else {
            MpiError::check(
                "MPI_Recv",
                ffi::PMPI_Recv(data, 0, byte, peer, TAG_READY, comm, status.as_mut_ptr()),
            )
        }
    }
}

/// # Safety
/// As for [`Step::run`].
unsafe fn sendrecv(send: &Message, recv: &Message) -> Result<(), MpiError> {
    let mut status = MaybeUninit::<MPI_Status>::uninit();
    // SAFETY: by this function's contract; the status is written.
    MpiError::check("MPI_Sendrecv", unsafe {
        ffi::PMPI_Sendrecv(
            send.data,
            send.count,
            send.datatype,
            send.peer,
            TAG_DATA,
            recv.data,
            recv.count,
            recv.datatype,
            recv.peer,
            TAG_DATA,
            send.comm,
            status.as_mut_ptr(),
        )
    })
}
