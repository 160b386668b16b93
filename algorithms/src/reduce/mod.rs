//! Algorithms of `MPI_Reduce`. To add one: a file, a row, an arm; the tests do the rest.

mod binary;
mod binomial;
mod linear;
mod pipelined_chain;
mod ring;

use crate::{Algorithm, Arguments, Transport, TransportError};

/// The rows, one per file of this folder.
pub static ALGORITHMS: &[&Algorithm] = &[
    &binary::INFO,
    &binomial::INFO,
    &linear::INFO,
    &pipelined_chain::INFO,
    &ring::INFO,
];

/// Runs the row with this id.
pub(crate) fn run<T: Transport>(id: &str, transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    match id {
        binary::ID => binary::run(transport, arguments),
        binomial::ID => binomial::run(transport, arguments),
        linear::ID => linear::run(transport, arguments),
        pipelined_chain::ID => pipelined_chain::run(transport, arguments),
        ring::ID => ring::run(transport, arguments),
        _ => unreachable!("`{id}` is no row of reduce's table"),
    }
}

#[cfg(test)]
#[test]
fn every_file_has_a_row() {
    crate::registry::assert_every_file_has_a_row("reduce", ALGORITHMS);
}
