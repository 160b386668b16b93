//! Algorithms of `MPI_Allgather`. To add one: a file and its name here, twice; the tests do the rest.

mod bruck;
mod linear;
mod recursive_doubling;
mod ring;

crate::registry::rows!(allgather: bruck, linear, recursive_doubling, ring);
