//! The report of a scripted job, which others may see later than it is written.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kilter_protocol::VERSION;
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::report::{Event, ReportLine};

/// The file, and the lines that nobody sees yet.
#[derive(Debug)]
pub(super) struct Report {
    path: PathBuf,
    hidden: String,
    shown: Instant,
    shown_bytes: u64,
}

impl Report {
    /// A report that is written from `now` on.
    pub(super) fn new(path: &str, now: Instant) -> Report {
        Report {
            path: PathBuf::from(path),
            hidden: String::new(),
            shown: now,
            shown_bytes: 0,
        }
    }

    /// Writes a line, which is to be shown.
    pub(super) fn say(&mut self, event: Event) -> std::io::Result<()> {
        self.hidden += &ReportLine { v: VERSION, event }.to_json()?;
        self.hidden.push('\n');
        Ok(())
    }

    /// Shows what was written, if others look after so long an interval again.
    pub(super) fn show(&mut self, now: Instant, interval: Duration) -> std::io::Result<()> {
        if now.duration_since(self.shown) < interval {
            return Ok(());
        }
        self.shown = now;
        if self.hidden.is_empty() {
            return Ok(());
        }
        let mut file = File::options().append(true).create(true).open(&self.path)?;
        let hidden = std::mem::take(&mut self.hidden);
        self.shown_bytes += hidden.len() as u64;
        file.write_all(hidden.as_bytes())
    }

    /// Bytes that others may see.
    pub(super) fn shown_bytes(&self) -> u64 {
        self.shown_bytes
    }
}
