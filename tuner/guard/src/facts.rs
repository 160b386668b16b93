//! Facts about a job and its hosts: a subject, where it was read, and its text.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The place of a fact about the whole job.
const JOB: &str = "";

/// Text of what a host, or the job, does not say although it was asked.
pub const NOT_TOLD: &str = "not told";

/// First words of subjects that a library's own program prints: many change at once with the library.
pub const PRINTED: &str = "printed parameter ";

/// Facts by subject and host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(BTreeMap<String, BTreeMap<String, String>>);

impl Facts {
    /// Adds a fact about the whole job.
    pub fn of_job(&mut self, subject: &str, text: impl Into<String>) {
        self.of_host(subject, JOB, text);
    }

    /// Adds a fact about a host.
    pub fn of_host(&mut self, subject: &str, host: &str, text: impl Into<String>) {
        let hosts = self.0.entry(subject.to_owned()).or_default();
        hosts.insert(host.to_owned(), text.into());
    }

    /// Removes a subject.
    pub fn forget(&mut self, subject: &str) {
        self.0.remove(subject);
    }

    /// Names of all hosts of which anything is known.
    #[must_use]
    pub fn hosts(&self) -> BTreeSet<&str> {
        let all = self.0.values().flat_map(BTreeMap::keys);
        all.map(String::as_str).filter(|host| *host != JOB).collect()
    }

    /// Number of subjects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each subject with its text by host; the place of the job is empty.
    pub fn subjects(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, String>)> {
        self.0.iter().map(|(subject, texts)| (subject.as_str(), texts))
    }

    /// Texts of a subject by host.
    pub(crate) fn texts(&self, subject: &str) -> Option<&BTreeMap<String, String>> {
        self.0.get(subject)
    }
}
