//! Follows a report file while it grows.
//!
//! The file is opened anew at every look, because on network file systems only that makes another host's writes
//! visible.

use std::fs::File;
use std::io::{BufRead as _, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::report::{Event, ReportLine};
use serde::Deserialize;

use super::bad_line::BadLine;
use super::failure::SessionError;
use super::files::io_error;
use crate::store::Position;

/// Limit of bytes that are read at once; a longer line is an error.
const CHUNK_BYTES: u64 = 16 << 20;

/// Reads complete lines, each once.
#[derive(Debug)]
pub(super) struct Follower {
    path: PathBuf,
    position: Position,
}

/// A line of the report.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) event: Event,
    /// Position behind it.
    pub(super) end: Position,
}

#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

impl Follower {
    pub(super) fn new(path: &Path, position: Position) -> Follower {
        Follower {
            path: path.to_path_buf(),
            position,
        }
    }

    /// Complete lines that have come since the last look; none if the file is missing. Lines before an error are given
    /// first, and the error at the next look.
    pub(super) fn lines(&mut self) -> Result<Vec<Line>, SessionError> {
        let mut bytes = Vec::new();
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(io_error("read", &self.path))?,
        };
        file.seek(SeekFrom::Start(self.position.offset))
            .map_err(io_error("read", &self.path))?;
        file.take(CHUNK_BYTES)
            .read_to_end(&mut bytes)
            .map_err(io_error("read", &self.path))?;
        let mut lines = Vec::new();
        let mut rest = bytes.as_slice();
        while let Some((line, behind)) = first_line(rest) {
            let event = match parse(line) {
                Ok(event) => event,
                Err(mistake) if lines.is_empty() => return Err(self.error(mistake)),
                Err(_) => return Ok(lines),
            };
            self.position.offset += line.len() as u64 + 1;
            self.position.line += 1;
            lines.push(Line {
                event,
                end: self.position,
            });
            rest = behind;
        }
        if rest.len() as u64 == CHUNK_BYTES {
            return Err(self.error(BadLine::TooLong { most: CHUNK_BYTES }));
        }
        Ok(lines)
    }

    /// An error about the line after the last one read.
    fn error(&self, mistake: BadLine) -> SessionError {
        report_error(&self.path, self.position.line + 1, mistake)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the lines that were given.
    pub(super) fn read_bytes(&self) -> u64 {
        self.position.offset
    }
}

/// An error about a line of a report.
pub(super) fn report_error(path: &Path, line: u64, mistake: BadLine) -> SessionError {
    SessionError::Report {
        path: path.to_path_buf(),
        line,
        mistake,
    }
}

/// The first complete line, and what is behind it. The search is the C library's.
fn first_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut behind = bytes;
    let length = behind.skip_until(b'\n').ok()?;
    let line = bytes[..length].strip_suffix(b"\n")?;
    Some((line, behind))
}

fn parse(line: &[u8]) -> Result<Event, BadLine> {
    let read = ReportLine::from_json(line);
    let found = match &read {
        Ok(line) => line.v,
        // A line of another version need not parse as one of ours.
        Err(_) => serde_json::from_slice::<Versioned>(line)?.v,
    };
    if found != kilter_protocol::VERSION {
        return Err(BadLine::Version { found });
    }
    Ok(read?.event)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn setup() -> (tempfile::TempDir, PathBuf, Follower) {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("report");
        let follower = Follower::new(&path, Position::default());
        (directory, path, follower)
    }

    fn append(path: &Path, text: &str) {
        File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    const BEAT: &str = "{\"v\":4,\"kind\":\"heartbeat\"}\n";

    #[test]
    fn lines_cut_at_any_byte_arrive_whole_and_once() {
        let text = format!(
            "{BEAT}{}{BEAT}",
            "{\"v\":4,\"kind\":\"samples\",\"block\":\"é\",\"item\":\"i\",\"seconds\":[1e-6],\"void\":2}\n"
        );
        for cut in 0..=text.len() {
            let (_directory, path, mut follower) = setup();
            assert!(follower.lines().unwrap().is_empty(), "no file yet");
            std::fs::write(&path, &text.as_bytes()[..cut]).unwrap();
            let mut lines = follower.lines().unwrap();
            std::fs::write(&path, &text).unwrap();
            lines.extend(follower.lines().unwrap());
            assert!(follower.lines().unwrap().is_empty());
            assert_eq!(lines.len(), 3, "cut at {cut}");
            assert_eq!(
                lines[2].end,
                Position {
                    offset: text.len() as u64,
                    line: 3
                }
            );
            let seconds = vec![1e-6];
            let expected = Event::Samples {
                block: "é".to_owned(),
                item: "i".to_owned(),
                seconds,
                void: 2,
            };
            assert_eq!(lines[1].event, expected);
        }
    }

    #[test]
    fn a_bad_line_is_named_after_the_good_ones_were_given() {
        for (bad, part) in [
            ("{\"v\":99,\"kind\":\"new\"}\n", "version 99"),
            ("hello\n", "not a report line"),
            ("\u{0}\n", "not"),
        ] {
            let (_directory, path, mut follower) = setup();
            append(&path, BEAT);
            append(&path, bad);
            assert_eq!(follower.lines().unwrap().len(), 1);
            let message = follower.lines().unwrap_err().to_string();
            assert!(
                message.contains("line 2") && message.contains(part) && message.contains("report`"),
                "{message}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
