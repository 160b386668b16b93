//! Algorithms of `MPI_Allreduce`. To add one: a file and its name here, twice; the tests do the rest.

mod circulant;
mod rabenseifner;
mod recursive_doubling;
mod reduce_bcast;
mod ring;
mod two_level;

crate::registry::rows!(allreduce: circulant, rabenseifner, recursive_doubling, reduce_bcast, ring, two_level);
