//! Algorithms of `MPI_Allreduce`. To add one: a file and its name here, twice; the tests do the rest.

mod circulant;
mod direct;
mod lanes;
mod linear;
mod rabenseifner;
mod recursive_doubling;
mod reduce_bcast;
mod ring;
mod shared_memory;
mod shared_memory_parts;
mod two_level;

crate::registry::rows!(allreduce: circulant, direct, lanes, linear, rabenseifner, recursive_doubling, reduce_bcast, ring, shared_memory, shared_memory_parts, two_level);
