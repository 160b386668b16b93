//! The job that was run: `job.json` beside the ranks' files.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Name of the file.
pub const FILE: &str = "job.json";

/// Version of the file; a reader refuses any other.
pub const VERSION: u32 = 1;

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// [`VERSION`].
    pub v: u32,
    /// The command as it was typed.
    pub command: String,
    /// Its exit status.
    pub status: i32,
}

/// A `job.json` that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The file cannot be read or written.
    #[error("`{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// It is none of Kilter's.
    #[error("`{}`: {message}; remove it to read the ranks' files without it", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Mistake.
        message: String,
    },
}

/// Writes it into a directory.
pub fn write(job: &Job, directory: &Path) -> Result<(), JobError> {
    let path = directory.join(FILE);
    let failed = |source| JobError::File {
        path: path.clone(),
        source,
    };
    let text = serde_json::to_string(job).map_err(|error| failed(error.into()))?;
    std::fs::write(&path, text + "\n").map_err(failed)
}

/// Reads it; the default if there is none: the ranks were started without `kilter trace`, or it was ended before the job.
pub fn read(directory: &Path) -> Result<Job, JobError> {
    let path = directory.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Job::default()),
        Err(source) => return Err(JobError::File { path, source }),
    };
    let wrong = |message| JobError::Content {
        path: path.clone(),
        message,
    };
    let job: Job = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if job.v == VERSION {
        Ok(job)
    } else {
        Err(wrong(format!("version {}, and {VERSION} is read", job.v)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_is_written() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()).unwrap(), Job::default());
        let job = Job {
            v: VERSION,
            command: "mpirun -n 2 './a b'".to_owned(),
            status: 3,
        };
        write(&job, directory.path()).unwrap();
        assert_eq!(read(directory.path()).unwrap(), job);
        for (text, expected) in [(r#"{"v":2,"command":"","status":0}"#, "version 2"), ("{", "EOF")] {
            std::fs::write(directory.path().join(FILE), text).unwrap();
            let error = read(directory.path()).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(FILE), "{error}");
        }
    }
}
