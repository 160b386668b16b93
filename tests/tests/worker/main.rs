//! The worker against a real MPI library: plan in, lines out.

// The tests' helpers fail as the tests do.
#![allow(clippy::unwrap_used)]

mod bits;
mod carrying_out;
mod faults;
mod guidelines;
mod job;
mod messages;
mod overlap;
mod plugin;
mod protocol;
mod settings;
mod starting;
