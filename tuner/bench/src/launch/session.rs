//! A session: questions to one job, answered from the store if they were answered before.
//!
//! Nothing is started while all answers come from the store. A job that is gone (its failure was reported, or the
//! worker ended it because no question came) is started again for the next question, as a new attempt under the same
//! key.

mod answers;
mod asked;
mod broken;
mod jobs;

use std::path::{Path, PathBuf};

use kilter_protocol::plan::{Block, Repetitions};
use kilter_protocol::report::{End, Start};

use super::bench::{Bench, Machine};
pub use super::failure::{JobFailure, Place, SessionError};
use super::interrupt::{self, Flag};
use super::job::{END, Job, Stop};
use super::job_spec::JobSpec;
use super::leaving::Leaving;
use super::starts::Starts;
use super::watch::Watch;
use crate::reference::{Launch, Reference};
pub use crate::store::{BlockOutcome, ItemSamples};
use crate::store::{Run, StoreError};
use asked::Asked;
pub use broken::Broken;

/// Number of times that a question is put to a worker that ends in order without answering.
const MAX_TRIES: usize = 3;

/// Questions to one job. Dropping it ends the job.
#[derive(Debug)]
pub struct Session<'run> {
    run: &'run Run,
    bench: &'run dyn Bench,
    worker: PathBuf,
    directory: PathBuf,
    spec: JobSpec,
    interrupt: &'static Flag,
    job: Option<Job>,
    /// Every block asked, for the end line.
    asked: Asked,
    /// Failure of a job that did not start, again; this session does not try it any more.
    not_started: Option<JobFailure>,
    starts: Starts,
    recovered: bool,
    /// True once the job's time is over. Questions without a stored answer then stay unanswered.
    out_of_time: bool,
    watch: Option<&'run Watch>,
    judge: Option<(&'run Reference, Launch)>,
    broken: Option<&'run Broken>,
    survives: bool,
    leaving: Option<&'run Leaving>,
    #[cfg(test)]
    pub(super) dies_after_lines: Option<usize>,
}

impl<'run> Session<'run> {
    /// Makes a session without starting anything. `directory` holds the files of the job and must be seen by the tuner
    /// and by rank 0.
    #[must_use]
    pub fn new(run: &'run Run, worker: &Path, directory: &Path, spec: JobSpec) -> Session<'run> {
        Session {
            run,
            bench: &Machine,
            worker: worker.to_path_buf(),
            directory: directory.to_path_buf(),
            spec,
            interrupt: interrupt::flag(),
            job: None,
            asked: Asked::default(),
            not_started: None,
            starts: Starts::default(),
            recovered: false,
            out_of_time: false,
            watch: None,
            judge: None,
            broken: None,
            survives: false,
            leaving: None,
            #[cfg(test)]
            dies_after_lines: None,
        }
    }

    /// Starts its jobs on this bench instead of this machine.
    #[must_use]
    pub fn on(mut self, bench: &'run dyn Bench) -> Session<'run> {
        self.bench = bench;
        self
    }

    /// Uses this flag for interruptions instead of the tuner's own.
    #[must_use]
    pub fn interrupted_by(mut self, flag: &'static Flag) -> Session<'run> {
        self.interrupt = flag;
        self
    }

    /// Reports the cost of its jobs to `watch`.
    #[must_use]
    pub fn watched_by(mut self, watch: &'run Watch) -> Session<'run> {
        self.watch = Some(watch);
        self
    }

    /// Compares the results of its items with those of the untouched library.
    #[must_use]
    pub fn judged_by(mut self, reference: &'run Reference, launch: Launch) -> Session<'run> {
        self.judge = Some((reference, launch));
        self
    }

    /// Leaves out items that have ended a job, and answers them as failed.
    #[must_use]
    pub fn heeding(mut self, broken: &'run Broken) -> Session<'run> {
        self.broken = Some(broken);
        self
    }

    /// Goes on in a new job, without the item, where an item ends the job. For sessions that ask nothing but what the library itself does.
    #[must_use]
    pub fn surviving(mut self) -> Session<'run> {
        self.survives = true;
        self
    }

    /// Its job, once it has reported, may end while the next one that leaves the same way starts.
    #[must_use]
    pub fn leaving_by(mut self, leaving: &'run Leaving) -> Session<'run> {
        self.leaving = Some(leaving);
        self
    }

    /// True if blocks were left unanswered because the job had to end.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        self.out_of_time
    }

    /// Asks one block and waits for its answer; the job stays alive for the next. Errors include a failure that the job
    /// had when the resumed run asked it before.
    pub fn measure(&mut self, block: &Block) -> Result<BlockOutcome, SessionError> {
        let mut outcomes = self.answer(std::slice::from_ref(block), &mut |_| (), false)?;
        outcomes.pop().ok_or_else(|| self.unexplained(&block.id).into())
    }

    /// Asks all blocks at once; the job stays alive for the next. Otherwise it is like [`Session::measure_all`].
    pub fn measure_together(
        &mut self,
        blocks: &[Block],
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<BlockOutcome>, SessionError> {
        self.answer(blocks, progress, false)
    }

    /// Asks all blocks at once and ends the job; `progress` hears the id of every block that is done. Outcomes are in
    /// the order of `blocks`; those of blocks that were not answered before the job had to end are empty. Blocks done
    /// before a failure are kept: the store answers them when they are asked again.
    pub fn measure_all(
        &mut self,
        blocks: &[Block],
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<BlockOutcome>, SessionError> {
        self.answer(blocks, progress, true)
    }

    /// The same session, whose job reports the processing units of rank 0's host at its start.
    #[must_use]
    pub fn asking_processing_units(mut self) -> Session<'run> {
        self.spec.header.asks_processing_units = true;
        self
    }

    /// The job's start line, from the store if it has started before.
    pub fn start(&mut self) -> Result<Start, SessionError> {
        self.prepare()?;
        if let Some(start) = self.run.start_info(&self.spec.key)? {
            return Ok(start);
        }
        for _ in 0..MAX_TRIES {
            match self.running()?.wait_until(&mut |_| (), |ledger| ledger.start.is_some()) {
                Ok(()) => break,
                Err(Stop::EndedInOrder) => self.end_job()?,
                Err(Stop::OutOfTime) => {
                    self.leave()?;
                    break;
                }
                Err(Stop::Error(error)) => self.go_on_after(error)?,
            }
        }
        self.run
            .start_info(&self.spec.key)?
            .ok_or_else(|| self.unexplained("start").into())
    }

    /// Times of the empty operation in seconds, once reported.
    #[must_use]
    pub fn noise(&self) -> Option<Vec<f64>> {
        self.run.noise(&self.spec.key).unwrap_or_else(|error| {
            tracing::warn!("{error}");
            None
        })
    }

    /// Ends the job in order. The end line covers every block asked. If an earlier attempt measured blocks but was
    /// killed before its end line, they are run once more, one repetition each, and their samples are not used.
    pub fn finish(mut self) -> Result<End, SessionError> {
        self.prepare()?;
        self.replay_failure(END)?;
        self.end_job()?;
        if self.out_of_time {
            return Ok(self.run.end_info(&self.spec.key)?.unwrap_or_default());
        }
        let without_end = self.run.blocks_without_end(&self.spec.key)?;
        let uncovered = self.asked.iter().filter(|block| without_end.contains(&block.id));
        let uncovered = uncovered.map(|block| Block {
            repetitions: Repetitions::fixed(1, block.repetitions.seconds),
            ..block.clone()
        });
        let uncovered: Vec<Block> = uncovered.collect();
        let mut pending = !uncovered.is_empty();
        while pending {
            let job = self.running()?;
            job.ask(&uncovered, false, true)?;
            pending = false;
            match job.wait_until(&mut |_| (), |ledger| ledger.all_done()) {
                Ok(()) => self.end_job()?,
                Err(Stop::EndedInOrder) => return Err(self.give_up()),
                Err(Stop::OutOfTime) => self.leave()?,
                Err(Stop::Error(error)) => {
                    self.go_on_after(error)?;
                    pending = true;
                }
            }
        }
        Ok(self.run.end_info(&self.spec.key)?.unwrap_or_default())
    }

    /// Ends the job in order, if one runs, when its end line is not wanted.
    pub fn close(mut self) -> Result<(), SessionError> {
        self.end_job()
    }

    fn unexplained(&self, what: &str) -> StoreError {
        self.run
            .damaged(format!("nothing is stored about `{what}` of job `{}`", self.spec.key))
    }
}

#[cfg(test)]
mod tests;
