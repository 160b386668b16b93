//! The report: lines that rank 0 appends for the tuner to follow.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use kilter_protocol::VERSION;
use kilter_protocol::report::{Event, ReportLine};

/// Half of the interval that the tuner is promised, since heartbeats are written between other things.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// The report file, open for appending.
pub(crate) struct ReportFile {
    path: PathBuf,
    file: File,
    beat: Instant,
}

impl ReportFile {
    /// Opens the file, which is made if it is not there.
    pub(crate) fn open(path: &Path) -> anyhow::Result<ReportFile> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            // Not where somebody else's link leads.
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .with_context(|| format!("report file `{}` cannot be opened for appending", path.display()))?;
        Ok(ReportFile {
            path: path.to_owned(),
            file,
            beat: Instant::now(),
        })
    }

    /// Appends one line by one call, so that a reader sees whole lines and a crash cuts none; nothing is kept back.
    pub(crate) fn write(&mut self, event: Event) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&ReportLine { v: VERSION, event }).context("a report line")?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .with_context(|| format!("report file `{}` cannot be written", self.path.display()))
    }

    /// Says that the job is alive, if that is due.
    pub(crate) fn heartbeat(&mut self) -> anyhow::Result<()> {
        if self.beat.elapsed() < HEARTBEAT {
            return Ok(());
        }
        self.beat = Instant::now();
        self.write(Event::Heartbeat)
    }
}
