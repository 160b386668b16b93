//! Algorithms of `MPI_Scan`. To add one: a file, a row, an arm; the tests do the rest.

mod linear;
mod pipelined_chain;
mod recursive_doubling;

use crate::{Algorithm, Arguments, Transport, TransportError};

/// The rows, one per file of this folder.
pub static ALGORITHMS: &[&Algorithm] = &[&linear::INFO, &pipelined_chain::INFO, &recursive_doubling::INFO];

/// Runs the row with this id.
pub(crate) fn run<T: Transport>(id: &str, transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    match id {
        linear::ID => linear::run(transport, arguments),
        pipelined_chain::ID => pipelined_chain::run(transport, arguments),
        recursive_doubling::ID => recursive_doubling::run(transport, arguments),
        _ => unreachable!("`{id}` is no row of scan's table"),
    }
}

#[cfg(test)]
#[test]
fn every_file_has_a_row() {
    crate::registry::assert_every_file_has_a_row("scan", ALGORITHMS);
}
