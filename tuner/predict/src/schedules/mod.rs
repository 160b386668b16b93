//! Schedules of the registry's rows: recorded without a message, and timed at prices of a network of two levels.

mod critical;
mod recorder;
mod timed;

pub(crate) use critical::{Counts, KINDS};
pub(crate) use timed::{Timed, placed};
