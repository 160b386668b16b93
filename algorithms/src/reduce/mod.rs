//! Algorithms of `MPI_Reduce`. To add one: a file and its name here, twice; the tests do the rest.

mod binary;
pub(crate) mod binomial;
mod direct;
mod k_nomial;
mod lanes;
pub(crate) mod linear;
mod pipelined_chain;
mod rabenseifner;
pub(crate) mod ring;
mod shared_memory;
mod two_level;
mod two_tree;

crate::registry::rows!(reduce: binary, binomial, direct, k_nomial, lanes, linear, pipelined_chain, rabenseifner, ring, shared_memory, two_level, two_tree);
