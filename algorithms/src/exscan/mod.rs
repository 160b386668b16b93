//! Algorithms of `MPI_Exscan`. To add one: a file and its name here, twice; the tests do the rest.

mod linear;
mod pipelined_chain;
mod recursive_doubling;

crate::registry::rows!(exscan: linear, pipelined_chain, recursive_doubling);
