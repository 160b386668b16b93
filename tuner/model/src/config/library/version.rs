//! Versions of a library, as its launcher and its jobs report them.

use super::Library;

impl Library {
    /// The version number in the launcher's version line.
    #[must_use]
    pub fn version_of(&self, line: &str) -> String {
        version_in(line).unwrap_or_else(|| line.to_owned())
    }

    /// The name of a build of Kilter for this version of the library, such as `mpich-4.0`.
    #[must_use]
    pub fn build_name(&self, version: &str) -> String {
        let mut numbers = version.split('.');
        let mut next = || numbers.next().unwrap_or("0");
        self.builds.replace("{major}", next()).replace("{minor}", next())
    }

    /// True if a worker that reports `line` was built for this library. Its version must be the one that the launcher
    /// prints. A launcher with versions of its own admits any.
    #[must_use]
    pub fn is_built_for(&self, version: &str, line: &str) -> bool {
        let reported = version_in(line).filter(|_| self.version_of_worker);
        self.is_reported_by(reported.as_deref().unwrap_or(version), line)
    }

    /// True if `line`, the first line of `MPI_Get_library_version`, names this library in this version.
    #[must_use]
    pub fn is_reported_by(&self, version: &str, line: &str) -> bool {
        self.reports_as(line) && version_in(line).is_none_or(|reported| reported == version)
    }

    /// True if `line`, the first line of `MPI_Get_library_version`, names this library in any version.
    #[must_use]
    pub fn reports_as(&self, line: &str) -> bool {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        line.contains(&self.reports)
    }
}

/// First word that is a version number, without a `v` or the library's name before it and punctuation after it.
#[must_use]
pub fn version_in(line: &str) -> Option<String> {
    line.split_whitespace()
        .map(|word| word.strip_prefix("mvapich2-").unwrap_or(word))
        .map(|word| {
            word.strip_prefix('v')
                .unwrap_or(word)
                .trim_end_matches([',', ';', ')', '.'])
        })
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .map(str::to_owned)
}

/// Numbers of a version: 5, 0 and 7 for `5.0.7rc1`.
pub(super) fn numbers(version: &str) -> Vec<u64> {
    let number = |part: &str| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().unwrap_or(0)
    };
    version.split('.').map(number).collect()
}
