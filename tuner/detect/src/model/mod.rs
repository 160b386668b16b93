//! Data that goes in and comes out.

pub mod finding;
pub mod proof;
pub mod trace;
