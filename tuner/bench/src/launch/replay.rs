//! Replays a stored run on a clock that stands still. It starts nothing.
//!
//! The store's answers are given as they were then. The first question without an answer is refused and named: this run
//! decides otherwise than the stored one, or the stored one was not finished.

use std::fs::File;
use std::path::Path;

use super::bench::{Bench, Clock, Started};
use super::command::CommandSpec;
use super::other_load::Reading;
use super::process::ProcessError;

/// A bench that starts nothing.
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

    fn load(&self, _: &Path) -> Option<Reading> {
        None
    }
}
