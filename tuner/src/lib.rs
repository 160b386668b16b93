//! The library behind the `kilter` command. It never links MPI and runs on a login node.

pub mod report;
pub mod stats;
