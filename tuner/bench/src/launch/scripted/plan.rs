//! The plan of a scripted job, which grows while the job goes on.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::plan::PlanLine;

/// The file, which is read once: it has hundreds of blocks, and the job looks for more behind each.
#[derive(Debug)]
pub(super) struct Plan {
    path: PathBuf,
    file: Option<File>,
    /// Text behind the last complete line.
    begun: String,
}

impl Plan {
    /// The plan in this file.
    pub(super) fn new(path: &str) -> Plan {
        Plan {
            path: PathBuf::from(path),
            file: None,
            begun: String::new(),
        }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Complete lines that were not read yet; none of a file that cannot be read.
    pub(super) fn next_lines(&mut self) -> Vec<PlanLine> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let read = |file: &mut File| file.read_to_string(&mut self.begun).ok();
        let whole = match self.file.as_mut().and_then(read) {
            Some(bytes) if bytes > 0 => self.begun.rfind('\n').map_or(0, |end| end + 1),
            _ => 0,
        };
        let behind = self.begun.split_off(whole);
        let text = std::mem::replace(&mut self.begun, behind);
        text.lines()
            .filter_map(|line| PlanLine::from_json(line.as_bytes()).ok())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_line_is_read_once_and_when_it_is_complete() {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("plan");
        let mut plan = Plan::new(path.to_str().unwrap());
        assert_eq!(plan.next_lines(), [], "no file yet");
        let end = PlanLine::End.to_json().unwrap();
        let (begin, rest) = end.split_at(end.len() / 2);
        let mut file = File::create(&path).unwrap();
        for (text, count) in [
            (format!("{end}\n{end}\n{begin}"), 2),
            (String::new(), 0),
            (format!("{rest}\n"), 1),
        ] {
            file.write_all(text.as_bytes()).unwrap();
            assert_eq!(plan.next_lines(), vec![PlanLine::End; count], "{text}");
        }
    }
}
