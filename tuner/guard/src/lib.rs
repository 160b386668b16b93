//! The pure part of `kilter guard`: what changed since the state that was accepted, if what is deployed still acts and holds, and which host is slow.
//!
//! [`facts`] are texts about a job and its hosts, and [`changes()`] compares them with the accepted ones. [`times`] judges the times of a night
//! against the accepted ones, [`deployed`] what was tuned, [`nodes`] the hosts against each other by the pairs that [`pairs`] lays out. A
//! [`night`] is all of it, with its standing; [`text`], [`html`], [`json`] and [`junit`] render it.
//!
//! The crate starts nothing, reads no file and knows no MPI library.

mod chance;
pub mod changes;
pub mod deployed;
pub mod facts;
#[cfg(test)]
mod fixture;
pub mod html;
pub mod json;
pub mod junit;
pub mod night;
pub mod nodes;
pub mod pairs;
pub mod text;
pub mod times;

pub use changes::changes;
pub use facts::Facts;
pub use night::{Kept, Night, Standing};
