//! The effect of a call on messages and requests, as the wrappers say it.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Datatype, constants, handle};
use mpi_sys::{MPI_Message, MPI_Request, MPI_Status};

use crate::number::Number;

/// A side of a message, as the program gave it.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    pub(crate) buffer: *const c_void,
    pub(crate) count: u64,
    pub(crate) datatype: MPI_Datatype,
    pub(crate) peer: c_int,
    pub(crate) tag: c_int,
}

impl Side {
    #[inline]
    pub(crate) fn new<N: Number>(
        buffer: *const c_void,
        count: N,
        datatype: MPI_Datatype,
        peer: c_int,
        tag: c_int,
    ) -> Side {
        Side {
            buffer,
            count: count.unsigned(),
            datatype,
            peer,
            tag,
        }
    }
}

/// Requests that a call has completed. Pointers are those that the library wrote to.
#[derive(Clone, Copy)]
pub(crate) enum Done {
    /// That of this handle before the call, if the flag is null or set.
    One(usize, *const c_int),
    /// All, if the flag is null or set.
    All(*const c_int),
    /// That of the index, if there is one and the flag is null or set.
    Any(*const c_int, *const c_int),
    /// So many, at these indices.
    Some(*const c_int, *const c_int),
}

/// Kinds of acts.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Messages are sent, received or begun; or none is.
    Messages,
    /// The message is sent from the buffer into which another one is received.
    Replaces,
    /// A persistent operation is prepared.
    Prepares,
    /// So many persistent operations are started.
    Starts(c_int),
    /// A message is looked for. The flag is null for a call that waits for one.
    Probes(*const c_int, *const MPI_Message),
    /// A message that was found is received. The number is that of the handle before the call.
    ReceivesFound(usize),
    /// Requests are completed.
    Completes(Done),
    /// A request is given up. The number is that of the handle before the call.
    Frees(usize),
    /// A request is asked to be cancelled.
    Cancels,
    /// Data that stay here are shown.
    Shows,
}

/// The effect of a call.
#[derive(Clone, Copy)]
pub(crate) struct Act {
    pub(crate) kind: Kind,
    pub(crate) sends: Option<Side>,
    pub(crate) receives: Option<Side>,
    /// Statuses of what was received or found; null if the operation is only begun.
    pub(crate) status: *const MPI_Status,
    /// Requests that were made or are started; null if there are none.
    pub(crate) request: *const MPI_Request,
}

impl Act {
    /// The source and tag for which a probe looked in vain; zeros for a test of requests in vain. `None` for a call that found something, or that has
    /// no flag.
    ///
    /// # Safety
    /// The call has returned 0.
    #[inline(always)]
    pub(crate) unsafe fn looked_in_vain(&self) -> Option<(c_int, c_int)> {
        let (flag, asked) = match self.kind {
            // A request that is null is complete and no operation.
            Kind::Completes(Done::One(request, _)) if request == handle::bits(constants::request_null()) => {
                return Some((0, 0));
            }
            // `MPI_UNDEFINED` says the same of all requests of a list.
            // SAFETY: null, or an int that the library has written, by this function's contract.
            Kind::Completes(Done::Any(index, _)) if unsafe { is_undefined(index) } => return Some((0, 0)),
            // SAFETY: as above.
            Kind::Completes(Done::Some(found, _)) if unsafe { is_undefined(found) } => return Some((0, 0)),
            // The number of requests that `MPI_Testsome` completed is 0 where a flag would be.
            Kind::Completes(Done::One(_, flag) | Done::All(flag) | Done::Any(_, flag) | Done::Some(flag, _)) => {
                (flag, (0, 0))
            }
            Kind::Probes(flag, _) => (flag, self.receives.map_or((0, 0), |side| (side.peer, side.tag))),
            _ => return None,
        };
        // SAFETY: null, or an int that the library has written, by this function's contract.
        unsafe { flag.as_ref() }.filter(|flag| **flag == 0).map(|_| asked)
    }

    /// Nothing.
    pub(crate) const NONE: Act = Act {
        kind: Kind::Messages,
        sends: None,
        receives: None,
        status: std::ptr::null(),
        request: std::ptr::null(),
    };
}

/// True if the library has written `MPI_UNDEFINED`.
///
/// # Safety
/// The pointer is null, or the library has written to what it points at.
#[inline(always)]
unsafe fn is_undefined(number: *const c_int) -> bool {
    // SAFETY: by this function's contract.
    unsafe { number.as_ref() }.is_some_and(|number| *number == constants::undefined())
}

/// The status, if the program has not asked for none.
///
/// # Safety
/// It is none, or the library has filled it.
#[inline]
pub(crate) unsafe fn known<'s>(status: *const MPI_Status) -> Option<&'s MPI_Status> {
    if status.cast_mut() == constants::status_ignore() || status.cast_mut() == constants::statuses_ignore() {
        return None;
    }
    // SAFETY: by this function's contract.
    unsafe { status.as_ref() }
}

/// Bits of the handle of a message or request; 0 of none.
///
/// # Safety
/// The pointer is the program's argument.
#[inline]
pub(crate) unsafe fn bits_of<T: Copy>(pointer: *const T) -> usize {
    if pointer.is_null() {
        return 0;
    }
    // SAFETY: by this function's contract, and not null.
    handle::bits(unsafe { *pointer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vain(kind: Kind) -> Option<(c_int, c_int)> {
        let byte = constants::byte();
        let side = Side::new::<c_int>(std::ptr::null(), 0, byte, 3, 7);
        let act = Act {
            kind,
            receives: Some(side),
            ..Act::NONE
        };
        // SAFETY: all pointers of the tests are to ints.
        unsafe { act.looked_in_vain() }
    }

    #[test]
    fn every_test_and_probe_says_if_it_found_nothing() {
        let (no, yes, undefined) = (&0, &1, &constants::undefined());
        let (index, null) = (&2, handle::bits(constants::request_null()));
        let completes = |done| vain(Kind::Completes(done));
        assert_eq!(completes(Done::One(null + 1, no)), Some((0, 0)));
        assert_eq!(completes(Done::One(null + 1, yes)), None);
        assert_eq!(completes(Done::One(null, yes)), Some((0, 0)), "no operation");
        assert_eq!(completes(Done::All(no)), Some((0, 0)));
        assert_eq!(completes(Done::All(yes)), None);
        assert_eq!(completes(Done::Any(undefined, no)), Some((0, 0)));
        assert_eq!(completes(Done::Any(index, yes)), None);
        assert_eq!(completes(Done::Any(undefined, yes)), Some((0, 0)), "no operation");
        assert_eq!(completes(Done::Some(no, std::ptr::null())), Some((0, 0)));
        assert_eq!(completes(Done::Some(yes, index)), None);
        assert_eq!(
            completes(Done::Some(undefined, std::ptr::null())),
            Some((0, 0)),
            "no operation"
        );
        // Iprobe, and Improbe.
        let written = 0_usize;
        for message in [std::ptr::null(), std::ptr::from_ref(&written).cast()] {
            assert_eq!(vain(Kind::Probes(no, message)), Some((3, 7)));
            assert_eq!(vain(Kind::Probes(yes, message)), None);
        }
        // A call that waits has no flag.
        assert_eq!(vain(Kind::Probes(std::ptr::null(), std::ptr::null())), None);
        assert_eq!(completes(Done::All(std::ptr::null())), None);
    }
}
