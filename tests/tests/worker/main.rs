//! The worker against a real MPI library: plan in, lines out.

mod carrying_out;
mod faults;
mod job;
mod protocol;
mod settings;
