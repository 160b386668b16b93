//! Algorithms of `MPI_Gatherv`. To add one: a file and its name here, twice; the tests do the rest.

mod binomial;
mod linear;

crate::registry::rows!(gatherv: binomial, linear);
