//! Algorithms of `MPI_Alltoall`. To add one: a file and its name here, twice; the tests do the rest.

mod bruck;
mod linear;
mod pairwise;
mod shared_memory;

crate::registry::rows!(alltoall: bruck, linear, pairwise, shared_memory);
