//! Tests and probes, which look for something and do not wait for it.
//!
//! On x86-64 the exported names know a poll that may go the short way (`short`) by its call site, before anything is done for it. On other processors all
//! polls go the ordinary way.

use std::ffi::c_int;

use kilter_mpi::MPI_Comm;
use mpi_sys::{MPI_Message, MPI_Request, MPI_Status};

use super::messages::asks;
use crate::call::{Call, Data};
use crate::record::{no_status, wanted};
use crate::trace::act::{Done, Kind, bits_of};
use crate::trace::completion::{noted, traced};

type Ints = *mut c_int;
type Requests = *mut MPI_Request;
type Statuses = *mut MPI_Status;

/// Exports a name for a poll: for the function `short` of its module where the thread has polls left that are not timed and polled from here last, else for
/// `counted`.
#[cfg(target_arch = "x86_64")]
macro_rules! exported {
    ($function:ident $name:ident $arguments:tt) => {
        super::exported!($name $arguments {
            "cmp dword ptr fs:[rax + {left}], 0",
            "je 2f",
            "cmp qword ptr fs:[rax + {site}], r11",
            "je {short}",
            "2:",
        } {
            left = const $crate::short::LEFT,
            site = const $crate::short::site(kilter_protocol::functions::Function::$function),
            short = sym short,
        } = counted);
    };
}

/// Exports a name for a poll.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! exported {
    ($function:ident $name:ident $arguments:tt) => {
        super::exported!($name $arguments = counted);
    };
}

/// The function of a poll on the short way. It calls what the ordinary way has called before: a place is known by it.
#[cfg(target_arch = "x86_64")]
macro_rules! short_form {
    ($function:ident ($($argument:ident: $type:ty),*) $found:ident {$($kept:tt)*} $call:tt) => {
        unsafe extern "C" fn short($($argument: $type),*) -> c_int {
            // SAFETY: the caller's call is valid, and what it names lives until it has returned. The exported name has found the thread at this place.
            unsafe {
                $($kept)*
                #[allow(unused_parens, reason = "the expression comes in parentheses")]
                let call: Call<N> = $call;
                let Some(poll) = $crate::short::Short::begun(kilter_protocol::functions::Function::$function, &call) else {
                    return counted($($argument),*);
                };
                let code = super::called!(REAL.known() => ($($argument => $type),*));
                if code == 0 && *$found == 0 {
                    poll.in_vain();
                } else {
                    poll.ended(code != 0, code == 0 && call.act.looked_in_vain().is_none());
                }
                code
            }
        }
    };
}

/// There is none.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! short_form {
    ($function:ident $arguments:tt $found:ident $kept:tt $call:tt) => {};
}

/// Functions that poll, with the argument to which they write 0 where they have found nothing. Of what stands before the library's call both ways have what
/// is in the first braces, the ordinary one what is in the second.
macro_rules! polls {
    ($($function:ident $mpi:ident $pmpi:ident $arguments:tt finds $found:ident {$($kept:tt)*} {$($before:tt)*} => $call:tt;)*) => {$(
        const _: () = {
            type N = c_int;
            exported!($function $mpi $arguments);
            exported!($function $pmpi $arguments);
            short_form!($function $arguments $found {$($kept)*} $call);
            super::counted_form!($function $pmpi $arguments {$($kept)* $($before)*} $call);
        };
    )*};
}

// Tests have no communicator; the number of requests is counted.
polls! {
    Test MPI_Test PMPI_Test (request: Requests, flag: Ints, status: Statuses) finds flag
        { let handle = bits_of(request); }
        { let mut own = no_status(); let status = traced(status, &raw mut own); } =>
        (Call::without_communicator(Data::Requests(1)).completes(Done::One(handle, flag), status));
    Testall MPI_Testall PMPI_Testall (count: c_int, requests: Requests, flag: Ints, statuses: Statuses) finds flag
        {} { let statuses = noted(count, requests, statuses); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::All(flag), statuses));
    Testany MPI_Testany PMPI_Testany (count: c_int, requests: Requests, index: Ints, flag: Ints, status: Statuses) finds flag
        {} { let status = noted(count, requests, status); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::Any(index, flag), status));
    Testsome MPI_Testsome PMPI_Testsome (count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses) finds done
        {} { let statuses = noted(count, requests, statuses); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::Some(done, indices), statuses));
    Iprobe MPI_Iprobe PMPI_Iprobe (from: c_int, tag: c_int, comm: MPI_Comm, flag: Ints, status: Statuses) finds flag
        {} { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (asks(comm, from, tag).kind(Kind::Probes(flag, std::ptr::null())).status(status));
    Improbe MPI_Improbe PMPI_Improbe (from: c_int, tag: c_int, comm: MPI_Comm, flag: Ints, message: *mut MPI_Message, status: Statuses) finds flag
        {} { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (asks(comm, from, tag).kind(Kind::Probes(flag, message)).status(status));
}
