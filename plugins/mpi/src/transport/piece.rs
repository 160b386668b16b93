//! A piece of a message under way, and what came of it.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use kilter_algorithms::TransportError;
use mpi_sys::{MPI_Request, MPI_Status};

use crate::{MpiError, constants};

/// A piece of a message.
pub(super) struct Piece {
    pub(super) request: MPI_Request,
    /// Bytes to come; `None` for a message sent.
    pub(super) expected: Option<usize>,
}

/// A piece that nobody has waited for, since an error came between: MPI must not write to the buffer once its owner has it back.
impl Drop for Piece {
    #[inline]
    fn drop(&mut self) {
        if self.request != constants::request_null() {
            give_up(&mut self.request, self.expected.is_some());
        }
    }
}

/// Ends a receive without its message. A send is left to end by itself: to wait for it might take for ever, and MPI only reads there.
#[cold]
fn give_up(request: &mut MPI_Request, is_receive: bool) {
    // SAFETY: the request is active. What these return changes nothing: the error that led here is on its way.
    unsafe {
        if is_receive {
            mpi_sys::PMPI_Cancel(request);
            mpi_sys::PMPI_Wait(request, constants::status_ignore());
        } else {
            mpi_sys::PMPI_Request_free(request);
        }
    }
}

/// Waits for a piece.
#[inline]
pub(super) fn complete(operation: &'static str, peer: usize, mut piece: Piece) -> Result<(), TransportError> {
    let Some(expected) = piece.expected else {
        // SAFETY: the request is active (it is consumed here) and its buffer still lent.
        let code = unsafe { mpi_sys::PMPI_Wait(&raw mut piece.request, constants::status_ignore()) };
        return MpiError::check(operation, code).map_err(|error| error.with_peer(peer));
    };
    let mut status = MaybeUninit::zeroed();
    // SAFETY: as above; the call fills the status.
    let (code, status): (c_int, MPI_Status) = unsafe {
        let code = mpi_sys::PMPI_Wait(&raw mut piece.request, status.as_mut_ptr());
        (code, status.assume_init())
    };
    MpiError::check(operation, code).map_err(|error| error.with_peer(peer))?;
    check_length(&status, peer, expected)
}

#[inline]
pub(super) fn bytes(operation: &'static str, peer: usize, length: usize) -> Result<c_int, TransportError> {
    MpiError::count(operation, length).map_err(|error| error.with_peer(peer))
}

/// Checks how much came.
#[inline]
pub(super) fn check_length(status: &MPI_Status, peer: usize, expected: usize) -> Result<(), TransportError> {
    match constants::received_bytes(status) {
        Some(got) if got == expected => Ok(()),
        got => Err(TransportError::Length {
            peer,
            expected,
            got: got.unwrap_or(usize::MAX),
        }),
    }
}
