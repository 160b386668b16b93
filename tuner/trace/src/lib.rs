//! Traces of applications: every message, completion, probe and collective of all ranks.
//!
//! A trace is a directory with a file of each rank, as `kilter_protocol::trace` has it, and `job.json`, which says what was run.
//!
//! * [`trace`]: a trace as data, on one clock.
//! * [`gather`]: the ranks' files as a [`trace::Trace`].
//! * [`job`]: the command that was run.
//! * [`matching`]: sends and the receives that took their messages.
//! * [`summary`]: its numbers, as [`text`] and JSON render them.
//! * [`events`]: every event on a line.
//! * [`perfetto`]: export to the Perfetto viewer. [`otf2`]: export to OTF2 archives. [`detectable`]: what `kilter detect` reads. [`counters`]: what `kilter advise` does.
//!
//! It records nothing itself: `plugins/tracer` does.

pub mod counters;
pub mod detectable;
pub mod events;
pub mod gather;
pub mod job;
pub mod matching;
pub mod otf2;
pub mod perfetto;
pub mod summary;
pub mod text;
pub mod trace;

#[cfg(test)]
mod fixture;
