//! Detection on traces of programs with real data: collectives written by hand are found, what only looks like them is not.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod application;
mod cases;
mod chance_lookalikes;
mod counting_rings;
mod findings;
mod fixture;
mod further_lookalikes;
mod lookalikes;
mod more_lookalikes;
mod nonsense;
mod panels;
mod patterns;
mod safety;
mod schedules;
mod table;
mod typical;
