//! Reports: one model, several renderings.

pub mod model;
