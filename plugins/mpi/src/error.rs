//! An MPI call that failed.

use std::ffi::{c_char, c_int};

use kilter_algorithms::TransportError;

use crate::constants;

/// An MPI call that returned something other than `MPI_SUCCESS`; seen only where the communicator's error handler returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiError {
    /// The call, such as `PMPI_Allreduce`.
    pub operation: &'static str,
    /// The library's error code.
    pub code: i32,
}

impl std::error::Error for MpiError {}

impl std::fmt::Display for MpiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MpiError { operation, code } = self;
        if *code == constants::err_count() {
            return write!(
                f,
                "{operation}: a count is negative, above {}, or no multiple of the number of ranks",
                c_int::MAX
            );
        }
        if *code == constants::err_no_mem() {
            return write!(f, "{operation}: no memory for scratch");
        }
        write!(
            f,
            "{operation} failed with MPI error code {code}: {}",
            error_string(*code)
        )
    }
}

impl MpiError {
    /// Turns the return value of `operation` into a result.
    #[inline]
    pub fn check(operation: &'static str, code: c_int) -> Result<(), MpiError> {
        if code == 0 {
            Ok(())
        } else {
            Err(MpiError { operation, code })
        }
    }

    /// A count as MPI takes it.
    #[inline]
    pub(crate) fn count(operation: &'static str, count: usize) -> Result<c_int, MpiError> {
        c_int::try_from(count).map_err(|_| MpiError {
            operation,
            code: constants::err_count(),
        })
    }

    /// A count, rank or size as the library wrote it.
    pub(crate) fn count_back(operation: &'static str, count: c_int) -> Result<usize, MpiError> {
        usize::try_from(count).map_err(|_| MpiError {
            operation,
            code: constants::err_count(),
        })
    }

    /// The same failure as a transport reports it.
    pub(crate) fn with_peer(self, peer: usize) -> TransportError {
        TransportError::Library {
            operation: self.operation,
            peer,
            code: self.code,
        }
    }
}

/// The library's text for an error code.
fn error_string(code: c_int) -> String {
    let mut text = vec![0_u8; usize::try_from(constants::max_error_string()).unwrap_or(1024) + 1];
    let mut length: c_int = 0;
    // SAFETY: the buffer has MPI_MAX_ERROR_STRING bytes and one more.
    let result = unsafe { mpi_sys::PMPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    if result != 0 {
        return "unknown error".to_owned();
    }
    text.truncate(usize::try_from(length).unwrap_or(0).min(text.len()));
    String::from_utf8_lossy(&text).into_owned()
}

/// Calls a PMPI function and turns its return value into a `Result<(), MpiError>` that names it.
macro_rules! pmpi {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::error::MpiError::check(stringify!($function), mpi_sys::$function($($argument),*))
    };
}
pub(crate) use pmpi;
