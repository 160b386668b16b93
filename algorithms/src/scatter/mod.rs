//! Algorithms of `MPI_Scatter`. To add one: a file, a row, an arm; the tests do the rest.

mod binomial;
mod linear;

use crate::{Algorithm, Arguments, Transport, TransportError};

/// The rows, one per file of this folder.
pub static ALGORITHMS: &[&Algorithm] = &[&binomial::INFO, &linear::INFO];

/// Runs the row with this id.
pub(crate) fn run<T: Transport>(id: &str, transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    match id {
        binomial::ID => binomial::run(transport, arguments),
        linear::ID => linear::run(transport, arguments),
        _ => unreachable!("`{id}` is no row of scatter's table"),
    }
}

#[cfg(test)]
#[test]
fn every_file_has_a_row() {
    crate::registry::assert_every_file_has_a_row("scatter", ALGORITHMS);
}
