//! The worker against a real MPI library: plan in, lines out.

pub(crate) mod arrival;
pub(crate) mod bits;
pub(crate) mod carrying_out;
pub(crate) mod faults;
pub(crate) mod guidelines;
pub(crate) mod inside;
pub(crate) mod job;
pub(crate) mod messages;
pub(crate) mod overlap;
pub(crate) mod plugin;
pub(crate) mod protocol;
pub(crate) mod schedules;
pub(crate) mod settings;
pub(crate) mod starting;
