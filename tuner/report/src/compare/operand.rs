//! A side of a comparison: a report, from a file or from a database.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use kilter_bench::store::{Reader, StoreError};
use kilter_model::report::Report;
use serde::Serialize;

use crate::json::{self, JsonError};
use crate::tables::before_only;

/// First bytes of an SQLite file.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// One side of a comparison.
#[derive(Debug, Clone, Serialize)]
pub struct Operand {
    /// `A`, `B`, ...
    pub label: String,
    /// The side as typed.
    pub source: String,
    /// The report, reduced to the stage that is compared.
    pub report: Report,
}

/// The reason why a side cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OperandError {
    /// No such file, or unreadable.
    #[error("`{}`: {source}; allowed: a report.json, a database such as kilter.db, DATABASE:RUN, or :RUN", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Not a report.
    #[error("`{}`: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: JsonError,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database has no such run, or no verdicts of it.
    #[error("`{}`: {wanted}; runs with verdicts: {known}; `kilter query runs --db {}` lists all", path.display(), path.display())]
    Run {
        /// The database.
        path: PathBuf,
        /// The side that was asked for, and why it cannot be had.
        wanted: String,
        /// The sides that there are.
        known: String,
    },
}

impl Operand {
    /// Loads `FILE` or `DATABASE:RUN`. `before`: only the verdicts on the untouched library. `index` gives the label.
    ///
    /// # Errors
    /// Whatever keeps it from being loaded, with what is allowed.
    pub fn load(typed: &Path, index: usize, before: bool) -> Result<Operand, OperandError> {
        let report = read(typed)?;
        Ok(Operand::new(
            typed.display().to_string(),
            if before { before_only(&report) } else { report },
            index,
        ))
    }

    /// A report under the label of its place: A, B, ... Z, then by number.
    #[must_use]
    pub fn new(source: String, report: Report, index: usize) -> Operand {
        let label = u8::try_from(index).ok().filter(|index| *index < 26).map_or_else(
            || format!("#{}", index + 1),
            |index| char::from(b'A' + index).to_string(),
        );
        Operand { label, source, report }
    }

    /// Head of its column in tables. A simulator says so, and what it was asked to be: that is another library each time.
    #[must_use]
    pub fn column(&self) -> String {
        let report = &self.report;
        let (label, library) = (&self.label, &report.library);
        let name = format!("{label}: {} {}", library.name, library.version);
        match self.machine() {
            Some(_) if !report.provenance.site_parameters.is_empty() => {
                format!("{name}, {}, {} simulated ranks", self.settings(), report.ranks)
            }
            Some(_) => format!("{name}, {} simulated ranks", report.ranks),
            None => format!("{name}, {} ranks", report.ranks),
        }
    }

    /// The simulated machine, where it was one.
    #[must_use]
    pub fn machine(&self) -> Option<&str> {
        self.report.provenance.simulated_machine.as_deref()
    }

    /// Settings of every launch: `smpi/coll-selector=ompi`.
    pub(super) fn settings(&self) -> String {
        let settings = self.report.provenance.site_parameters.iter();
        let each: Vec<String> = settings.map(|one| format!("{}={}", one.name, one.value)).collect();
        each.join(" ")
    }

    /// Origin of its times.
    pub(super) fn times(&self) -> String {
        match self.machine() {
            Some(machine) => format!("simulated on {machine}"),
            None => "measured".to_owned(),
        }
    }
}

/// The report of `FILE` or `DATABASE:RUN`.
///
/// # Errors
/// Whatever keeps it from being read, with what is allowed.
pub fn read(typed: &Path) -> Result<Report, OperandError> {
    let (path, run) = if typed.exists() {
        (typed.to_path_buf(), None)
    } else {
        split(typed)
    };
    let io = |source| OperandError::Io {
        path: path.clone(),
        source,
    };
    let mut file = std::fs::File::open(&path).map_err(io)?;
    let mut head = Vec::new();
    std::io::Read::by_ref(&mut file)
        .take(16)
        .read_to_end(&mut head)
        .map_err(io)?;
    if head == SQLITE {
        return of_database(&path, run.as_deref());
    }
    let text = std::fs::read_to_string(&path).map_err(io)?;
    json::from_str(&text).map_err(|source| OperandError::Json { path, source })
}

/// `FILE:RUN`; a path without a run stays whole.
fn split(typed: &Path) -> (PathBuf, Option<String>) {
    match typed.to_string_lossy().rsplit_once(':') {
        Some((path, run)) if !path.is_empty() && Path::new(path).exists() => (path.into(), Some(run.to_owned())),
        _ => (typed.to_path_buf(), None),
    }
}

fn of_database(path: &Path, run: Option<&str>) -> Result<Report, OperandError> {
    let reader = Reader::open(path)?;
    let runs = reader.runs()?;
    let with_verdicts: Vec<i64> = runs
        .iter()
        .filter(|run| run.finished && run.has_report)
        .map(|run| run.id)
        .collect();
    let refuse = |wanted: String| OperandError::Run {
        path: path.to_path_buf(),
        wanted,
        known: match with_verdicts.as_slice() {
            [] => "none (runs of older versions have only samples; compare their report.json)".to_owned(),
            ids => ids.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
        },
    };
    let id = match run {
        None | Some("last") => with_verdicts
            .last()
            .copied()
            .ok_or_else(|| refuse("no finished run with verdicts".to_owned()))?,
        Some(text) => text
            .parse()
            .ok()
            .filter(|id| with_verdicts.contains(id))
            .ok_or_else(|| refuse(format!("no verdicts of run `{text}`")))?,
    };
    reader
        .report(id)?
        .ok_or_else(|| refuse(format!("no verdicts of run {id}")))
}
