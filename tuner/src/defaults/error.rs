//! Reasons why a file with defaults is not followed.

use std::path::PathBuf;

use kilter_profile::trust::TrustError;

/// A file that cannot be followed, with what to do.
#[derive(Debug, thiserror::Error)]
pub enum DefaultsError {
    /// It may not be trusted, or not be opened.
    #[error("defaults of options: {0}; `KILTER_CONFIG= kilter ...` reads no such file")]
    Untrusted(#[from] TrustError),
    /// It cannot be read.
    #[error("defaults of options: cannot read `{path}`: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Cause.
        error: std::io::Error,
    },
    /// It is no TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// File and line.
        place: Origin,
        /// The parser's words.
        message: String,
    },
    /// A table that names no command.
    #[error("{place}: there is no command `{name}`; `[options]` is for all of them, {known}")]
    NoCommand {
        /// File and line.
        place: Origin,
        /// As written.
        name: String,
        /// The commands that there are.
        known: String,
    },
    /// A key that names no option.
    #[error("{place}: {of} the option `{key}`{near}")]
    NoOption {
        /// File and line.
        place: Origin,
        /// `no command has` or `kilter check lacks`.
        of: String,
        /// As written.
        key: String,
        /// A similar one.
        near: String,
    },
    /// A value of a kind that no option has.
    #[error("{place}: `{key}` is a {kind}; a text, a number, true, false or a list of these is meant")]
    Kind {
        /// File and line.
        place: Origin,
        /// The key.
        key: String,
        /// Its kind.
        kind: &'static str,
    },
    /// A value that the option does not take.
    #[error("{place}: `{key}` of `kilter {command}`: {why}")]
    Value {
        /// File and line.
        place: Origin,
        /// The key.
        key: String,
        /// The command.
        command: String,
        /// Reason.
        why: Refused,
    },
}

/// Reason why an option does not take a value.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// An option that is counted.
    #[error("a number from 0 to 255 is meant")]
    Count,
    /// An option without a value.
    #[error("it is a switch: true or false is meant")]
    Switch,
    /// The command line would not take it.
    #[error("{}", first_line(.0))]
    Value(clap::Error),
}

/// The command line's words, without the usage that stands below them.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let joined: Vec<&str> = lines.map(str::trim).collect();
    joined.join("; ").trim_start_matches("error: ").to_owned()
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// Its line, from 1.
    pub line: usize,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}
