//! The drop-in under an unmodified C program: right results, and replacement exactly where the profile says so.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod allocations;
mod applications;
mod communicators;
mod deployment;
mod device;
mod job;
mod large;
mod presence;
mod programs;
mod python;
mod replacement;
