//! The two files of rank 0: the report, and the announcement of the run that is about to begin.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use anyhow::Context as _;
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::verifying::{Line, Request};

/// Bytes of the announcement: one longer than the longest, so that the end of the one before never shows.
const ANNOUNCEMENT_BYTES: usize = 512;

/// Rank 0's files; nothing on the others.
pub(crate) struct Report {
    files: Option<(File, File)>,
    runs: u64,
}

impl Report {
    pub(crate) fn new(request: &Request, rank: usize) -> anyhow::Result<Report> {
        let open =
            |path: &std::path::Path| File::create(path).with_context(|| format!("cannot write `{}`", path.display()));
        let files = match rank {
            0 => Some((open(&request.report)?, open(&request.announcement)?)),
            _ => None,
        };
        Ok(Report { files, runs: 0 })
    }

    /// Appends a line, whole.
    pub(crate) fn line(&mut self, line: &Line) -> anyhow::Result<()> {
        if let Some((report, _)) = &mut self.files {
            let mut text = line.to_json()?;
            text.push('\n');
            report.write_all(text.as_bytes()).context("cannot write the report")?;
        }
        Ok(())
    }

    /// Says what begins: number of the run, row or `library COLLECTIVE`, how many of its runs were compared before, case.
    pub(crate) fn announce(&mut self, what: &str, compared: u64, case: &str) -> anyhow::Result<()> {
        self.runs += 1;
        if let Some((_, announcement)) = &mut self.files {
            let text = format!("{}\t{what}\t{compared}\t{case}", self.runs);
            let text = format!("{text:<width$}\n", width = ANNOUNCEMENT_BYTES - 1);
            announcement
                .write_all_at(text.as_bytes(), 0)
                .context("cannot write the announcement")?;
        }
        Ok(())
    }
}
