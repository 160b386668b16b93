//! Algorithms of `MPI_Scatter`. To add one: a file and its name here, twice; the tests do the rest.

mod binomial;
mod k_nomial;
mod linear;

crate::registry::rows!(scatter: binomial, k_nomial, linear);
