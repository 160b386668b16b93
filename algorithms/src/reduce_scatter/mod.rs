//! Algorithms of `MPI_Reduce_scatter`. To add one: a file and its name here, twice; the tests do the rest.

mod pairwise;
mod recursive_halving;
mod ring;
mod shared_memory;

crate::registry::rows!(reduce_scatter: pairwise, recursive_halving, ring, shared_memory);
