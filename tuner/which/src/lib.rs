//! The pure part of `kilter which`: which algorithm carried out a call, how that is known, and what decided it.
//!
//! A [`fingerprint`] is what a call left behind: the functions in which ranks waited, and the messages that were sent. [`identify()`] compares the
//! fingerprint of a call, as everybody makes it, with those of the library's algorithms, each forced. [`component`] reads names of functions.
//! [`decide`] weighs what could have decided, in the order in which the library asks, and [`handing`] what chose the component before that. An [`answer`] is all of it; [`text`] and [`json`] render it.
//! [`symbols`] finds names of functions in a shared object.
//!
//! The crate starts nothing and reads no file.

pub mod answer;
pub mod component;
pub mod decide;
pub mod fingerprint;
pub mod handing;
pub mod identify;
pub mod json;
pub mod lines;
pub mod symbols;
pub mod text;

pub use answer::{Answer, Cell};
pub use fingerprint::Fingerprint;
pub use identify::identify;
