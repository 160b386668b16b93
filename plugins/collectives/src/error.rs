//! Why a call failed.

use kilter_algorithms::TransportError;
use kilter_mpi::{LanesError, MpiError};

/// Why a call could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// From the layer over MPI.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// There are no lanes for a mock-up over lanes.
    #[error(transparent)]
    Lanes(#[from] LanesError),
    /// From an algorithm.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// No memory.
    #[error("no memory for {0} bytes of scratch")]
    NoMemory(usize),
    /// The drop-in passed what the ABI does not allow.
    #[error("a call that the plugin ABI does not allow: {0}")]
    Abi(&'static str),
}

/// A length, count or rank that came as a signed number.
pub(crate) fn unsigned(value: impl TryInto<usize>, what: &'static str) -> Result<usize, CallError> {
    value.try_into().map_err(|_| CallError::Abi(what))
}
