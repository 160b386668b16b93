//! Ends of a job: in order, by force, or by a failure, which is stored.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use kilter_protocol::plan::Block;

use super::{END, Job, Stop, seconds};
use crate::launch::failure::{JobFailure, Place, SessionError};
use crate::launch::files::{self, io_error};
use crate::launch::process::KILL_GRACE;
use crate::launch::watch::Ended;

impl Job {
    /// Ends the job in order.
    pub(in crate::launch) fn wind_up(&mut self) -> Result<(), SessionError> {
        self.let_end()?;
        self.see_off()
    }

    /// Tells the job to end, and waits until its report is complete. Its processes take a moment longer.
    pub(in crate::launch) fn let_end(&mut self) -> Result<(), SessionError> {
        self.ask(&[], true, true)?;
        match self.wait_until(&mut |_| (), |ledger| ledger.end.is_some()) {
            Ok(()) | Err(Stop::EndedInOrder | Stop::OutOfTime) => {}
            Err(Stop::Error(error)) => return Err(error),
        }
        if !self.stopped {
            self.store_load()?;
            self.reported = Some(self.clock.now());
        }
        Ok(())
    }

    /// Waits until nothing is left of a job whose report is complete.
    pub(in crate::launch) fn see_off(&mut self) -> Result<(), SessionError> {
        if self.stopped {
            return Ok(());
        }
        let since = self
            .reported
            .map_or(Duration::ZERO, |reported| self.clock.since(reported));
        let left = seconds(self.limits.finish_seconds).saturating_sub(since);
        let in_time = self.process.wait(left);
        let status = self.process.kill_all(KILL_GRACE)?;
        let outcome = match (in_time, status.success()) {
            (true, true) => "ended".to_owned(),
            (true, false) => format!("ended, then {}", describe(status)),
            (false, _) => format!("ended, then killed after {} s", self.limits.finish_seconds),
        };
        if outcome != "ended" {
            tracing::warn!("job `{}` {outcome}; its samples are complete", self.ledger.record.key());
        }
        self.close(&outcome)
    }

    /// Cost of the job, once it is over.
    pub(in crate::launch) fn ended(&self) -> Ended {
        Ended {
            key: self.ledger.record.key().to_owned(),
            seconds: self.clock.since(self.started).as_secs_f64(),
            start_seconds: self.start_seconds,
            other_cores: self.other_cores,
            silent_seconds: self.patience.longest_seconds(),
            unanswered: match self.told_to_end {
                Some(_) => self.ledger.unanswered(),
                None => 0,
            },
            started_again: None,
        }
    }

    /// Removes every process, takes the report's lines so far, and closes the record.
    pub(super) fn stop(&mut self, outcome: &str) -> Result<ExitStatus, SessionError> {
        let status = self.process.kill_all(KILL_GRACE)?;
        // The job is over in any case: a report that ends badly changes nothing.
        if let Err(error) = self.look(&mut |_| ()) {
            tracing::debug!("{error}");
        }
        self.close(outcome)?;
        Ok(status)
    }

    fn close(&mut self, outcome: &str) -> Result<(), SessionError> {
        #[cfg(test)]
        if self.dies_after_lines == Some(0) {
            return Ok(());
        }
        let since = match self.reported {
            // What runs since then is another job.
            Some(reported) => self.clock.since(reported),
            None => {
                self.store_load()?;
                Duration::ZERO
            }
        };
        let elapsed = self.clock.since(self.started).saturating_sub(since);
        self.ledger.record.close_late(outcome, elapsed, since)?;
        self.stopped = true;
        Ok(())
    }

    /// Ends a failed job, stores the failure, and returns it.
    pub(super) fn fail(&mut self, how: Failure) -> SessionError {
        let mut place = Box::new(Place {
            key: self.ledger.record.key().to_owned(),
            log: self.paths.log.clone(),
            ..Place::default()
        });
        let blamed = self.ledger.blamed().cloned();
        if let Some((block, entered)) = self.ledger.under_way() {
            place.item = entered.last().cloned();
            place.unfinished = entered.to_vec();
            match self.ledger.asked(block) {
                Some(block) => place.in_block(block),
                None => place.block = Some(block.to_owned()),
            }
        } else if let Some(block) = &blamed {
            // Between two blocks, the next one is named.
            place.in_block(block);
        }
        let started = self.ledger.start.is_some();
        let status = match self.stop(how.outcome(started)) {
            Ok(status) => status,
            Err(error) => return error,
        };
        place.log_tail = files::tail(&self.paths.log);
        let failure = match how {
            Failure::Silent { limit } => JobFailure::Hung {
                seconds: limit.round(),
                place,
            },
            Failure::Ended if started => JobFailure::Crashed {
                status: describe(status),
                place,
            },
            Failure::Ended => JobFailure::DidNotStart {
                reason: describe(status),
                ended: true,
                place,
            },
            Failure::NoStart => JobFailure::DidNotStart {
                reason: format!("not within {} s", self.limits.start_seconds),
                ended: false,
                place,
            },
        };
        match self.store_failure(&failure, blamed.as_ref()) {
            Ok(()) => failure.into(),
            Err(error) => error,
        }
    }

    /// Stores a failure under the block that is to blame, unless the block was done after all. A job that did not start
    /// is not stored.
    pub(in crate::launch) fn store_failure(
        &self,
        failure: &JobFailure,
        blamed: Option<&Block>,
    ) -> Result<(), SessionError> {
        let state = match failure {
            JobFailure::DidNotStart { .. } => return Ok(()),
            JobFailure::Hung { .. } => "hung",
            JobFailure::Crashed { .. } => "crashed",
        };
        if blamed.is_some_and(|block| self.ledger.is_done(&block.id)) {
            return Ok(());
        }
        let (id, items) = blamed.map_or((END, &[][..]), |block| (block.id.as_str(), &block.items[..]));
        let detail = serde_json::to_string(failure)
            .map_err(|error| io_error("describe", &self.paths.log)(std::io::Error::other(error.to_string())))?;
        self.ledger.record.record_failure(id, items, state, &detail)?;
        Ok(())
    }

    /// The failure of a worker that ends in order again and again without answering.
    pub(in crate::launch) fn unanswered(&self) -> JobFailure {
        let mut place = Place {
            key: self.ledger.record.key().to_owned(),
            log: self.paths.log.clone(),
            log_tail: files::tail(&self.paths.log),
            ..Place::default()
        };
        if let Some(block) = self.ledger.blamed() {
            place.in_block(block);
        }
        JobFailure::Crashed {
            status: "in order, but without an answer".to_owned(),
            place: Box::new(place),
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.stopped
            && let Err(error) = self.stop("abandoned")
        {
            tracing::error!("{error}");
        }
    }
}

/// Failure of a job, as it was noticed.
#[derive(Clone, Copy)]
pub(super) enum Failure {
    Ended,
    NoStart,
    /// For longer than the limit, in seconds.
    Silent {
        limit: f64,
    },
}

impl Failure {
    fn outcome(self, started: bool) -> &'static str {
        match self {
            Failure::Silent { .. } => "hung",
            Failure::Ended if started => "crashed",
            Failure::Ended | Failure::NoStart => "did not start",
        }
    }
}

/// `exit status: 1`, or `signal: 9 (SIGKILL)`.
fn describe(status: ExitStatus) -> String {
    match status
        .signal()
        .map(|number| (number, nix::sys::signal::Signal::try_from(number)))
    {
        Some((number, Ok(signal))) => format!("signal: {number} ({signal})"),
        Some((number, Err(_))) => format!("signal: {number}"),
        None => format!("exit status: {}", status.code().unwrap_or_default()),
    }
}
