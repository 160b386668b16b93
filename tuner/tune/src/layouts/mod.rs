//! Tuning several layouts in one go.
//!
//! [`merge`] puts the decisions of layouts together, [`prove`] writes one staging directory and verifies every layout on it; [`remaining`] launches what is left
//! of it when something was taken out; [`predicted`] adds layouts that were not measured;
//! [`turns`] gives each its seconds.

mod digest;
mod measured;
mod member;
pub mod merge;
pub mod predicted;
pub mod prove;
mod remaining;
pub mod turns;
