//! The library behind the `kilter` command. It never links MPI and runs on a login node.

pub mod benchmark;
pub mod carriers;
pub mod cli;
pub mod commands;
pub mod defaults;
pub mod doctor;
pub mod guard;
pub mod launcher;
pub mod library_info;
pub mod logging;
mod machine_map;
pub mod options;
pub mod proof;
pub mod repetition_rule;
pub mod reporting;
pub mod scripted;
pub mod which;
