//! Stub.
use crate::{Algorithm, Arguments, Transport, TransportError};

/// Rows.
pub static ALGORITHMS: &[&Algorithm] = &[];

pub(crate) fn run<T: Transport>(id: &str, _transport: &mut T, _arguments: Arguments<'_>) -> Result<(), TransportError> {
    unreachable!("{id}")
}
