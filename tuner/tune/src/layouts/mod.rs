//! Tuning several layouts in one go.
//!
//! [`merge`] puts the decisions of layouts together, [`prove`] writes one staging directory and verifies every layout on it;
//! [`turns`] gives each its seconds.

mod measured;
pub mod merge;
pub mod prove;
pub mod turns;
