//! The tests on the thread transport, other than the matrix. They are one program, since each further program would compile
//! every row once more.

#[path = "../common/mod.rs"]
mod common;

mod counting;
mod data_movement;
mod faults;
mod lanes;
mod scratch;
mod shared_memory;
mod threads;
mod two_level;
