//! One attempt at a job: its process tree, the plan that it reads, the report that it writes.

mod ending;

use std::path::Path;
use std::time::{Duration, Instant};

use kilter_protocol::plan::{Block, PlanLine};
use kilter_protocol::report::Event;

use self::ending::Failure;
use super::bench::{Bench, Clock, Started};
use super::failure::SessionError;
use super::files::{self, PlanFile, io_error};
use super::follow::{Follower, Line};
use super::interrupt::{self, Flag};
use super::job_spec::JobSpec;
use super::ledger::Ledger;
use super::limits::Limits;
use super::other_load::{self, Reading};
use super::patience::{HEARTBEAT_SECONDS, Patience};
use crate::allocation;
use crate::store::{LaunchPaths, Position, Run};

/// Shortest and longest pause between two looks at the report: short after news, longer in silence, so that following
/// costs the job little. No event tells of a file that grows on another host of a shared file system.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Least time for a job to answer something, whatever the budget says.
const LEAST_TIME: Duration = if cfg!(test) {
    Duration::from_millis(300)
} else {
    Duration::from_secs(3)
};

/// Time after which a block is no longer waited for, once its job was told to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A longer silence is no file system's: this host may have slept.
const MOST_LATE_SECONDS: f64 = 120.0;

/// A file system that held lines back so long may do so for twice as long the next time.
const LATE_TIMES: f64 = 2.0;

/// Block id under which a failure is stored for which no block is to blame.
pub(super) const END: &str = "(end of job)";

/// A running job.
#[derive(Debug)]
pub(super) struct Job {
    process: Box<dyn Started>,
    clock: Clock,
    pub(super) ledger: Ledger,
    paths: LaunchPaths,
    plan: PlanFile,
    follower: Follower,
    limits: Limits,
    pub(super) patience: Patience,
    /// Reading of other programs' work at the start; `None` if it is unknown.
    load: Option<Reading>,
    load_looked_at: Instant,
    other_cores: Option<f64>,
    started: Instant,
    /// Seconds from then until the start line was seen.
    start_seconds: Option<f64>,
    /// Time at which it must end, whatever is left of the plan.
    ends_by: Option<Instant>,
    /// Time at which it was told so.
    told_to_end: Option<Instant>,
    last_life: Instant,
    /// Seconds for which the file system has kept lines of a healthy job back, or may do so.
    late_seconds: f64,
    /// True once the plan's end was written.
    closing: bool,
    /// Time at which its report was complete.
    reported: Option<Instant>,
    /// True once the record is closed and nothing runs any more.
    stopped: bool,
    interrupt: &'static Flag,
    /// Number of further lines after which nothing is stored any more, as if the tuner had been killed.
    #[cfg(test)]
    pub(super) dies_after_lines: Option<usize>,
}

/// Reason why waiting ended too early.
pub(super) enum Stop {
    /// An error; the job is over.
    Error(SessionError),
    /// The worker ended the job in order before it had answered everything.
    EndedInOrder,
    /// The job's time was over; it is ended, and what came is stored.
    OutOfTime,
}

impl<E: Into<SessionError>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Error(error.into())
    }
}

impl Job {
    /// Starts the next attempt. The plan holds the header only.
    pub(super) fn launch(
        run: &Run,
        bench: &dyn Bench,
        worker: &Path,
        directory: &Path,
        spec: &JobSpec,
        interrupt: &'static Flag,
    ) -> Result<Job, SessionError> {
        std::fs::create_dir_all(directory).map_err(io_error("create", directory))?;
        let directory = std::path::absolute(directory).map_err(io_error("find", directory))?;
        let attempt = run.next_attempt(&spec.key)?;
        let paths = files::paths(&directory, run.id, &spec.key, attempt);
        let command = spec
            .command
            .clone()
            .with_arguments([worker, &paths.plan, &paths.report].map(|path| path.to_string_lossy().into_owned()));
        let record = run.begin_launch(&spec.key, attempt, &command.to_string(), &paths)?;
        if let Some(allocation) = allocation::current() {
            record.made_in(&allocation)?;
        }
        for left in [&paths.report, &files::stop_path(&paths.plan)] {
            // A link to nothing is there, too.
            if left.symlink_metadata().is_ok() {
                std::fs::remove_file(left).map_err(io_error("remove", left))?;
            }
        }
        let mut plan = PlanFile::create(&paths.plan)?;
        plan.append(&[PlanLine::Header(spec.header.clone())])?;
        let log = files::anew(&paths.log).map_err(io_error("write", &paths.log))?;
        tracing::debug!(key = spec.key, attempt, "{command}");
        let late_seconds = files::seconds_of_caches(&directory);
        let load = bench.load(&paths.plan);
        let process = bench.start(&command, &record.tag, log)?;
        let clock = bench.clock();
        let now = clock.now();
        Ok(Job {
            process,
            clock,
            follower: Follower::new(&paths.report, Position::default()),
            ledger: Ledger::new(record),
            paths,
            plan,
            limits: spec.limits,
            patience: Patience::new(spec.limits),
            load,
            load_looked_at: now,
            other_cores: None,
            ends_by: spec.ends_by.map(|end| end.max(now + LEAST_TIME)),
            told_to_end: None,
            started: now,
            start_seconds: None,
            last_life: now,
            late_seconds,
            closing: false,
            reported: None,
            stopped: false,
            interrupt,
            #[cfg(test)]
            dies_after_lines: None,
        })
    }

    /// Adds blocks to the plan. With `last`, closes the plan.
    pub(super) fn ask(&mut self, blocks: &[Block], measured: bool, last: bool) -> Result<(), SessionError> {
        let mut lines: Vec<PlanLine> = blocks.iter().cloned().map(PlanLine::Block).collect();
        if last && !self.closing {
            lines.push(PlanLine::End);
            self.closing = true;
        }
        blocks
            .iter()
            .for_each(|block| self.ledger.ask(block.clone(), measured, false));
        self.plan.append(&lines)?;
        // The worker has had nothing to say about this before now.
        self.last_life = self.clock.now();
        Ok(())
    }

    /// True if none of its processes runs any more.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// True if the job takes no more questions.
    pub(super) fn is_closing(&self) -> bool {
        self.closing || self.ledger.end.is_some()
    }

    /// Reads new lines without waiting.
    pub(super) fn look(&mut self, progress: &mut dyn FnMut(&str)) -> Result<bool, SessionError> {
        if !self.process.may_have_written_more_than(self.follower.read_bytes()) {
            return Ok(false);
        }
        let lines = self.follower.lines()?;
        let news = !lines.is_empty();
        if news {
            let silent = self.clock.since(self.last_life).as_secs_f64();
            self.heed_delay(&lines, silent);
            self.patience.heed(silent, &self.ledger);
            self.ledger.record.together();
            let taken = self.take(lines, progress);
            // Lines taken before an error are stored, too.
            self.ledger.record.end_together()?;
            taken?;
            self.last_life = self.clock.now();
            if self.ledger.start.is_some() && self.start_seconds.is_none() {
                self.start_seconds = Some(self.clock.since(self.started).as_secs_f64());
            }
        }
        Ok(news)
    }

    /// Stores the load by other programs now, because a tuner that is killed cannot do it later.
    fn heed_load(&mut self) -> Result<(), SessionError> {
        let interval = other_load::until_next_look(self.load_looked_at - self.started);
        if self.clock.since(self.load_looked_at) >= interval {
            self.load_looked_at = self.clock.now();
            self.store_load()?;
        }
        Ok(())
    }

    fn store_load(&mut self) -> Result<(), SessionError> {
        if let Some(cores) = self.load.as_mut().and_then(Reading::other_cores) {
            self.other_cores = Some(cores);
            self.ledger.record.ran_beside(cores)?;
        }
        Ok(())
    }

    /// Tells a job whose time is over to end; true if it was told before and does not end.
    fn is_out_of_time(&mut self) -> Result<bool, SessionError> {
        // A job that does not start has a limit of its own.
        let is_over = self.ledger.start.is_some() && self.ends_by.is_some_and(|end| self.clock.now() >= end);
        match self.told_to_end {
            Some(told) => Ok(self.clock.since(told) >= PATIENCE.min(seconds(self.limits.finish_seconds))),
            None if is_over => {
                let path = files::stop_path(&self.paths.plan);
                files::anew(&path).map_err(io_error("write", &path))?;
                self.told_to_end = Some(self.clock.now());
                Ok(false)
            }
            None => Ok(false),
        }
    }

    fn take(&mut self, lines: Vec<Line>, progress: &mut dyn FnMut(&str)) -> Result<(), SessionError> {
        for line in lines {
            #[cfg(test)]
            if self.dies_after_lines == Some(0) {
                return Err(io_error("go on with", &self.paths.report)(std::io::Error::other(
                    "killed by the test",
                )));
            }
            let done = self
                .ledger
                .take(line, self.follower.path(), self.clock.since(self.started))?;
            #[cfg(test)]
            {
                self.dies_after_lines = self.dies_after_lines.map(|left| left - 1);
            }
            if let Some(block) = done {
                progress(&block);
            }
        }
        Ok(())
    }

    /// Learns how long the file system keeps lines back. Signs of life are written every second: several that come at once were held for as long, and
    /// a silence of that length says nothing of the job.
    fn heed_delay(&mut self, lines: &[Line], silent: f64) {
        let beats = lines.iter().filter(|line| line.event == Event::Heartbeat).count();
        let held = silent.min(HEARTBEAT_SECONDS * beats.saturating_sub(1) as f64);
        self.late_seconds = self.late_seconds.max(held.min(MOST_LATE_SECONDS));
    }

    /// Seconds of silence after which a job hangs.
    fn silence_seconds(&self) -> f64 {
        self.patience
            .seconds(&self.ledger, self.start_seconds, self.other_cores)
            + LATE_TIMES * self.late_seconds
    }

    /// Follows the report until `satisfied` returns true.
    pub(super) fn wait_until(
        &mut self,
        progress: &mut dyn FnMut(&str),
        satisfied: impl Fn(&Ledger) -> bool,
    ) -> Result<(), Stop> {
        let mut pause = SHORTEST_PAUSE;
        loop {
            // Looked at before the report: what an ended job has written is then read completely.
            let ended = self.process.has_ended();
            let news = self.look(progress)?;
            if satisfied(&self.ledger) {
                return Ok(());
            }
            self.heed_load()?;
            if let Some(signal) = interrupt::received(self.interrupt) {
                self.stop("interrupted")?;
                return Err(SessionError::Interrupted { signal }.into());
            }
            if self.ledger.end.is_some() {
                return Err(match self.told_to_end {
                    Some(_) => Stop::OutOfTime,
                    None => Stop::EndedInOrder,
                });
            }
            if self.is_out_of_time()? {
                self.stop("ended by time")?;
                return Err(Stop::OutOfTime);
            }
            if news {
                pause = SHORTEST_PAUSE;
                continue;
            }
            let seconds_silent = self.clock.since(self.last_life).as_secs_f64();
            if ended {
                return Err(self.fail(Failure::Ended).into());
            } else if self.ledger.start.is_none() {
                let limit = self.limits.start_seconds + LATE_TIMES * self.late_seconds;
                if self.clock.since(self.started).as_secs_f64() > limit {
                    return Err(self.fail(Failure::NoStart).into());
                }
            } else {
                let limit = self.silence_seconds();
                if seconds_silent > limit {
                    return Err(self.fail(Failure::Silent { limit }).into());
                }
            }
            self.clock.sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// A limit given by people. A value that is no duration means for ever, which is a day.
fn seconds(limit: f64) -> Duration {
    const DAY: Duration = Duration::from_secs(86_400);
    Duration::try_from_secs_f64(limit).unwrap_or(DAY).min(DAY)
}
