//! The job of a session: started when something is asked, ended in order, left when its time is over, given up after an error.

use super::{JobSpec, Session};
use crate::launch::failure::{JobFailure, SessionError};
use crate::launch::interrupt;
use crate::launch::job::Job;
use crate::launch::leaving::Leaving;
use crate::launch::recover;
use crate::launch::watch::{Ended, Watch};

impl Session<'_> {
    /// First step of every call.
    pub(super) fn prepare(&mut self) -> Result<(), SessionError> {
        if !self.recovered {
            recover::recover(self.run)?;
            self.recovered = true;
        }
        match &self.not_started {
            Some(failure) => Err(failure.clone().into()),
            None => Ok(()),
        }
    }

    /// The running job, started if need be.
    pub(super) fn running(&mut self) -> Result<&mut Job, SessionError> {
        if let Some(signal) = interrupt::received(self.interrupt) {
            self.job = None;
            return Err(SessionError::Interrupted { signal });
        }
        if let Some(job) = &mut self.job {
            // The worker may have ended the job while nobody asked.
            if let Err(error) = job.look(&mut |_| ()) {
                return Err(self.failed(error));
            }
            if self.job.as_ref().is_some_and(Job::is_closing) {
                self.end_job()?;
            }
        }
        if !self.bench.starts_jobs() {
            return Err(SessionError::Replayed {
                key: self.spec.key.clone(),
            });
        }
        if self.job.is_none() {
            let spec = JobSpec {
                limits: self.starts.limits(self.spec.limits),
                ..self.spec.clone()
            };
            let mut job = Job::launch(
                self.run,
                self.bench,
                &self.worker,
                &self.directory,
                &spec,
                self.interrupt,
            )?;
            job.patience.heed_earlier(self.watch.map_or(0.0, Watch::silent_seconds));
            self.job = Some(job);
            // It is asked nothing before the last one is gone.
            self.leaving.map_or(Ok(()), Leaving::see_off)?;
            #[cfg(test)]
            if let Some(job) = &mut self.job {
                job.dies_after_lines = self.dies_after_lines;
            }
        }
        self.job
            .as_mut()
            .ok_or_else(|| SessionError::from(self.run.damaged("a job that is not there")))
    }

    /// Ends the job in order, if there is one.
    pub(super) fn end_job(&mut self) -> Result<(), SessionError> {
        let Some(mut job) = self.job.take() else { return Ok(()) };
        let leaving = self.leaving.filter(|leaving| leaving.is_allowed());
        let ended = match leaving {
            Some(_) => job.let_end(),
            None => job.wind_up(),
        };
        self.tell(&job);
        let ended = match (ended, leaving) {
            (Ok(()), Some(leaving)) => leaving.let_go(job),
            (ended, _) => ended,
        };
        ended.map_err(|error| self.failed(error))
    }

    /// Ends a job whose time is over; no further question is asked.
    pub(super) fn leave(&mut self) -> Result<(), SessionError> {
        self.out_of_time = true;
        let Some(mut job) = self.job.take() else { return Ok(()) };
        // A job that did not end in order was killed.
        let ended = if job.is_stopped() { Ok(()) } else { job.wind_up() };
        self.tell(&job);
        drop(job);
        ended.map_err(|error| self.failed(error))
    }

    /// Gives up the job after an error. A job that did not start is forgotten, so that the next question starts it again, as often as [`Starts`]
    /// allows: launchers and libraries have failures of the moment (Open MPI under `srun` dies in MPI_Init when a peer's first message is early,
    /// <https://github.com/open-mpi/ompi/issues/12495>).
    ///
    /// [`Starts`]: crate::launch::Starts
    pub(super) fn go_on_after(&mut self, error: SessionError) -> Result<(), SessionError> {
        match &error {
            SessionError::Job(failure @ JobFailure::DidNotStart { ended, .. })
                if self.starts.again(&self.spec.limits, !*ended) =>
            {
                let said = failure.to_string();
                match (self.job.take(), self.watch) {
                    (Some(job), Some(watch)) => watch.ended(Ended {
                        started_again: Some(said),
                        ..job.ended()
                    }),
                    _ => tracing::warn!("{said}\nIt is started again."),
                }
                Ok(())
            }
            _ => Err(self.failed(error)),
        }
    }

    /// Gives up the job after an error.
    pub(super) fn failed(&mut self, error: SessionError) -> SessionError {
        if let Some(job) = self.job.take() {
            self.tell(&job);
        }
        if let SessionError::Job(failure @ JobFailure::DidNotStart { .. }) = &error {
            self.not_started = Some(failure.clone());
        }
        error
    }

    fn tell(&self, job: &Job) {
        if let Some(watch) = self.watch {
            watch.ended(job.ended());
        }
    }

    /// Gives up a worker that ends in order without answering.
    pub(super) fn give_up(&mut self) -> SessionError {
        let Some(job) = self.job.take() else {
            return self.unexplained("end").into();
        };
        let failure = job.unanswered();
        match job.store_failure(&failure, job.ledger.blamed()) {
            Ok(()) => failure.into(),
            Err(error) => error,
        }
    }
}
