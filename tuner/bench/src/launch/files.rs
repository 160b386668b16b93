//! The files of an attempt: names, the plan that grows, the end of the log.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::plan::PlanLine;

use super::failure::SessionError;
use crate::store::LaunchPaths;

/// Bytes of a log's end that go into an error.
const TAIL_BYTES: u64 = 2048;
const TAIL_LINES: usize = 12;

/// Names of the files: readable, and different for different runs, keys and attempts.
pub(super) fn paths(directory: &Path, run: i64, key: &str, attempt: u32) -> LaunchPaths {
    let mut name: String = key
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .take(60)
        .collect();
    if name != key {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        name.push_str(&format!("-{:016x}", hasher.finish()));
    }
    let file = |kind: &str| directory.join(format!("run{run}-{name}-{attempt}.{kind}"));
    LaunchPaths {
        plan: file("plan.jsonl"),
        report: file("report.jsonl"),
        log: file("log"),
    }
}

/// The file whose existence ends a job before the rest of its plan.
pub(super) fn stop_path(plan: &Path) -> PathBuf {
    plan.with_extension(kilter_protocol::plan::STOP_EXTENSION)
}

/// Adds path and intention to an error.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> SessionError {
    let path = path.to_path_buf();
    move |source| SessionError::Io { action, path, source }
}

/// Creates a file for appending. An old file, or a link that somebody put into a directory open to all, is removed and
/// not followed.
pub fn anew(path: &Path) -> std::io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().append(true).create_new(true).open(path)
}

/// The plan file; each line arrives whole. It is closed behind each question, since only that hands it to other hosts on a network file system.
#[derive(Debug)]
pub(super) struct PlanFile {
    path: PathBuf,
}

impl PlanFile {
    pub(super) fn create(path: &Path) -> Result<PlanFile, SessionError> {
        anew(path).and_then(close).map_err(io_error("write", path))?;
        Ok(PlanFile {
            path: path.to_path_buf(),
        })
    }

    pub(super) fn append(&mut self, lines: &[PlanLine]) -> Result<(), SessionError> {
        let mut text = String::new();
        for line in lines {
            let line = line
                .to_json()
                .map_err(|error| io_error("write", &self.path)(std::io::Error::other(error.to_string())))?;
            text.push_str(&line);
            text.push('\n');
        }
        let mut file = File::options()
            .append(true)
            .open(&self.path)
            .map_err(io_error("write", &self.path))?;
        file.write_all(text.as_bytes())
            .and_then(|()| close(file))
            .map_err(io_error("write", &self.path))
    }
}

/// Closes a file, with the error that a full or broken network file system has only then.
fn close(file: File) -> std::io::Result<()> {
    nix::unistd::close(file).map_err(Into::into)
}

/// Seconds for which a host may go by what it knew of a file in this directory: the longest time of attributes on NFS and SMB, and none where the file
/// system is this host's own or keeps hosts coherent.
pub(super) fn seconds_of_caches(directory: &Path) -> f64 {
    const ATTRIBUTES_SECONDS: f64 = 60.0;
    let of_network = [nix::sys::statfs::NFS_SUPER_MAGIC, nix::sys::statfs::SMB_SUPER_MAGIC];
    match nix::sys::statfs::statfs(directory) {
        Ok(found) if of_network.contains(&found.filesystem_type()) => ATTRIBUTES_SECONDS,
        _ => 0.0,
    }
}

/// Beginning of a line in which a worker reports its own failure.
pub(super) const OF_WORKER: &str = "kilter-worker: ";

/// The last lines of a log, with the first one of a worker before them: the messages of a library and its launcher
/// after the loss of a rank do not tell the cause. Empty if there is no log.
#[must_use]
pub fn tail(path: &Path) -> String {
    let text = read_tail(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    let of_worker = lines[..from].iter().find(|line| line.starts_with(OF_WORKER));
    let shown = of_worker.into_iter().chain(&lines[from..]).copied();
    shown.collect::<Vec<_>>().join("\n")
}

fn read_tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_different() {
        let name = |key: &str| paths(Path::new("d"), 3, key, 2).log.display().to_string();
        assert_eq!(name("verify-1"), "d/run3-verify-1-2.log");
        assert!(name("../a b").starts_with("d/run3-.._a_b-"));
        assert_ne!(name("a/b"), name("a b"));
        assert!(name(&"x".repeat(500)).len() < 120);
    }

    #[test]
    fn a_link_that_lies_there_is_not_followed() {
        let directory = kilter_fixtures::directory();
        let (path, theirs) = (directory.path().join("log"), directory.path().join("theirs"));
        std::fs::write(&theirs, "kept").unwrap();
        std::os::unix::fs::symlink(&theirs, &path).unwrap();
        anew(&path).unwrap().write_all(b"log").unwrap();
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "kept");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "log");
        anew(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "", "an earlier file is gone");
    }

    #[test]
    fn tails_are_short_and_whole() {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("log");
        assert_eq!(tail(&path), "");
        let text: String = (0..100).map(|i| format!("line {i}\n\n")).collect();
        std::fs::write(&path, text).unwrap();
        let tail = tail(&path);
        assert_eq!(tail.lines().count(), TAIL_LINES);
        assert!(tail.ends_with("line 99"));
    }

    #[test]
    fn what_a_worker_says_of_its_failure_is_shown_whatever_comes_after_it() {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("log");
        let after: String = (0..100).map(|i| format!("peer hangup {i}\n")).collect();
        std::fs::write(
            &path,
            format!("kilter-worker: rank 2: truncated\nkilter-worker: rank 1\n{after}"),
        )
        .unwrap();
        let shown = tail(&path);
        assert!(
            shown.starts_with("kilter-worker: rank 2: truncated\npeer hangup"),
            "{shown}"
        );
        assert_eq!(shown.lines().count(), TAIL_LINES + 1);
    }
}
