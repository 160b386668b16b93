//! Algorithms of `MPI_Barrier`: messages of no bytes. To add one: a file and its name here, twice; the tests do the rest.

mod dissemination;
mod recursive_doubling;
mod shared_memory;
mod tree;
mod two_level;

crate::registry::rows!(barrier: dissemination, recursive_doubling, shared_memory, tree, two_level);
