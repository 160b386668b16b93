//! The file by which further allocations go on with a machine: what was begun, and with which sizes and functions. Samples are in the database.

use std::path::{Path, PathBuf};

use kilter_model::layout::Layout;
use serde::{Deserialize, Serialize};

/// Name of the file in the output directory.
pub const FILE: &str = "whole-machine.json";

/// Version of the file.
const SCHEMA: u32 = 1;

/// State of a command that goes on over several allocations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    schema: u32,
    /// Sizes and functions, which the first allocation chose: a run with others is another run.
    pub sizes: String,
    /// Functions on left sides; empty for all.
    pub functions: Vec<String>,
    /// Measured seconds over those estimated.
    pub factor: f64,
    layouts: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    layout: String,
    is_done: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            schema: SCHEMA,
            sizes: String::new(),
            functions: Vec::new(),
            factor: 1.0,
            layouts: Vec::new(),
        }
    }
}

/// A file that cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It is no such file.
    #[error("`{}`: {what}; begin anew with `--fresh`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The mistake and its place.
        what: String,
    },
}

impl State {
    /// The state in an output directory; `None` if nothing was begun there.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of this version.
    pub fn read(out: &Path) -> Result<Option<State>, StateError> {
        let path = out.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StateError::Io { path, source }),
        };
        let damaged = |what: String| StateError::Damaged {
            path: path.clone(),
            what,
        };
        let state: State = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if state.schema != SCHEMA {
            return Err(damaged(format!(
                "it has version {}, and this kilter knows {SCHEMA}",
                state.schema
            )));
        }
        if !(state.factor.is_finite() && state.factor > 0.0) {
            return Err(damaged(format!("factor: `{}` is no positive number", state.factor)));
        }
        for entry in &state.layouts {
            entry
                .layout
                .parse::<Layout>()
                .map_err(|error| damaged(format!("layouts: {error}")))?;
        }
        Ok(Some(state))
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, out: &Path) -> Result<(), StateError> {
        let path = out.join(FILE);
        let new = out.join(format!("{FILE}.new"));
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        std::fs::write(&new, text + "\n")
            .and_then(|()| std::fs::rename(&new, &path))
            .map_err(|source| StateError::Io { path, source })
    }

    /// Forgets what was begun in an output directory: all is done.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn remove(out: &Path) -> Result<(), StateError> {
        let path = out.join(FILE);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(StateError::Io { path, source }),
            _ => Ok(()),
        }
    }

    /// Nothing was begun yet.
    #[must_use]
    pub fn new(sizes: String, functions: Vec<String>) -> State {
        State {
            sizes,
            functions,
            ..State::default()
        }
    }

    /// Layouts that were begun, in their order.
    pub fn begun(&self) -> impl Iterator<Item = Layout> {
        self.layouts.iter().filter_map(|entry| entry.layout.parse().ok())
    }

    /// True if a layout was begun.
    #[must_use]
    pub fn has_begun(&self, layout: Layout) -> bool {
        self.begun().any(|begun| begun == layout)
    }

    /// True if a layout's loop came to its end.
    #[must_use]
    pub fn is_done(&self, layout: Layout) -> bool {
        let name = layout.to_string();
        self.layouts.iter().any(|entry| entry.layout == name && entry.is_done)
    }

    /// Notes that a layout begins.
    pub fn begin(&mut self, layout: Layout) {
        if !self.has_begun(layout) {
            self.layouts.push(Entry {
                layout: layout.to_string(),
                is_done: false,
            });
        }
    }

    /// Notes that a layout's loop came to its end.
    pub fn end(&mut self, layout: Layout) {
        let name = layout.to_string();
        for entry in self.layouts.iter_mut().filter(|entry| entry.layout == name) {
            entry.is_done = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_back_and_a_damaged_one_says_what_to_do() {
        let out = tempfile::tempdir().unwrap();
        assert_eq!(State::read(out.path()).unwrap(), None);
        let mut state = State {
            sizes: "8".to_owned(),
            factor: 2.5,
            ..State::default()
        };
        let layout = "8x16".parse().unwrap();
        state.begin(layout);
        state.begin(layout);
        state.write(out.path()).unwrap();
        let read = State::read(out.path()).unwrap().unwrap();
        assert_eq!(read, state);
        assert!(read.has_begun(layout) && !read.is_done(layout) && read.begun().count() == 1);
        for (text, part) in [
            ("{", "line 1"),
            (
                r#"{"schema": 9, "sizes": "", "functions": [], "factor": 1.0, "layouts": []}"#,
                "version 9",
            ),
            (
                r#"{"schema": 1, "sizes": "", "functions": [], "factor": 0.0, "layouts": []}"#,
                "factor: `0`",
            ),
            (
                r#"{"schema": 1, "sizes": "", "functions": [], "factor": 1.0, "layouts": [{"layout": "8x", "is_done": true}]}"#,
                "`8x` is no layout",
            ),
        ] {
            std::fs::write(out.path().join(FILE), text).unwrap();
            let message = State::read(out.path()).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("--fresh"), "{message}");
        }
        State::remove(out.path()).unwrap();
        State::remove(out.path()).unwrap();
        assert_eq!(State::read(out.path()).unwrap(), None);
    }
}
