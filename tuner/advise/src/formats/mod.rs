//! Printed forms of statistics: a file per form, and their table.

mod call_profile;
mod intel_aps;
mod kilter_profile;
mod kilter_trace;
mod mpich_algorithms;
mod mpt_stats;
mod openmpi_spc;
pub mod recorded;
mod ucx_stats;

use crate::listing::{Found, Listing, MOST_COUNTERS};

/// A printed form.
#[derive(Debug)]
pub struct Format {
    /// Name in rules, such as `mpt-stats`.
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Way to such a listing.
    pub made_by: &'static str,
    /// Source of the form: what the reader was written after.
    pub source: &'static str,
    /// True if counters of value 0 are not printed, so that a missing one is 0.
    pub leaves_out_zeros: bool,
    /// True if each process writes a file of its own; such files are read as one job.
    pub file_per_process: bool,
    /// True for a line that only this form has.
    pub is_sign: fn(&str) -> bool,
    /// Reads a file's text. Lines that are not of the form are skipped: listings stand in the output of jobs.
    pub read: fn(&str, &mut Found),
}

/// All forms.
pub static FORMATS: &[&Format] = &[
    &mpt_stats::FORMAT,
    &call_profile::FORMAT,
    &openmpi_spc::FORMAT,
    &mpich_algorithms::FORMAT,
    &ucx_stats::FORMAT,
    &intel_aps::FORMAT,
    &kilter_profile::FORMAT,
    &kilter_trace::FORMAT,
];

/// A file that has no statistics.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// No line is a sign of a known form.
    #[error(
        "{file}: no line of it is of a known listing; expected one of:\n{}\nnext: make the job print one of them, and give `kilter advise` its output",
        expected()
    )]
    Unknown {
        /// The file.
        file: String,
    },
    /// The form is known by a line, and no counter follows.
    #[error(
        "{file}: line {line} is of {title}, and no counter of it can be read; expected: {made_by}; next: give the whole output of the job"
    )]
    Empty {
        /// The file.
        file: String,
        /// Line of the sign, from 1.
        line: usize,
        /// The form.
        title: &'static str,
        /// Way to a whole listing.
        made_by: &'static str,
    },
    /// More counters than are read.
    #[error(
        "{file}: it has more than {} counters; next: give the output of fewer ranks",
        MOST_COUNTERS
    )]
    TooMany {
        /// The file.
        file: String,
    },
}

/// A line per form: its name, and the way to it.
fn expected() -> String {
    FORMATS
        .iter()
        .map(|format| format!("  {}: {}", format.title, format.made_by))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The form of an id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.id == id)
}

/// Reads the listings of a file's text, one for each form of which a line is there.
pub fn read(text: &str, file: &str) -> Result<Vec<Listing>, FormatError> {
    let mut listings = Vec::new();
    let mut empty = None;
    for &format in FORMATS {
        let Some(sign) = text.lines().position(format.is_sign) else {
            continue;
        };
        let mut found = Found::new(file);
        (format.read)(text, &mut found);
        if found.is_full() {
            return Err(FormatError::TooMany { file: file.to_owned() });
        }
        let processes = found.into_processes();
        if processes.is_empty() {
            empty = empty.or(Some((format, sign + 1)));
            continue;
        }
        listings.push(Listing {
            format,
            files: vec![file.to_owned()],
            processes,
        });
    }
    match empty {
        _ if !listings.is_empty() => Ok(listings),
        Some((format, line)) => Err(FormatError::Empty {
            file: file.to_owned(),
            line,
            title: format.title,
            made_by: format.made_by,
        }),
        None => Err(FormatError::Unknown { file: file.to_owned() }),
    }
}

/// Listings of several files as those of jobs: where each process wrote a file of its own, its files are one listing.
#[must_use]
pub fn joined(listings: Vec<Listing>) -> Vec<Listing> {
    let mut jobs: Vec<Listing> = Vec::new();
    for listing in listings {
        let same = jobs
            .iter_mut()
            .find(|job| job.format.id == listing.format.id && listing.format.file_per_process);
        match same {
            Some(job) => {
                job.files.extend(listing.files);
                job.processes.extend(listing.processes);
            }
            None => jobs.push(listing),
        }
    }
    jobs
}

#[cfg(test)]
mod tests;
