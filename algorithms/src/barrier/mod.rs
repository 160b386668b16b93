//! Algorithms of `MPI_Barrier`. To add one: a file and its name here, twice; the tests do the rest.

mod two_level;

crate::registry::rows!(barrier: two_level);
