//! Algorithms of `MPI_Allreduce`. To add one: a file, a row, an arm; the tests do the rest.

mod rabenseifner;
mod recursive_doubling;
mod reduce_bcast;
mod ring;

use crate::{Algorithm, Arguments, Transport, TransportError};

/// The rows, one per file of this folder.
pub static ALGORITHMS: &[&Algorithm] = &[
    &rabenseifner::INFO,
    &recursive_doubling::INFO,
    &reduce_bcast::INFO,
    &ring::INFO,
];

/// Runs the row with this id.
pub(crate) fn run<T: Transport>(id: &str, transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    match id {
        rabenseifner::ID => rabenseifner::run(transport, arguments),
        recursive_doubling::ID => recursive_doubling::run(transport, arguments),
        reduce_bcast::ID => reduce_bcast::run(transport, arguments),
        ring::ID => ring::run(transport, arguments),
        _ => unreachable!("`{id}` is no row of allreduce's table"),
    }
}

#[cfg(test)]
#[test]
fn every_file_has_a_row() {
    crate::registry::assert_every_file_has_a_row("allreduce", ALGORITHMS);
}
