//! Reads descriptions: those that come with Kilter, those in files, and the one that fits a launcher.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use toml::Spanned;

use super::inherit::{self, InheritError};
use super::{Algorithms, Library, check};
use crate::config::{ConfigError, Embedded, all, embedded, line_of, parsed, read, transport};

/// A description that comes with Kilter, and its file.
struct Described {
    library: Library,
    file: String,
    text: &'static str,
}

/// A mistake that only the user of a description can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The key of the description whose value is wrong.
    pub key: &'static str,
    /// The mistake, and what is allowed.
    pub message: String,
}

impl Library {
    /// Reads a file's text. The error names `file`, the line, and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<Library, ConfigError> {
        let refused = |error: toml::de::Error| ConfigError::of(file, error.to_string().trim_end());
        let own: toml::Table = text.parse().map_err(refused)?;
        let mut library: Library = match inherit::like(&own).map(str::to_owned) {
            // The text is read directly, so that errors name its lines.
            None => toml::from_str(text).map_err(refused)?,
            Some(id) => {
                let filled = Library::table(&id).and_then(|base| inherit::filled(own, base));
                let filled = filled.map_err(|error| ConfigError::of(file, error))?;
                let together = |error| ConfigError::of(file, format_args!("together with what `{id}` has: {error}"));
                filled.try_into().map_err(together)?
            }
        };
        let mut rows = library.algorithms.iter_mut();
        rows.try_for_each(Algorithms::name_the_nameless)
            .map_err(|error| ConfigError::of(file, error))?;
        library.add_shared_transports(file)?;
        check::problem(&library).map_or(Ok(()), |message| Err(ConfigError::of(file, message)))?;
        Ok(library)
    }

    /// Adds the settings of the transports that it shares with other libraries, and what constrains them; a row of its own wins over one of theirs.
    fn add_shared_transports(&mut self, file: &str) -> Result<(), ConfigError> {
        if self.transports.shared.is_empty() {
            return Ok(());
        }
        let all = transport::lent()?;
        for (name, id) in &self.transports.shared {
            let Some(shared) = all.get(id) else {
                let known: Vec<&str> = all.keys().map(String::as_str).collect();
                let mistake = format!("transports.shared: `{id}` is no transport; known: {}", known.join(", "));
                return Err(ConfigError::of(file, mistake));
            };
            for mut row in shared.rows(name) {
                row.verified = self.verified.of_shared(&row.name, row.verified);
                if self.parameters.iter().all(|own| own.name != row.name) {
                    self.parameters.push(row);
                }
            }
            self.constraints.extend_from_slice(&shared.constraints);
        }
        Ok(())
    }

    /// A description that comes with Kilter as a table, including everything from those that it is like.
    fn table(id: &str) -> Result<toml::Table, InheritError> {
        // Several descriptions are like others, each of which is looked for among all.
        static TABLES: LazyLock<Vec<toml::Table>> = LazyLock::new(|| {
            let files = embedded("libraries").into_iter();
            files.filter_map(|(_, text)| text.parse().ok()).collect()
        });
        let tables = &*TABLES;
        let id_of = |table: &toml::Table| {
            let id = table.get("id").and_then(toml::Value::as_str);
            id.unwrap_or_default().to_owned()
        };
        // The chain leads from the requested description to the one that is like no other.
        let mut chain: Vec<toml::Table> = Vec::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next {
            let found = tables.iter().find(|table| id_of(table) == id);
            let found = found.ok_or_else(|| InheritError::Unknown {
                id: id.clone(),
                known: tables.iter().map(id_of).collect(),
            })?;
            if chain.iter().any(|seen| id_of(seen) == id) {
                return Err(InheritError::Circle(id));
            }
            next = inherit::like(found).map(str::to_owned);
            chain.push(found.clone());
        }
        let whole = chain.pop().unwrap_or_default();
        chain
            .into_iter()
            .rev()
            .try_fold(whole, |base, own| inherit::filled(own, base))
    }
}

/// The descriptions that come with Kilter.
pub fn load_embedded() -> Result<Vec<Library>, ConfigError> {
    load_embedded_with(|_| None)
}

/// The descriptions that come with Kilter, read once and shared.
fn lent() -> Result<&'static [Described], ConfigError> {
    static LIBRARIES: Embedded<Vec<Described>> = Embedded::new(|| {
        parsed("libraries", |text, file| {
            let library = Library::parse(text, file)?;
            let file = file.to_owned();
            Ok(Described { library, file, text })
        })
    });
    Ok(all(&LIBRARIES)?)
}

/// The descriptions that come with Kilter; the first with a mistake is an error that names its line.
pub fn load_embedded_with(mistake: impl Fn(&Library) -> Option<Mistake>) -> Result<Vec<Library>, ConfigError> {
    let checked = |Described { library, file, text }: &Described| match mistake(library) {
        None => Ok(library.clone()),
        Some(mistake) => Err(mistake.of(file, text)),
    };
    lent()?.iter().map(checked).collect()
}

/// Reads a description from a file.
pub fn load_file(path: &Path) -> Result<Library, ConfigError> {
    load_file_with(path, |_| None)
}

/// Reads a description from a file; a mistake is an error that names its line.
pub fn load_file_with(path: &Path, mistake: impl Fn(&Library) -> Option<Mistake>) -> Result<Library, ConfigError> {
    let (text, file) = (read(path)?, path.display().to_string());
    let library = Library::parse(&text, &file)?;
    match mistake(&library) {
        None => Ok(library),
        Some(mistake) => Err(mistake.of(&file, &text)),
    }
}

impl Mistake {
    /// The error of a file with this text.
    fn of(self, file: &str, text: &str) -> ConfigError {
        // A value from the description that it is like has no line here.
        let line = line_of_key(text, self.key).map(|line| format!("line {line}: "));
        ConfigError {
            file: file.to_owned(),
            message: line.unwrap_or_default() + &self.message,
        }
    }
}

/// The line of a top-level key's value.
fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let values: BTreeMap<String, Spanned<toml::Value>> = toml::from_str(text).ok()?;
    Some(line_of(text, values.get(key)?.span().start))
}

/// The description for the first line of `MPI_Get_library_version`, as it holds for that version; `None` if none fits. Of several the most exact
/// is taken, and one whose launcher says the library's own version.
pub fn find_reported(line: &str) -> Result<Option<Library>, ConfigError> {
    let fitting = lent()?.iter().map(|one| &one.library);
    let fitting = fitting.filter(|library| library.reports_as(line));
    let best = fitting.min_by_key(|library| (library.version_of_worker, std::cmp::Reverse(library.reports.len())));
    Ok(best.map(|library| library.clone().for_version(&library.version_of(line))))
}

/// The description for a launcher's version line, as it holds for that version. An error if none fits.
pub fn find_for(version_line: &str) -> Result<Library, ConfigError> {
    let all = lent()?.iter().map(|one| &one.library);
    let fits = |library: &&Library| library.detect.iter().any(|part| version_line.contains(part));
    match all.clone().find(fits) {
        Some(library) => Ok(library.clone().for_version(&library.version_of(version_line))),
        None => {
            let known = all.map(|library| format!("`{}` ({})", library.detect.join("` or `"), library.id));
            Err(ConfigError {
                file: "--mpirun".to_owned(),
                message: format!(
                    "no description fits `{version_line}`; known: {}; give another --mpirun, or --library-description FILE",
                    known.collect::<Vec<_>>().join(", ")
                ),
            })
        }
    }
}
