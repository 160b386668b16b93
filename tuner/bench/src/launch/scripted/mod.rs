//! A bench on which nothing runs. Its jobs speak the worker's protocol, and a [`Script`] determines their behaviour.
//!
//! A job is a [`player::Player`]: it reads the plan and writes the report, as a worker does. Its clock moves only when
//! somebody waits. Hours of measuring therefore take a second, and the same seed gives the same times.

mod noise;
mod plan;
mod player;
mod report;
mod verifier;

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use kilter_protocol::fault::Fault;
use kilter_protocol::plan::{Header, Item};
use kilter_protocol::report::Start;

use super::bench::{Bench, Clock, Started};
use super::command::CommandSpec;
use super::other_load::Reading;
use super::process::ProcessError;
pub use noise::Noise;
use player::Player;
use verifier::Verifier;

/// Behaviour of the jobs of a scripted bench.
pub trait Script: fmt::Debug {
    /// Behaviour of a job that is launched by `command`.
    fn launch(&self, command: &CommandSpec, header: &Header) -> Launched;

    /// What becomes of a job of `kilter-verify` that does not start.
    fn verifier_not_started(&self) -> Option<NotStarted> {
        None
    }

    /// Interval at which what jobs report becomes visible, at this time since the clock's start: that of a file system which goes by what it knew.
    fn shows_reports_every(&self, _elapsed: Duration) -> Duration {
        Duration::ZERO
    }

    /// Behaviour of a row of a plugin in the correctness matrix.
    fn verified(&self, row: &str) -> RowEnds;
}

/// Behaviour of a job that does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStarted {
    /// It ends at once.
    Ends,
    /// It stays silent.
    Hangs,
}

/// Behaviour of a job after its launch.
#[derive(Debug)]
pub enum Launched {
    /// It starts.
    Runs {
        /// The job's start line.
        start: Box<Start>,
        /// Behaviour of its items.
        play: Box<dyn Play>,
    },
    /// The launcher ends at once and prints this text.
    Fails(String),
    /// The job stays silent.
    Silent,
}

/// Behaviour of the items of a job.
pub trait Play: fmt::Debug {
    /// One item of a block.
    fn item(&self, item: &Item) -> Played;
}

/// Behaviour of an item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Played {
    /// Its end.
    pub ends: Ends,
    /// Its settings, counters and bits as they are read back: name, value.
    pub read_back: Vec<(String, String)>,
    /// The implementations that the drop-in runs in one call of it.
    pub dropin: Vec<String>,
}

/// End of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Ends {
    /// Each repetition takes so many seconds, before noise.
    Takes(f64),
    /// The item fails, and the others of its block go on.
    Fails(Fault),
    /// No repetition is valid, as where other programs take a rank's processor each time.
    Void,
    /// The item takes the job down.
    Crashes,
    /// The job falls silent.
    Hangs,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends::Takes(0.0)
    }
}

/// Result of a plugin's row in the correctness matrix.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RowEnds {
    /// All its cases are right.
    #[default]
    Right,
    /// One case is wrong, for this reason.
    Wrong(String),
    /// All its cases are left out, for this reason.
    Skipped(String),
    /// The plugin lacks it.
    Missing,
    /// It takes the job down.
    Crashes,
    /// Nothing is heard of the job any more.
    Hangs,
}

/// A bench whose jobs a [`Script`] plays.
#[derive(Debug)]
pub struct Scripted {
    script: Rc<dyn Script>,
    noise: Noise,
    clock: Clock,
    other_cores: Option<f64>,
}

impl Scripted {
    /// Jobs that this script plays, with noise on their times.
    #[must_use]
    pub fn new(script: Rc<dyn Script>, noise: Noise) -> Scripted {
        Scripted {
            script,
            noise,
            clock: Clock::scripted(),
            other_cores: None,
        }
    }

    /// The bench on a clock that others go by as well.
    #[must_use]
    pub fn on_clock(self, clock: Clock) -> Scripted {
        Scripted { clock, ..self }
    }

    /// Other programs take so many processors all the time; without a number, nobody can tell.
    #[must_use]
    pub fn beside(mut self, other_cores: Option<f64>) -> Scripted {
        self.other_cores = other_cores;
        self
    }
}

impl Bench for Scripted {
    fn clock(&self) -> Clock {
        self.clock.clone()
    }

    fn start(&self, command: &CommandSpec, _tag: &str, output: File) -> Result<Box<dyn Started>, ProcessError> {
        let [.., first, last] = command.argv.as_slice() else {
            return Err(ProcessError::Empty);
        };
        if let Ok(request) = serde_json::from_str(last) {
            return Ok(Box::new(Verifier::new(&*self.script, &request, self.clock.clone())));
        }
        let files = player::Files::new(first, last, output, self.clock.now());
        let player = Player::new(Rc::clone(&self.script), self.noise, self.clock.clone(), files);
        Ok(Box::new(player.launched_by(command)))
    }

    fn load(&self, _: &Path) -> Option<Reading> {
        self.other_cores.map(Reading::Scripted)
    }
}
