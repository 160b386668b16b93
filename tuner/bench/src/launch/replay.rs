//! A bench that starts nothing: a stored run is gone through again, by a clock that stands still.
//!
//! What the store has is answered as it was then. The first question that it has no answer to is refused, and named: the run that is gone
//! through decides otherwise than the one that was stored, or was not finished.

use std::fs::File;

use super::bench::{Bench, Clock, Started};
use super::command::CommandSpec;
use super::other_load::Reading;
use super::process::ProcessError;

/// Starts nothing.
#[derive(Debug)]
pub struct Replay {
    clock: Clock,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay {
            clock: Clock::scripted(),
        }
    }
}

impl Bench for Replay {
    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    fn starts_jobs(&self) -> bool {
        false
    }

    fn start(&self, command: &CommandSpec, _tag: &str, _output: File) -> Result<Box<dyn Started>, ProcessError> {
        Err(ProcessError::Replayed {
            command: command.to_string(),
        })
    }

    fn load(&self) -> Option<Reading> {
        None
    }
}
