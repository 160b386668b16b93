//! Algorithms of `MPI_Allgather`. To add one: a file and its name here, twice; the tests do the rest.

mod bruck;
mod linear;
mod neighbour_exchange;
mod recursive_doubling;
mod ring;

crate::registry::rows!(allgather: bruck, linear, neighbour_exchange, recursive_doubling, ring);
