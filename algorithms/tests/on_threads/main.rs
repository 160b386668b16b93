//! What runs on the thread transport beside the matrix: one program, since each would compile every row once more.

#[path = "../common/mod.rs"]
mod common;

mod counting;
mod data_movement;
mod faults;
mod scratch;
mod shared_memory;
mod threads;
mod two_level;
