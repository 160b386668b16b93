//! Algorithms of `MPI_Alltoall`. To add one: a file and its name here, twice; the tests do the rest.

mod bruck;
mod linear;
mod pairwise;

crate::registry::rows!(alltoall: bruck, linear, pairwise);
