//! A job whose work is done ends while the next one starts.
//!
//! The times of a job are complete with the end line of its report. Its ranks and its launcher take longer: with Open MPI 4.1 on one host 46 ms for
//! `MPI_Finalize` and 25 ms for what `mpirun` tidies up, in which nobody computes, of 350 ms that an empty job takes. The next job's ranks need 270 ms before
//! they can be asked anything. So the next job is started at once, and asked its first question when nothing is left of the job before it:
//! no two jobs are ever beside each other while something is measured.

use std::cell::RefCell;

use super::failure::SessionError;
use super::job::Job;

/// Place of the job that is about to end.
#[derive(Debug)]
pub struct Leaving {
    /// True if the next job may start before it has ended.
    is_allowed: bool,
    job: RefCell<Option<Job>>,
}

impl Leaving {
    /// Jobs that share nothing that only one of them can have, as steps of a batch system's allocation share its processors, may start while the one
    /// before them ends.
    #[must_use]
    pub fn of_jobs_that_share_nothing(is_so: bool) -> Leaving {
        Leaving {
            is_allowed: is_so,
            job: RefCell::default(),
        }
    }

    /// True if jobs are let go.
    pub(super) fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    /// Lets a job go whose report is complete.
    pub(super) fn let_go(&self, job: Job) -> Result<(), SessionError> {
        self.see_off()?;
        *self.job.borrow_mut() = Some(job);
        Ok(())
    }

    /// Waits until nothing is left of the last job.
    ///
    /// # Errors
    /// Processes that do not go away, and the database's.
    pub fn see_off(&self) -> Result<(), SessionError> {
        let leaving = self.job.borrow_mut().take();
        leaving.map_or(Ok(()), |mut job| job.see_off())
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Err(error) = self.see_off() {
            tracing::error!("{error}");
        }
    }
}
