//! The drop-in under an unmodified C program: right results, and replacement exactly where the profile says so.

mod deployment;
mod job;
mod replacement;
