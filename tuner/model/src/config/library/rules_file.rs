//! Rules file by which Open MPI's `coll_tuned` chooses algorithms, and the form in which a release reads it.

use serde::Deserialize;

use super::version::numbers;
use super::{Column, Library};

/// Form of the rules files that a release of the library reads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesFile {
    /// Its form.
    #[serde(default)]
    pub form: RulesForm,
    /// First version of the library that reads a column for requests in the form of numbers (`rule-file-version-2`).
    /// Without it, no version does.
    #[serde(default)]
    pub requests_since: Option<String>,
}

/// A form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RulesForm {
    /// Counts and numbers, versions 1 and 2.
    #[default]
    Numbers,
    /// JSON, version 3.
    Json,
}

impl RulesFile {
    /// True if a rule of this version of the library can say how many requests may be in flight.
    #[must_use]
    pub fn carries_requests(&self, version: &str) -> bool {
        match (self.form, &self.requests_since) {
            (RulesForm::Json, _) => true,
            (RulesForm::Numbers, Some(since)) => numbers(since) <= numbers(version),
            (RulesForm::Numbers, None) => false,
        }
    }
}

impl Library {
    /// The description for one version. Knobs carried by columns that its rules file does not have lose their column.
    #[must_use]
    pub fn for_version(mut self, version: &str) -> Library {
        if !self.rules_file.carries_requests(version) {
            let knobs = self.algorithms.iter_mut().flat_map(|row| row.knobs.values_mut());
            for knob in knobs.filter(|knob| knob.column == Some(Column::Requests)) {
                knob.column = None;
            }
        }
        self
    }
}

/// The mistake in the description, and what is allowed; `None` if there is none.
pub(super) fn problem(file: &RulesFile) -> Option<String> {
    let since = file.requests_since.as_deref()?;
    if file.form == RulesForm::Json {
        return Some(
            "rules_file.requests_since belongs to form = \"numbers\": a rule of JSON always can say it".to_owned(),
        );
    }
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    (!since.split('.').all(is_number))
        .then(|| format!("rules_file.requests_since is `{since}`; give a version, such as \"5.0.7\""))
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;
    use crate::config::library::find_for;

    #[test]
    fn a_column_is_there_from_one_version_on() {
        let column = |version: &str| {
            let library = find_for(&format!("mpirun (Open MPI) {version}")).unwrap();
            library.algorithms_of(Collective::Alltoall).unwrap().knobs["max_requests"].column
        };
        for (version, expected) in [
            ("4.1.4", None),
            ("4.1.8", None),
            ("5.0.0", None),
            ("5.0.6", None),
            ("5.0.7", Some(Column::Requests)),
            ("5.0.11", Some(Column::Requests)),
            ("5.0.11rc1", Some(Column::Requests)),
            ("6.0.0", Some(Column::Requests)),
        ] {
            assert_eq!(column(version), expected, "{version}");
        }
    }

    /// The library reads one number for all of its scatters, whatever a rule says.
    #[test]
    fn scatter_takes_no_requests_from_a_rule() {
        let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
        let column = |collective| library.algorithms_of(collective).unwrap().knobs["max_requests"].column;
        assert_eq!(column(Collective::Scatter), None);
        assert_eq!(column(Collective::Reduce), Some(Column::Requests));
    }
}
