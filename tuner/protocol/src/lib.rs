//! The protocol between tuner and worker: guideline expressions, plan lines, report lines.
//!
//! Both channels are files of JSON lines in the launch's directory: the tuner appends to the plan while the job runs, so that
//! a search can ask its next question in the same job; rank 0 of the worker appends to the report, which the tuner follows.

pub mod arrival;
pub mod call_paths;
pub mod calls;
pub mod cpus;
pub mod expression;
pub mod fault;
pub mod functions;
pub mod json_line;
pub mod machine;
pub mod measuring;
pub mod overlap;
pub mod plan;
pub mod repetitions;
pub mod report;
pub mod row;
pub mod sampling;
pub mod schedule;
pub mod task;
pub mod trace;
pub mod verifying;

/// Version of both line formats; a reader refuses any other.
pub const VERSION: u32 = 4;
