//! Algorithms of `MPI_Scatter`. To add one: a file and its name here, twice; the tests do the rest.

pub(crate) mod binomial;
pub(crate) mod k_nomial;
mod linear;
mod shared_memory;
mod two_level;

crate::registry::rows!(scatter: binomial, k_nomial, linear, shared_memory, two_level);
