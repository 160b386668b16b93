//! Algorithms of `MPI_Scan`. To add one: a file and its name here, twice; the tests do the rest.

mod linear;
mod pipelined_chain;
mod recursive_doubling;
mod shared_memory;

crate::registry::rows!(scan: linear, pipelined_chain, recursive_doubling, shared_memory);
