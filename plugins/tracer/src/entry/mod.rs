//! The exported functions, each as `MPI_X` and as `PMPI_X`.
//!
//! * [`messages`]: sends, receives, probes, persistent operations.
//! * [`complete`]: calls that wait for operations.
//! * [`polls`]: tests and probes, which do not wait, and the short way of those that find nothing.
//! * [`collectives`]: collectives, blocking and not. `persistent`: the same, prepared once and started often.
//! * [`communicators`]: calls that make and free communicators.
//! * [`windows`]: one-sided communication. [`files`]: MPI's files.
//! * [`lifetime`]: `MPI_Init`, `MPI_Abort`, `MPI_Pcontrol`.
//! * [`own`]: the tracer's own function for programs.

mod collectives;
mod communicators;
mod complete;
mod files;
mod lifetime;
mod messages;
mod own;
#[cfg(large_counts)]
mod persistent;
mod polls;
mod windows;

use std::ffi::c_void;

use kilter_mpi::MPI_Datatype;

type In = *const c_void;
type Out = *mut c_void;
type Types = *const MPI_Datatype;

/// Calls the library's function of this name with these values of these types: never by its name, which is this object's too.
macro_rules! library {
    ($pmpi:ident($($value:expr => $type:ty),* $(,)?)) => {{
        static REAL: kilter_mpi::Real = kilter_mpi::Real::new(concat!(stringify!($pmpi), "\0"));
        $crate::entry::called!(REAL.address() => ($($value => $type),*))
    }};
}
use library;

/// Calls the function at this address with these values of these types.
macro_rules! called {
    ($address:expr => ($($value:expr => $type:ty),*)) => {{
        let function: unsafe extern "C" fn($($type),*) -> std::ffi::c_int = std::mem::transmute($address);
        function($($value),*)
    }};
}
use called;

/// Exports a name for a function of the same arguments. On x86-64 the return address is kept for it first. Instructions in braces come between: the
/// thread's state lies at `fs:[rax]` there, and the return address in `r11`.
#[cfg(target_arch = "x86_64")]
macro_rules! exported {
    ($name:ident $arguments:tt = $function:ident) => {
        $crate::entry::exported!($name $arguments {} {} = $function);
    };
    ($name:ident ($($argument:ident: $type:ty),*) {$($before:literal,)*} {$($operands:tt)*} = $function:ident) => {
        #[allow(clippy::too_many_arguments, reason = "MPI's functions have as many as they have")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, qword ptr [rip + kilter_tracer_thread@GOTTPOFF]",
                "mov r11, qword ptr [rsp]",
                $($before,)*
                "mov qword ptr fs:[rax], r11",
                "jmp {function}",
                ".cfi_endproc",
                $($operands)*
                function = sym $function,
            )
        }
    };
}

/// Exports a name for a function of the same arguments.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! exported {
    ($name:ident ($($argument:ident: $type:ty),*) = $function:ident) => {
        #[allow(clippy::too_many_arguments, reason = "MPI's functions have as many as they have")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            // SAFETY: the same contract, which is MPI's.
            unsafe { $function($($argument),*) }
        }
    };
}
use exported;

/// One function, under both names: the library's, which is counted and traced as `$call`. What is in braces comes before the library's call, and may
/// put another value in the place of an argument.
macro_rules! form {
    ($function:ident $mpi:ident $pmpi:ident $arguments:tt $before:tt $call:tt) => {
        $crate::entry::exported!($mpi $arguments = counted);
        $crate::entry::exported!($pmpi $arguments = counted);
        $crate::entry::counted_form!($function $pmpi $arguments $before $call);
    };
}
use form;

/// The function that stands behind both names, `counted`, and the library's, `REAL`.
macro_rules! counted_form {
    ($function:ident $pmpi:ident ($($argument:ident: $type:ty),*) {$($before:tt)*} $call:tt) => {
        static REAL: kilter_mpi::Real = kilter_mpi::Real::new(concat!(stringify!($pmpi), "\0"));

        #[allow(clippy::too_many_arguments, reason = "MPI's functions have as many as they have")]
        unsafe extern "C" fn counted($($argument: $type),*) -> std::ffi::c_int {
            let begun = $crate::record::Begun::now(kilter_protocol::functions::Function::$function);
            // SAFETY: the caller's call is valid, and what it names lives until it has returned.
            unsafe {
                $($before)*
                let code = $crate::entry::called!(REAL.address() => ($($argument => $type),*));
                #[allow(unused_parens, reason = "the expression comes in parentheses")]
                begun.end::<N>(code, || $call);
                code
            }
        }
    };
}
use counted_form;

/// Functions that take these arguments, in both forms, with the expression that says what is counted and traced. `N` stands for the type of a
/// count, `D` for that of a displacement.
macro_rules! counted {
    ($($arguments:tt => $call:tt: $($function:ident $mpi:ident $pmpi:ident $mpi_c:ident $pmpi_c:ident),* $(,)?;)*) => {
        $crate::entry::prepared! {$($arguments {} => $call: $($function $mpi $pmpi $mpi_c $pmpi_c),*;)*}
    };
}
use counted;

/// The same, with what comes before the library's call.
macro_rules! prepared {
    ($($arguments:tt $before:tt => $call:tt: $($function:ident $mpi:ident $pmpi:ident $mpi_c:ident $pmpi_c:ident),* $(,)?;)*) => {$($(
        const _: () = {
            type N = std::ffi::c_int;
            #[allow(dead_code, reason = "not every function has one")]
            type D = std::ffi::c_int;
            $crate::entry::form!($function $mpi $pmpi $arguments $before $call);
        };
        #[cfg(large_counts)]
        const _: () = {
            type N = mpi_sys::MPI_Count;
            #[allow(dead_code, reason = "not every function has one")]
            type D = mpi_sys::MPI_Aint;
            $crate::entry::form!($function $mpi_c $pmpi_c $arguments $before $call);
        };
    )*)*};
}
use prepared;

/// Functions without counts.
macro_rules! without_counts {
    ($($function:ident $mpi:ident $pmpi:ident $arguments:tt => $call:tt;)*) => {
        $crate::entry::prepared_without_counts! {$($function $mpi $pmpi $arguments {} => $call;)*}
    };
}
use without_counts;

/// The same, with what comes before the library's call.
macro_rules! prepared_without_counts {
    ($($function:ident $mpi:ident $pmpi:ident $arguments:tt $before:tt => $call:tt;)*) => {$(
        const _: () = {
            type N = std::ffi::c_int;
            $crate::entry::form!($function $mpi $pmpi $arguments $before $call);
        };
    )*};
}
use prepared_without_counts;
