//! `kilter query`: what the database has, filtered, as text, CSV or JSON.
//!
//! Rows are read in pages and written at once: a million samples need no memory, and no page keeps a measuring run from
//! writing for long.

mod filter;
mod output;
mod rows;

pub use filter::{Filter, QueryError};
pub use output::Form;
pub use rows::{What, write};

#[cfg(test)]
mod tests;
