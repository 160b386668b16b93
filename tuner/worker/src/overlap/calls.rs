//! The MPI functions that are measured.
//!
//! The functions are called by their names without P: a library that is preloaded to make progress interposes those, and is measured then.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use kilter_mpi::{MPI_Comm, MPI_Datatype, MpiError, constants};
use mpi::ffi::{self, MPI_Request};

/// Messages of a benchmark have one tag: those between two ranks are received in the order in which they are sent.
const TAG_DATA: c_int = 3;
/// Zero bytes that acknowledge, or clear the sender.
const TAG_SIGNAL: c_int = 4;

/// Calls an MPI function and turns its return value into a result.
macro_rules! mpi {
    ($function:ident($($argument:expr),* $(,)?)) => {
        MpiError::check(stringify!($function), ffi::$function($($argument),*))
    };
}

/// Memory of a message and the rank at its other end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Envelope {
    /// The first byte.
    pub(super) data: *mut c_void,
    /// Elements.
    pub(super) count: c_int,
    /// Type of an element.
    pub(super) datatype: MPI_Datatype,
    /// The other rank.
    pub(super) peer: c_int,
    /// Communicator of both.
    pub(super) comm: MPI_Comm,
}

/// A non-blocking operation under way, which uses buffers that live for `'b`.
#[derive(Debug)]
#[must_use]
pub(super) struct Started<'b> {
    request: MPI_Request,
    buffers: PhantomData<&'b u8>,
}

impl<'b> Started<'b> {
    /// Starts an operation; `start` writes the request.
    ///
    /// # Safety
    /// All buffers that the operation uses live for `'b`, and nobody else uses them before it is complete.
    #[inline]
    pub(super) unsafe fn new(
        name: &'static str,
        start: impl FnOnce(&mut MPI_Request) -> c_int,
    ) -> Result<Started<'b>, MpiError> {
        let mut request = constants::request_null();
        MpiError::check(name, start(&mut request))?;
        Ok(Started {
            request,
            buffers: PhantomData,
        })
    }

    /// Returns when the operation is complete.
    #[inline]
    pub(super) fn wait(mut self) -> Result<(), MpiError> {
        // SAFETY: the request was started, and its buffers live as long as `self`.
        unsafe { mpi!(MPI_Wait(&raw mut self.request, constants::status_ignore())) }
    }
}

impl Drop for Started<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.request != constants::request_null() {
            give_up();
        }
    }
}

/// Several operations under way.
#[derive(Debug)]
#[must_use]
pub(super) struct Batch<'b> {
    requests: Vec<MPI_Request>,
    buffers: PhantomData<&'b u8>,
}

impl<'b> Batch<'b> {
    /// Room for so many.
    pub(super) fn with_capacity(requests: usize) -> Batch<'b> {
        Batch {
            requests: Vec::with_capacity(requests),
            buffers: PhantomData,
        }
    }

    /// Adds one.
    #[inline]
    pub(super) fn push(&mut self, mut started: Started<'b>) {
        self.requests
            .push(std::mem::replace(&mut started.request, constants::request_null()));
    }

    /// Returns when all are complete.
    #[inline]
    pub(super) fn wait(mut self) -> Result<(), MpiError> {
        // Far below what an int holds: `refusal` has the limit.
        let count = self.requests.len() as c_int;
        // SAFETY: the requests were started, and their buffers live as long as `self`.
        unsafe {
            mpi!(MPI_Waitall(
                count,
                self.requests.as_mut_ptr(),
                constants::statuses_ignore()
            ))
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if self
            .requests
            .iter()
            .any(|request| *request != constants::request_null())
        {
            give_up();
        }
    }
}

/// Ends the job where an operation could not be completed: the library may write into buffers that are about to be freed.
#[cold]
fn give_up() -> ! {
    crate::say(format_args!(
        "a call failed while messages were under way; the job ends"
    ));
    // SAFETY: MPI is initialised, or nothing could be under way.
    unsafe { kilter_mpi::abort(constants::comm_world(), 1) }
}

/// `MPI_Isend`.
///
/// # Safety
/// The envelope's memory lives for `'b`, and is not written before the message is gone.
#[inline]
pub(super) unsafe fn isend<'b>(of: Envelope) -> Result<Started<'b>, MpiError> {
    // SAFETY: by this function's contract.
    unsafe {
        Started::new("MPI_Isend", |request| {
            ffi::MPI_Isend(of.data, of.count, of.datatype, of.peer, TAG_DATA, of.comm, request)
        })
    }
}

/// `MPI_Irecv`.
///
/// # Safety
/// The envelope's memory lives for `'b`, and nobody else uses it before the message is there.
#[inline]
pub(super) unsafe fn irecv<'b>(of: Envelope) -> Result<Started<'b>, MpiError> {
    // SAFETY: by this function's contract.
    unsafe {
        Started::new("MPI_Irecv", |request| {
            ffi::MPI_Irecv(of.data, of.count, of.datatype, of.peer, TAG_DATA, of.comm, request)
        })
    }
}

/// `MPI_Send`.
///
/// # Safety
/// The envelope's memory is valid.
#[inline]
pub(super) unsafe fn send(of: Envelope) -> Result<(), MpiError> {
    // SAFETY: by this function's contract.
    unsafe { mpi!(MPI_Send(of.data, of.count, of.datatype, of.peer, TAG_DATA, of.comm)) }
}

/// `MPI_Recv`.
///
/// # Safety
/// The envelope's memory is valid, and nobody else uses it.
#[inline]
pub(super) unsafe fn receive(of: Envelope) -> Result<(), MpiError> {
    let status = constants::status_ignore();
    // SAFETY: by this function's contract.
    unsafe {
        mpi!(MPI_Recv(
            of.data,
            of.count,
            of.datatype,
            of.peer,
            TAG_DATA,
            of.comm,
            status
        ))
    }
}

/// `MPI_Send` of zero bytes.
#[inline]
pub(super) fn signal(comm: MPI_Comm, to: usize) -> Result<(), MpiError> {
    let nothing = 0_u64;
    let data = (&raw const nothing).cast();
    // SAFETY: no byte is read.
    unsafe { mpi!(MPI_Send(data, 0, constants::byte(), to as c_int, TAG_SIGNAL, comm)) }
}

/// `MPI_Recv` of zero bytes.
#[inline]
pub(super) fn await_signal(comm: MPI_Comm, from: usize) -> Result<(), MpiError> {
    let mut nothing = 0_u64;
    let (data, status) = ((&raw mut nothing).cast(), constants::status_ignore());
    // SAFETY: no byte is written.
    unsafe {
        mpi!(MPI_Recv(
            data,
            0,
            constants::byte(),
            from as c_int,
            TAG_SIGNAL,
            comm,
            status
        ))
    }
}
