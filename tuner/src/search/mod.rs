//! Search.
pub mod ordered;
