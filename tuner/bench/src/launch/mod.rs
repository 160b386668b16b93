//! Jobs: their start, their supervision, and their end, after which no process is left.
//!
//! [`command`] makes the launcher's command line from data, [`process`] owns a process tree, [`session`] asks a worker to
//! measure blocks and replays from the store what was measured before. Programs are started on a [`mod@bench`]: this machine, or one whose
//! times are [`scripted`].

pub mod bad_line;
pub mod bench;
pub mod capture;
pub mod command;
pub mod failure;
pub mod files;
mod follow;
pub mod interrupt;
mod job;
mod job_spec;
mod leaving;
mod ledger;
mod limits;
pub mod other_load;
mod patience;
pub mod preload;
mod proc_table;
pub mod process;
mod recover;
mod replay;
pub mod scripted;
pub mod session;
mod starts;
pub mod watch;

pub use bench::{Bench, Clock, Machine};
pub use command::{CommandSpec, CommandTemplate};
pub use failure::{JobFailure, SessionError};
pub use job_spec::JobSpec;
pub use leaving::Leaving;
pub use limits::Limits;
pub use recover::recover;
pub use replay::Replay;
pub use session::{Broken, Session};
pub use starts::Starts;
pub use watch::Watch;

#[cfg(test)]
mod stand_in;
