//! Algorithms of `MPI_Bcast`. To add one: a file and its name here, twice; the tests do the rest.

mod binary;
mod binomial;
mod circulant;
mod linear;
mod pipelined_chain;
mod scatter_allgather;

crate::registry::rows!(bcast: binary, binomial, circulant, linear, pipelined_chain, scatter_allgather);
