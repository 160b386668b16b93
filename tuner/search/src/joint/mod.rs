//! One table of times, one decision: which implementation every call gets, so that guidelines hold among what is deployed. Pure.
//!
//! A pattern guideline says T(f, n) <= the sum over its calls T(g, m); monotony T(f, n) <= T(f, m) for larger m; split-robustness
//! T(f, n) <= k T(f, n / k). Each right side is itself a way to carry out f: a composition, a padded call, split calls. Where the ways of f
//! contain its right sides made of *what is deployed*, the least assignment satisfies every guideline up to local copies and noise (Knuth's
//! generalisation of Dijkstra's algorithm, doi:10.1016/0020-0190(77)90002-3).
//!
//! [`Problem`] has the calls with their ways and the bounds between them, [`fastest`] and [`smallest`] decide, [`wishes()`] names the ways that would
//! close bounds and are to be measured, [`contest()`] says it to people.

mod contest;
mod gain;
mod problem;
mod solve;
mod table;
#[cfg(test)]
mod tests;
mod uniform;
mod wishes;

pub use contest::{Told, contest};
pub use problem::{Bound, Call, Problem, Way};
pub use solve::{fastest, smallest};
pub use table::{Column, Reading, Table};
pub use wishes::{Wish, undecided, wishes};

/// The way that each call of a problem gets: its place among the call's ways, of which the first is the default.
pub type Assignment = Vec<usize>;
