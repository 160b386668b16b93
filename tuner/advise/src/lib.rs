//! Advice from statistics as MPI libraries print them: text becomes counters, rules over counters become advice.
//!
//! The crate is pure: it opens no file of a user, starts nothing and prints nothing. [`formats`] has a reader per printed form and their
//! table, [`rules`] reads the rules of `configs/advice` and of sites, [`mod@judge`] applies them, and [`render`] writes what was found.

mod condition;
pub mod formats;
pub mod judge;
pub mod listing;
mod quantity;
pub mod render;
pub mod rules;
mod template;

pub use judge::{Advice, Judged, judge};
pub use listing::Listing;
pub use rules::Rule;
