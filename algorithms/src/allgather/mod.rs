//! Algorithms of `MPI_Allgather`. To add one: a file and its name here, twice; the tests do the rest.

mod bruck;
mod circulant;
mod lanes;
mod linear;
mod neighbour_exchange;
mod recursive_doubling;
mod ring;
mod shared_memory;
mod two_level;

crate::registry::rows!(allgather: bruck, circulant, lanes, linear, neighbour_exchange, recursive_doubling, ring, shared_memory, two_level);
