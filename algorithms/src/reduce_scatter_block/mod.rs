//! Algorithms of `MPI_Reduce_scatter_block`. To add one: a file and its name here, twice; the tests do the rest.

mod circulant;
mod pairwise;
mod recursive_halving;
mod ring;
pub(crate) mod shared_memory;

crate::registry::rows!(reduce_scatter_block: circulant, pairwise, recursive_halving, ring, shared_memory);
