//! Tests and probes, which look for something and do not wait for it.
//!
//! On x86-64 the exported names have the short way in them (`short`): they know a poll that may go it by its call site, before anything is done for it. On
//! other processors all polls go the ordinary way.

use std::ffi::c_int;

use kilter_mpi::MPI_Comm;
#[cfg(target_arch = "x86_64")]
use kilter_protocol::functions::Function;
use mpi_sys::{MPI_Message, MPI_Request, MPI_Status};

use super::messages::asks;
use crate::call::{Call, Data};
use crate::record::{no_status, wanted};
use crate::trace::act::{Done, Kind, bits_of};
use crate::trace::completion::{noted, traced};

type Ints = *mut c_int;
type Requests = *mut MPI_Request;
type Statuses = *mut MPI_Status;

/// Exports a name for a poll. It goes the short way if it comes from where the thread called the function last, outside of MPI and with polls left that are
/// not timed, asks for the same, and calls are counted; else it is for `counted`, with all registers as they came. First come the parts in which functions
/// differ: what says that a poll asks for something else (to `2`), and keeps of its arguments what the library overwrites; what counts its requests in the
/// cell at `r10`.
///
/// A poll is counted before the library looks: behind that, the processor would wait for the cell. If it fails, `ended` takes it back.
#[cfg(target_arch = "x86_64")]
macro_rules! exported {
    // The handle of the request tells later if there was one. It is an address or an int.
    (request $function:ident $name:ident $arguments:tt $found:literal) => {
        exported!($function $name $arguments $found {
            "test rdi, rdi",
            "je 2f",
            ".if {handle} == 8",
            "mov rcx, qword ptr [rdi]",
            ".else",
            "mov ecx, dword ptr [rdi]",
            ".endif",
            "mov qword ptr fs:[rax + {kept}], rcx",
        } {
            "inc qword ptr [r10 + {requests}]",
        } {
            handle = const size_of::<MPI_Request>(),
            kept = const $crate::short::KEPT,
            requests = const $crate::table::Cell::AMOUNT,
        });
    };
    // Many requests: their number comes first. The third argument points to an index, a number or the flag.
    (requests $function:ident $name:ident $arguments:tt $found:literal) => {
        exported!($function $name $arguments $found {
            "cmp dword ptr fs:[rax + {bits}], edi",
            "jne 2f",
            "mov qword ptr fs:[rax + {kept}], rdx",
        } {
            "mov r11d, edi",
            "add qword ptr [r10 + {requests}], r11",
        } {
            bits = const $crate::short::bits(Function::$function),
            kept = const $crate::short::KEPT,
            requests = const $crate::table::Cell::AMOUNT,
        });
    };
    // A message on the communicator of the third argument, an address or an int. The handle of one that is gone comes back for another one.
    (message $function:ident $name:ident $arguments:tt $found:literal) => {
        exported!($function $name $arguments $found {
            ".if {handle} == 8",
            "cmp qword ptr fs:[rax + {bits}], rdx",
            ".else",
            "cmp dword ptr fs:[rax + {bits}], edx",
            ".endif",
            "jne 2f",
            "mov r10, qword ptr [rip + {generations}]",
            "cmp qword ptr fs:[rax + {generation}], r10",
            "jne 2f",
        } {} {
            handle = const size_of::<MPI_Comm>(),
            bits = const $crate::short::bits(Function::$function),
            generation = const $crate::short::generation(Function::$function),
            generations = sym $crate::communicator::GENERATION,
        });
    };
    ($function:ident $name:ident $arguments:tt $found:literal {$($asks:literal,)*} {$($requests:literal,)*} {$($operands:tt)*}) => {
        super::exported!($name $arguments {
            "cmp qword ptr fs:[rax + {site}], r11",
            "jne 2f",
            "cmp qword ptr fs:[rax + {gate}], 0",
            "jle 2f",
            "cmp qword ptr [rip + {active}], 0",
            "je 2f",
            $($asks,)*
            "mov r10, qword ptr fs:[rax + {cell}]",
            "inc qword ptr [r10 + {calls}]",
            $($requests,)*
            // Where the library writes 0 if it finds nothing. The stack is aligned by it.
            $found,
            ".cfi_adjust_cfa_offset 8",
            "add qword ptr fs:[rax + {gate}], {into_untimed}",
            "call qword ptr [rip + {real} + {address}]",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "test eax, eax",
            "jne 3f",
            "cmp dword ptr [rsi], 0",
            "jne 3f",
            "mov rdx, qword ptr [rip + kilter_tracer_thread@GOTTPOFF]",
            "add qword ptr fs:[rdx + {gate}], {out}",
            "ret",
            "3:",
            "mov edi, eax",
            "jmp {ended}",
            "2:",
        } {
            site = const $crate::short::site(Function::$function),
            gate = const $crate::short::GATE,
            active = sym $crate::start::ACTIVE,
            into_untimed = const $crate::gate::Gate::INTO_UNTIMED,
            real = sym REAL,
            address = const kilter_mpi::Real::ADDRESS,
            cell = const $crate::short::cell(Function::$function),
            calls = const $crate::table::Cell::CALLS,
            out = const $crate::gate::Gate::OUT,
            ended = sym ended,
            $($operands)*
        } = counted);
    };
}

/// Exports a name for a poll.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! exported {
    ($asks:ident $function:ident $name:ident $arguments:tt $found:literal) => {
        super::exported!($name $arguments = counted);
    };
}

/// The function to which a poll goes from the short way that does not end as most do.
#[cfg(target_arch = "x86_64")]
macro_rules! ended {
    ($function:ident |$found:ident, $kept:ident| $act:expr) => {
        unsafe extern "C" fn ended(code: c_int, $found: *const c_int) -> c_int {
            // SAFETY: the exported name has called the library, which has written to where it says what it found if it returned 0.
            unsafe { $crate::short::ended(Function::$function, code, |$kept: usize| $act) }
        }
    };
}

/// There is no short way.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! ended {
    ($function:ident |$found:ident, $kept:ident| $act:expr) => {};
}

/// Functions that poll. Behind `short` stand what a poll asks for, the instruction that keeps the address to which 0 is written where it has found nothing,
/// and its act by that address and what else was kept.
macro_rules! polls {
    ($($function:ident $mpi:ident $pmpi:ident $arguments:tt
        short $asks:ident $found:literal |$at:ident, $kept:ident| $act:tt
        $before:tt => $call:tt;)*) => {$(
        const _: () = {
            type N = c_int;
            exported!($asks $function $mpi $arguments $found);
            exported!($asks $function $pmpi $arguments $found);
            ended!($function |$at, $kept| $act);
            super::counted_form!($function $pmpi $arguments $before $call);
        };
    )*};
}

// Tests have no communicator; the number of requests is counted.
polls! {
    Test MPI_Test PMPI_Test (request: Requests, flag: Ints, status: Statuses)
        short request "push rsi" |found, handle| (Kind::Completes(Done::One(handle, found)))
        { let handle = bits_of(request); let mut own = no_status(); let status = traced(status, &raw mut own); } =>
        (Call::without_communicator(Data::Requests(1)).completes(Done::One(handle, flag), status));
    Testall MPI_Testall PMPI_Testall (count: c_int, requests: Requests, flag: Ints, statuses: Statuses)
        short requests "push rdx" |found, _flag| (Kind::Completes(Done::All(found)))
        { let statuses = noted(count, requests, statuses); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::All(flag), statuses));
    Testany MPI_Testany PMPI_Testany (count: c_int, requests: Requests, index: Ints, flag: Ints, status: Statuses)
        short requests "push rcx" |found, index| (Kind::Completes(Done::Any(index as *const c_int, found)))
        { let status = noted(count, requests, status); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::Any(index, flag), status));
    Testsome MPI_Testsome PMPI_Testsome (count: c_int, requests: Requests, done: Ints, indices: Ints, statuses: Statuses)
        short requests "push rdx" |found, _done| (Kind::Completes(Done::Some(found, std::ptr::null())))
        { let statuses = noted(count, requests, statuses); } =>
        (Call::without_communicator(Data::Requests(count)).completes(Done::Some(done, indices), statuses));
    Iprobe MPI_Iprobe PMPI_Iprobe (from: c_int, tag: c_int, comm: MPI_Comm, flag: Ints, status: Statuses)
        short message "push rcx" |found, _none| (Kind::Probes(found, std::ptr::null()))
        { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (asks(comm, from, tag).kind(Kind::Probes(flag, std::ptr::null())).status(status));
    Improbe MPI_Improbe PMPI_Improbe (from: c_int, tag: c_int, comm: MPI_Comm, flag: Ints, message: *mut MPI_Message, status: Statuses)
        short message "push rcx" |found, _none| (Kind::Probes(found, std::ptr::null()))
        { let mut own = no_status(); let status = wanted(status, &raw mut own); } =>
        (asks(comm, from, tag).kind(Kind::Probes(flag, message)).status(status));
}
