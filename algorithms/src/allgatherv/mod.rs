//! Algorithms of `MPI_Allgatherv`. To add one: a file and its name here, twice; the tests do the rest.

mod bruck;
mod linear;
mod ring;

crate::registry::rows!(allgatherv: bruck, linear, ring);
