//! The report: lines that rank 0 appends for the tuner to follow.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::IntoRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use kilter_protocol::VERSION;
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::report::{Event, ReportLine};

/// Half of the interval that the tuner is promised, since heartbeats are written between other things.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// The report file. It is opened for each line and closed behind it: a network file system hands what was written to other hosts when it is closed, and
/// keeps it up to half a minute before. On a disk of this host that takes microseconds.
pub(crate) struct ReportFile {
    path: PathBuf,
    beat: Instant,
}

impl ReportFile {
    /// Makes the file if it is not there.
    pub(crate) fn open(path: &Path) -> anyhow::Result<ReportFile> {
        let report = ReportFile {
            path: path.to_owned(),
            beat: Instant::now(),
        };
        close(report.opened()?).with_context(|| report.unwritten())?;
        Ok(report)
    }

    fn opened(&self) -> anyhow::Result<File> {
        OpenOptions::new()
            .append(true)
            .create(true)
            // Not where somebody else's link leads.
            .custom_flags(libc::O_NOFOLLOW)
            .open(&self.path)
            .with_context(|| format!("report file `{}` cannot be opened for appending", self.path.display()))
    }

    fn unwritten(&self) -> String {
        format!("report file `{}` cannot be written", self.path.display())
    }

    /// Appends one line by one call, so that a reader sees whole lines and a crash cuts none; nothing is kept back.
    pub(crate) fn write(&mut self, event: Event) -> anyhow::Result<()> {
        let mut line = ReportLine { v: VERSION, event }.to_json().context("a report line")?;
        line.push('\n');
        let mut file = self.opened()?;
        file.write_all(line.as_bytes())
            .and_then(|()| close(file))
            .with_context(|| self.unwritten())
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

/// Closes a file. A full or broken network file system says so here, and dropping a file keeps that back.
fn close(file: File) -> std::io::Result<()> {
    // SAFETY: the descriptor is this file's, which is given up here, and closed once.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
