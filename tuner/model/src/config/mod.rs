//! Configuration as data: guidelines, targets for overlap, descriptions of MPI libraries and of simulated machines.
//! They are embedded in the command and extended by a site's own files. Call mixes of applications are read here, too.

mod collective_name;
pub mod guideline;
pub mod launcher;
pub mod library;
pub mod mix;
pub mod platform;
pub mod target;
pub mod transport;

use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use toml::Spanned;

/// The `configs` directory at the time when the command was built.
static CONFIGS: include_dir::Dir<'_> = include_dir::include_dir!("$CARGO_MANIFEST_DIR/../../configs");

/// A file that cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{file}: {message}")]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// The mistake, with its line, and what is allowed.
    pub message: String,
}

impl ConfigError {
    /// A mistake in a file as a whole.
    fn of(file: &str, mistake: impl Display) -> ConfigError {
        ConfigError {
            file: file.to_owned(),
            message: mistake.to_string(),
        }
    }

    /// A mistake at a place of a file's text.
    fn at<M: Display>(file: &str, text: &str, mistake: At<M>) -> ConfigError {
        let At { at, what } = mistake;
        ConfigError::of(file, format_args!("line {}: {what}", line_of(text, at.start)))
    }
}

/// A mistake and its place in the text of a file.
#[derive(Debug)]
struct At<M> {
    at: Range<usize>,
    what: M,
}

impl<M> At<M> {
    /// The mistake of a value.
    fn value<T>(value: &Spanned<T>, what: M) -> At<M> {
        At { at: value.span(), what }
    }
}

/// The embedded TOML files of a subdirectory: path, text; by name.
fn embedded(directory: &str) -> Vec<(String, &'static str)> {
    let mut files: Vec<(String, &'static str)> = CONFIGS
        .get_dir(directory)
        .into_iter()
        .flat_map(|directory| directory.files())
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|file| Some((format!("configs/{}", file.path().display()), file.contents_utf8()?)))
        .collect();
    files.sort();
    files
}

/// The embedded files of a subdirectory, read once, when they are first asked for: commands ask in many places, and reading all descriptions of
/// libraries takes longer than most of what is done with one.
type Embedded<T> = LazyLock<Result<T, ConfigError>>;

/// All of it, or the first file with a mistake.
fn all<T>(embedded: &'static Embedded<T>) -> Result<&'static T, ConfigError> {
    embedded.as_ref().map_err(ConfigError::clone)
}

/// Each embedded file of a subdirectory through `parse`, which gets a file's text and its name.
fn parsed<T>(
    directory: &str,
    parse: impl Fn(&'static str, &str) -> Result<T, ConfigError>,
) -> Result<Vec<T>, ConfigError> {
    let files = embedded(directory).into_iter();
    files.map(|(file, text)| parse(text, &file)).collect()
}

/// Reads a file's text; `problem` checks what the form alone does not guarantee, and `file` is named in errors.
fn parse<T: serde::de::DeserializeOwned>(
    text: &str,
    file: &str,
    problem: impl Fn(&T) -> Option<String>,
) -> Result<T, ConfigError> {
    let wrong = |message: String| ConfigError {
        file: file.to_owned(),
        message,
    };
    let value = toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
    problem(&value).map_or(Ok(value), |message| Err(wrong(message)))
}

/// The line of a byte offset, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|error| ConfigError {
        file: path.display().to_string(),
        message: format!("cannot be read: {error}"),
    })
}
