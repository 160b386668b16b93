//! Algorithms of `MPI_Allgather`. To add one: a file, a row, an arm; the tests do the rest.

mod bruck;
mod linear;
mod recursive_doubling;
mod ring;

use crate::{Algorithm, Arguments, Transport, TransportError};

/// The rows, one per file of this folder.
pub static ALGORITHMS: &[&Algorithm] = &[&bruck::INFO, &linear::INFO, &recursive_doubling::INFO, &ring::INFO];

/// Runs the row with this id.
pub(crate) fn run<T: Transport>(id: &str, transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    match id {
        bruck::ID => bruck::run(transport, arguments),
        linear::ID => linear::run(transport, arguments),
        recursive_doubling::ID => recursive_doubling::run(transport, arguments),
        ring::ID => ring::run(transport, arguments),
        _ => unreachable!("`{id}` is no row of allgather's table"),
    }
}

#[cfg(test)]
#[test]
fn every_file_has_a_row() {
    crate::registry::assert_every_file_has_a_row("allgather", ALGORITHMS);
}
