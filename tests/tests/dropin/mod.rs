//! The drop-in under an unmodified C program: right results, and replacement exactly where the profile says so.

pub(crate) mod allocations;
pub(crate) mod applications;
pub(crate) mod communicators;
pub(crate) mod deployment;
pub(crate) mod device;
pub(crate) mod inside;
pub(crate) mod job;
pub(crate) mod large;
pub(crate) mod online;
pub(crate) mod placement;
pub(crate) mod presence;
pub(crate) mod programs;
pub(crate) mod python;
pub(crate) mod replacement;
pub(crate) mod yielding;
