//! A file as its settings.

use std::io::Read as _;
use std::path::Path;

use kilter_profile::trust::{self, Trusted};
use toml::de::{DeTable, DeValue};

use super::error::{DefaultsError, Origin};
use super::places::Place;

/// The table for all commands.
pub(super) const ALL: &str = "options";

/// A file's settings.
#[derive(Debug, Clone)]
pub struct File {
    /// The settings, in the order of their names.
    pub sets: Vec<Set>,
}

/// An option's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// Commands that it is for, as words: empty for all, `["trace", "show"]`.
    pub command: Vec<String>,
    /// The option without its dashes.
    pub key: String,
    /// Values, as they would be typed.
    pub values: Vec<String>,
    /// Its place.
    pub origin: Origin,
}

impl File {
    /// Reads the file of a place.
    ///
    /// # Errors
    /// A file that may not be trusted, cannot be read, or is no TOML of this form.
    pub fn read(place: &Place) -> Result<File, DefaultsError> {
        let mut text = String::new();
        // As what a command installs: it decides which programs start the jobs.
        let mut file = trust::open_of(&place.path, &Trusted::installer(None))?;
        file.read_to_string(&mut text)
            .map_err(|error| DefaultsError::Unreadable {
                path: place.path.clone(),
                error,
            })?;
        File::parse(&place.path, &text)
    }

    /// Parses a file's text.
    ///
    /// # Errors
    /// Text that is no TOML of this form.
    pub fn parse(path: &Path, text: &str) -> Result<File, DefaultsError> {
        let origin = |offset: usize| Origin {
            path: path.to_owned(),
            line: text.as_bytes()[..offset.min(text.len())]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                + 1,
        };
        let table = DeTable::parse(text).map_err(|error| DefaultsError::Syntax {
            place: origin(error.span().map_or(0, |span| span.start)),
            message: error.message().to_owned(),
        })?;
        let mut sets = Vec::new();
        for (name, value) in table.get_ref() {
            let at = origin(name.span().start);
            match value.get_ref() {
                DeValue::Table(table) => below(&mut sets, &[name.get_ref().to_string()], table, &origin)?,
                _ => {
                    return Err(DefaultsError::Syntax {
                        place: at,
                        message: format!(
                            "`{}` stands in no table; options of all commands stand below `[{ALL}]`, those of one command below its name",
                            name.get_ref()
                        ),
                    });
                }
            }
        }
        for set in &mut sets {
            if set.command == [ALL] {
                set.command.clear();
            }
        }
        Ok(File { sets })
    }
}

/// Adds what a table sets, and the tables in it, which are commands of commands.
fn below(
    sets: &mut Vec<Set>,
    command: &[String],
    table: &DeTable<'_>,
    origin: &dyn Fn(usize) -> Origin,
) -> Result<(), DefaultsError> {
    for (key, value) in table {
        let name = key.get_ref().to_string();
        if let DeValue::Table(inner) = value.get_ref() {
            let command: Vec<String> = command.iter().cloned().chain([name]).collect();
            below(sets, &command, inner, origin)?;
            continue;
        }
        let origin = origin(key.span().start);
        let refused = |kind| DefaultsError::Kind {
            place: origin.clone(),
            key: name.clone(),
            kind,
        };
        let values = match value.get_ref() {
            DeValue::Array(values) => values.iter().map(|one| word(one.get_ref())).collect(),
            one => word(one).map(|one| vec![one]),
        };
        sets.push(Set {
            command: command.to_vec(),
            values: values.map_err(refused)?,
            key: name,
            origin,
        });
    }
    Ok(())
}

/// A value as it would be typed; the name of its kind where there is none.
fn word(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        DeValue::Boolean(yes) => Ok(yes.to_string()),
        DeValue::Datetime(_) => Err("date"),
        DeValue::Array(_) => Err("list in a list"),
        DeValue::Table(_) => Err("table"),
    }
}
