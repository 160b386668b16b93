//! Failures of jobs.

use std::fmt;
use std::path::PathBuf;

use kilter_protocol::fault::FaultKind;
use kilter_protocol::plan::Block;
use kilter_protocol::task::Task;
use serde::{Deserialize, Serialize};

use super::bad_line::BadLine;
use super::command::TemplateError;
use super::files::OF_WORKER;
use super::process::ProcessError;
use crate::store::StoreError;

/// A job that did not do what it was asked. It is stored, so that a resumed run need not go through it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum JobFailure {
    /// The job was silent for too long.
    #[error("no sign of life for {seconds} s{place}")]
    Hung {
        /// The limit that was passed, in seconds.
        seconds: f64,
        /// Place of the failure.
        place: Box<Place>,
    },
    /// The job ended too early.
    #[error("the job ended before it was done ({status}){place}")]
    Crashed {
        /// Exit of the launcher: `exit status: 1`, `signal: 9 (SIGKILL)`.
        status: String,
        /// Place of the failure.
        place: Box<Place>,
    },
    /// The job never reported its start. This is not stored, and a resumed run tries again.
    #[error("the job did not start ({reason}){place}")]
    DidNotStart {
        /// Early end, or a start that took too long.
        reason: String,
        /// True if the launcher ended by itself, which takes little time and may go well the next time.
        #[serde(default)]
        ended: bool,
        /// Place of the failure.
        place: Box<Place>,
    },
}

impl JobFailure {
    /// The failure of a job behind an error.
    #[must_use]
    pub fn behind(error: &anyhow::Error) -> Option<&JobFailure> {
        error.chain().find_map(|cause| {
            let session = match cause.downcast_ref::<SessionError>() {
                Some(SessionError::Job(failure)) => Some(failure),
                _ => None,
            };
            cause.downcast_ref::<JobFailure>().or(session)
        })
    }

    /// Place of the failure.
    #[must_use]
    pub fn place(&self) -> &Place {
        match self {
            JobFailure::Hung { place, .. }
            | JobFailure::Crashed { place, .. }
            | JobFailure::DidNotStart { place, .. } => place,
        }
    }

    /// The item that most likely caused it: the last one that was entered and gave no samples.
    #[must_use]
    pub fn suspect(&self) -> Option<&str> {
        self.place().item.as_deref()
    }

    /// The failure in a line: its kind, the block, and what a worker said of it.
    #[must_use]
    pub fn in_short(&self) -> String {
        let place = self.place();
        let mut text = self.kind().to_string();
        if let Some(block) = &place.block {
            text += &format!(" in block `{block}`");
        }
        let said = place.log_tail.lines().find_map(|line| line.strip_prefix(OF_WORKER));
        if let Some(said) = said {
            text += &format!(": {said}");
        }
        text
    }

    /// The kind: `hung`, `crashed` or `did not start`.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self {
            JobFailure::Hung { .. } => FaultKind::Hung,
            JobFailure::Crashed { .. } => FaultKind::Crashed,
            JobFailure::DidNotStart { .. } => FaultKind::DidNotStart,
        }
    }
}

/// Place of a job's failure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place {
    /// Key of the job.
    pub key: String,
    /// The block under way.
    pub block: Option<String>,
    /// Tasks and volumes in bytes of its items, each once.
    #[serde(default)]
    pub calls: Vec<(Task, u64)>,
    /// The item entered last that has given no samples.
    pub item: Option<String>,
    /// Items of the block that were entered and have neither samples nor failed, in the order of entry.
    pub unfinished: Vec<String>,
    /// File with the job's output.
    pub log: PathBuf,
    /// Last lines of that file.
    pub log_tail: String,
}

impl Place {
    /// Names the block.
    pub(super) fn in_block(&mut self, block: &Block) {
        self.block = Some(block.id.clone());
        self.calls = block.items.iter().map(|item| (item.task, item.bytes)).collect();
        self.calls.sort_unstable();
        self.calls.dedup();
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " in job `{}`", self.key)?;
        if let Some(block) = &self.block {
            write!(f, ", block `{block}`")?;
        }
        if let Some(item) = &self.item {
            write!(f, ", item `{item}`")?;
        }
        if self.log_tail.is_empty() {
            write!(f, "; it printed nothing (log `{}`)", self.log.display())
        } else {
            write!(f, "; log `{}` ends with:\n{}", self.log.display(), self.log_tail)
        }
    }
}

/// Reason why a session gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The job failed; its processes have been removed.
    #[error(transparent)]
    Job(#[from] JobFailure),
    /// The tuner was told to stop; the job's processes have been removed.
    #[error("interrupted by signal {signal}; what was measured is stored, and the same command continues")]
    Interrupted {
        /// Number of the signal.
        signal: i32,
    },
    /// A replay starts nothing.
    #[error("the stored run has no answer of job `{key}` to this question; it decided otherwise, or was not finished")]
    Replayed {
        /// Key of the job.
        key: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A process could not be started or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The launcher's template is wrong.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The report makes no sense.
    #[error("`{}` line {line}: {mistake}", path.display())]
    Report {
        /// The report file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// The mistake.
        mistake: BadLine,
    },
    /// A file could not be used.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// The attempted action.
        action: &'static str,
        /// File on which it was attempted.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The question differs from the stored one.
    #[error(
        "block `{block}` of job `{key}` was measured with other items in the run that is resumed; \
         begin a new run (another `--seed` or `--db`)"
    )]
    DifferentBlock {
        /// Key of the job.
        key: String,
        /// Block.
        block: String,
    },
    /// A question has the same id twice.
    #[error("block `{block}` is asked twice of job `{key}`")]
    DuplicateBlock {
        /// Key of the job.
        key: String,
        /// Block.
        block: String,
    },
}
