//! Bench: starts the programs of launches, and has the clock that times and limits them.
//!
//! [`Machine`] starts real processes by the clock on the wall. [`super::scripted`] plays jobs whose times are scripted, by a clock of its
//! own. [`super::Replay`] starts nothing: it answers from a stored run. Sessions, store, resume, quarantine and budget are the same code
//! on all of them.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::command::CommandSpec;
use super::other_load::Reading;
use super::process::{Process, ProcessError};

/// Starts programs and has a clock.
pub trait Bench: fmt::Debug {
    /// The clock by which launches are timed and limited.
    fn clock(&self) -> Clock;

    /// True if it starts jobs. Otherwise it is only asked for results that the store has.
    fn starts_jobs(&self) -> bool {
        true
    }

    /// Starts a command; its output goes to `output`. `tag` marks all of its processes.
    fn start(&self, command: &CommandSpec, tag: &str, output: File) -> Result<Box<dyn Started>, ProcessError>;

    /// Load of the machine now, before a job starts whose ranks alone have this argument; `None` if it is unknown.
    fn load(&self, argument: &Path) -> Option<Reading>;
}

/// A command that was started.
pub trait Started: fmt::Debug {
    /// True if it has ended by itself.
    fn has_ended(&mut self) -> bool;

    /// True unless its report is known to have no more than so many bytes. Of a file that another host writes, only reading it tells.
    fn may_have_written_more_than(&self, _bytes: u64) -> bool {
        true
    }

    /// Waits until it has ended, for at most `limit`; returns true if it has.
    fn wait(&mut self, limit: Duration) -> bool;

    /// Ends all of it and returns its exit status; a second call does nothing. An error if processes do not go away.
    fn kill_all(&mut self, grace: Duration) -> Result<ExitStatus, ProcessError>;
}

/// This machine: real processes and the clock on the wall.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine;

impl Bench for Machine {
    fn clock(&self) -> Clock {
        Clock::wall()
    }

    fn start(&self, command: &CommandSpec, tag: &str, output: File) -> Result<Box<dyn Started>, ProcessError> {
        Ok(Box::new(Process::spawn(command, tag, output)?))
    }

    fn load(&self, argument: &Path) -> Option<Reading> {
        Reading::now(argument)
    }
}

impl Started for Process {
    fn has_ended(&mut self) -> bool {
        Process::has_ended(self)
    }

    fn wait(&mut self, limit: Duration) -> bool {
        Process::wait(self, limit)
    }

    fn kill_all(&mut self, grace: Duration) -> Result<ExitStatus, ProcessError> {
        Process::kill_all(self, grace)
    }
}

/// The clock on the wall, or one that only [`Clock::sleep`] moves. Clones of a clock show the same time.
#[derive(Debug, Clone)]
pub struct Clock {
    begin: Instant,
    /// Time since the start of a scripted clock.
    passed: Option<Rc<Cell<Duration>>>,
}

impl Clock {
    /// The clock on the wall.
    #[must_use]
    pub fn wall() -> Clock {
        Clock {
            begin: Instant::now(),
            passed: None,
        }
    }

    /// A clock that moves only when somebody sleeps by it.
    #[must_use]
    pub fn scripted() -> Clock {
        Clock {
            passed: Some(Rc::default()),
            ..Clock::wall()
        }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Instant {
        match &self.passed {
            Some(passed) => self.begin + passed.get(),
            None => Instant::now(),
        }
    }

    /// Time since `then`.
    #[must_use]
    pub fn since(&self, then: Instant) -> Duration {
        self.now().saturating_duration_since(then)
    }

    /// Time since this clock, or the first of its clones, was made.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.since(self.begin)
    }

    /// Lets so much time pass.
    pub fn sleep(&self, duration: Duration) {
        match &self.passed {
            Some(passed) => passed.set(passed.get() + duration),
            None => std::thread::sleep(duration),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripted_clock_moves_when_somebody_sleeps_by_it() {
        let clock = Clock::scripted();
        let (clone, then) = (clock.clone(), clock.now());
        clone.sleep(Duration::from_secs(86_400));
        assert_eq!(clock.since(then), Duration::from_secs(86_400));
        assert_eq!(clock.elapsed(), clone.elapsed());
    }
}
