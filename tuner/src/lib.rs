//! The library behind the `kilter` command. It never links MPI and runs on a login node.

pub mod cli;
pub mod commands;
pub mod config;
pub mod context;
pub mod deployment;
pub mod emit;
pub mod launch;
pub mod logging;
pub mod options;
pub mod plan;
pub mod progress;
pub mod report;
pub mod reporting;
pub mod search;
pub mod stats;
pub mod store;
pub mod tune;
pub mod validation;
pub mod verdict;
pub mod verification;
