//! Algorithms of `MPI_Alltoallv`. To add one: a file and its name here, twice; the tests do the rest.

mod linear;
mod pairwise;

crate::registry::rows!(alltoallv: linear, pairwise);
