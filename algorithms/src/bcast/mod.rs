//! Algorithms of `MPI_Bcast`. To add one: a file and its name here, twice; the tests do the rest.

mod binary;
pub(crate) mod binomial;
mod circulant;
pub(crate) mod k_nomial;
mod lanes;
pub(crate) mod linear;
mod pipelined_chain;
mod scatter_allgather;
mod shared_memory;
mod two_level;
mod two_tree;

crate::registry::rows!(bcast: binary, binomial, circulant, k_nomial, lanes, linear, pipelined_chain, scatter_allgather, shared_memory, two_level, two_tree);
