//! Algorithms of `MPI_Gather`. To add one: a file and its name here, twice; the tests do the rest.

mod binomial;
mod k_nomial;
mod linear;

crate::registry::rows!(gather: binomial, k_nomial, linear);
