//! Schedules of the registry's rows: recorded without a message, and timed at prices of a network of two levels whose links are shared.

mod critical;
mod links;
mod recorder;
mod timed;

pub(crate) use critical::{Counts, KINDS};
pub(crate) use timed::{Timed, placed, terms};
