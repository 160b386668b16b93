//! Algorithms of `MPI_Scatter`. To add one: a file and its name here, twice; the tests do the rest.

pub(crate) mod binomial;
mod linear;
mod two_level;

crate::registry::rows!(scatter: binomial, linear, two_level);
