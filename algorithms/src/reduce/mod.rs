//! Algorithms of `MPI_Reduce`. To add one: a file and its name here, twice; the tests do the rest.

mod binary;
mod binomial;
mod linear;
mod pipelined_chain;
mod rabenseifner;
mod ring;

crate::registry::rows!(reduce: binary, binomial, linear, pipelined_chain, rabenseifner, ring);
