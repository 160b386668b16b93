//! Description of a job, from which a session starts it as often as need be.

use std::time::Instant;

use kilter_protocol::plan::Header;

use super::command::CommandSpec;
use super::limits::Limits;

/// Description of a job.
#[derive(Debug, Clone)]
pub struct JobSpec {
    /// Key of the job. The same key with the same block ids is answered from the store.
    pub key: String,
    /// The launcher with its arguments, up to the worker.
    pub command: CommandSpec,
    /// First line of the plan.
    pub header: Header,
    /// Limits of waiting.
    pub limits: Limits,
    /// Time at which the job must end in order, whatever was asked. Answers until then are kept.
    pub ends_by: Option<Instant>,
}
