//! Algorithms of `MPI_Scatterv`. To add one: a file and its name here, twice; the tests do the rest.

mod binomial;
mod linear;

crate::registry::rows!(scatterv: binomial, linear);
