//! The plan: lines that rank 0 reads while the tuner appends them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use kilter_protocol::plan::STOP_EXTENSION;

/// Pause between two looks at a file that has not grown: first and longest. No event tells of one that grows on another host of a shared file
/// system.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// The plan file and how far it has been read.
pub(crate) struct PlanFile {
    path: PathBuf,
    read_bytes: u64,
    /// Bytes read of lines not yet given out.
    pending: Vec<u8>,
    lines: u64,
    grown: Instant,
}

impl PlanFile {
    /// A plan at `path`, which may come into being later.
    pub(crate) fn new(path: &Path) -> PlanFile {
        PlanFile {
            path: path.to_owned(),
            read_bytes: 0,
            pending: Vec::new(),
            lines: 0,
            grown: Instant::now(),
        }
    }

    /// Place of the line that was last given out, for messages.
    pub(crate) fn position(&self) -> String {
        format!("{}:{}", self.path.display(), self.lines)
    }

    /// Number of the line that was last given out.
    pub(crate) fn number(&self) -> u64 {
        self.lines
    }

    /// Takes over the number of the line that the rank which reads the file has given out.
    pub(crate) fn follow(&mut self, number: u64) {
        self.lines = number;
    }

    /// True if the tuner wants the job to end before the rest of the plan.
    pub(crate) fn is_stopped(&self) -> bool {
        self.path.with_extension(STOP_EXTENSION).exists()
    }

    /// The next line, without its end; `None` when the file has not grown for `idle`. `meanwhile` is called between looks.
    ///
    /// # Errors
    /// The file cannot be read, or `meanwhile` fails.
    pub(crate) fn next_line(
        &mut self,
        idle: Duration,
        mut meanwhile: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let mut pause = FIRST_PAUSE;
        // Time spent on the previous line is not the tuner's silence.
        self.grown = Instant::now();
        loop {
            while let Some(line) = self.take_line() {
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(line));
                }
            }
            self.look()
                .with_context(|| format!("plan file `{}` cannot be read", self.path.display()))?;
            if self.pending.contains(&b'\n') {
                continue;
            }
            if self.grown.elapsed() >= idle {
                return Ok(None);
            }
            meanwhile()?;
            std::thread::sleep(pause);
            pause = (pause + FIRST_PAUSE).min(LONGEST_PAUSE);
        }
    }

    /// A line is only one once its end has been written.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let mut line: Vec<u8> = self.pending.drain(..=end).collect();
        line.pop();
        self.lines += 1;
        Some(line)
    }

    /// Reads the appended bytes. The file is opened anew each time: a network file system shows other hosts' writes at the latest on opening.
    fn look(&mut self) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        file.seek(SeekFrom::Start(self.read_bytes))?;
        let read = file.read_to_end(&mut self.pending)?;
        if read > 0 {
            self.read_bytes += read as u64;
            self.grown = Instant::now();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A file of this test's own, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            Scratch(std::env::temp_dir().join(format!("kilter-worker-{name}-{}", std::process::id())))
        }

        fn append(&self, text: &str) {
            let mut file = std::fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(&self.0)
                .unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn next(plan: &mut PlanFile, meanwhile: impl FnMut() -> anyhow::Result<()>) -> Option<String> {
        let line = plan.next_line(Duration::from_secs(60), meanwhile).unwrap();
        line.map(|line| String::from_utf8(line).unwrap())
    }

    #[test]
    fn lines_are_given_out_when_they_are_complete() {
        let file = Scratch::new("complete");
        let mut plan = PlanFile::new(&file.0);
        let mut pieces = ["{\"kind\":", "\"end\"}", "\n\nnext\nlast"].into_iter();
        let line = next(&mut plan, || {
            pieces.next().into_iter().for_each(|piece| file.append(piece));
            Ok(())
        });
        assert_eq!(line.as_deref(), Some("{\"kind\":\"end\"}"));
        assert!(plan.position().ends_with(":1"));
        assert_eq!(next(&mut plan, || panic!("the line is there")).as_deref(), Some("next"));
        assert!(plan.position().ends_with(":3"), "{}", plan.position());
        file.append("\n");
        assert_eq!(next(&mut plan, || panic!("the line is there")).as_deref(), Some("last"));
    }

    #[test]
    fn silence_ends_it() {
        let file = Scratch::new("silence");
        let mut plan = PlanFile::new(&file.0);
        assert_eq!(plan.next_line(Duration::ZERO, || Ok(())).unwrap(), None);
        file.append("half a line");
        assert_eq!(plan.next_line(Duration::from_millis(20), || Ok(())).unwrap(), None);
    }
}
