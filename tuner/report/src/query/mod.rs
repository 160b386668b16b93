//! `kilter query`: what the database has, filtered, as text, CSV or JSON.
//!
//! Rows are read in pages and written at once: a million samples need no memory, and no page keeps a measuring run from
//! writing for long.

mod filter;
mod fit;
mod output;
mod rows;
mod what;

pub use filter::{Filter, QueryError};
pub use output::{Form, Layout};
pub use rows::{Written, write};
pub use what::What;

#[cfg(test)]
mod tests;
