//! The library behind the `kilter` command. It never links MPI and runs on a login node.

pub mod cli;
pub mod commands;
pub mod compare;
pub mod config;
pub mod context;
pub mod deployment;
pub mod doctor;
pub mod emit;
pub mod launch;
pub mod launcher;
pub mod logging;
pub mod options;
pub mod plan;
pub mod prediction;
pub mod programs;
pub mod progress;
pub mod repetition_rule;
pub mod query;
pub mod report;
pub mod reporting;
pub mod search;
pub mod stats;
pub mod store;
pub mod tune;
pub mod verdict;
pub mod verification;
