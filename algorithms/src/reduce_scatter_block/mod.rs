//! Algorithms of `MPI_Reduce_scatter_block`. To add one: a file and its name here, twice; the tests do the rest.

mod circulant;

crate::registry::rows!(reduce_scatter_block: circulant);
