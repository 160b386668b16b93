//! The exported functions, each as `MPI_X` and as `PMPI_X`.
//!
//! * [`begin`]: those that begin an operation.
//! * [`complete`]: those that complete one.
//! * [`lifetime`]: `MPI_Init`, `MPI_Finalize` and what else concerns the thread.

mod begin;
mod complete;
mod lifetime;

/// Calls the library's function of this name with these values of these types: never by its name, which is this object's too.
macro_rules! library {
    ($pmpi:ident($($value:expr => $type:ty),* $(,)?)) => {{
        static REAL: kilter_mpi::Real = kilter_mpi::Real::new(concat!(stringify!($pmpi), "\0"));
        let real: unsafe extern "C" fn($($type),*) -> std::ffi::c_int = std::mem::transmute(REAL.address());
        real($($value),*)
    }};
}
use library;

/// Exports `MPI_X` and `PMPI_X`, which do what the function does that is named.
macro_rules! exported {
    ($($mpi:ident $pmpi:ident ($($argument:ident: $type:ty),*) = $function:ident;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "MPI's functions have as many as they have")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $mpi($($argument: $type),*) -> std::ffi::c_int {
            // SAFETY: the same contract, which is MPI's.
            unsafe { $function($($argument),*) }
        }

        #[allow(clippy::too_many_arguments, reason = "MPI's functions have as many as they have")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $pmpi($($argument: $type),*) -> std::ffi::c_int {
            // SAFETY: the same contract, which is MPI's.
            unsafe { $function($($argument),*) }
        }
    )*};
}
use exported;
