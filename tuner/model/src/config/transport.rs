//! Transports that several MPI libraries can use, such as UCX and libfabric: their settings, which are the same whatever library uses them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::library::{Constraint, Parameter, Speech, VerifiedRows};
use super::{ConfigError, Embedded, all, parse, parsed};

/// A transport.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Such as `ucx`.
    pub id: String,
    /// Such as `UCX`.
    pub name: String,
    /// Its program that prints its settings.
    pub info: TransportInfo,
    /// Settings that make it say what carries its messages.
    pub speech: Speech,
    /// Verification of the rows that do not say it themselves.
    #[serde(default)]
    pub verified: VerifiedRows,
    /// Its settings, all of them environment variables, most promising first.
    pub parameters: Vec<Parameter>,
    /// Settings of its own that must not be made, or not without others.
    #[serde(default)]
    pub constraints: Vec<Constraint>,
}

/// A transport's own program that prints its settings; a file each in `library_info/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportInfo {
    /// libfabric's.
    FiInfo,
    /// UCX's.
    UcxInfo,
}

impl Transport {
    /// Its settings as rows of a library that calls it `name`.
    #[must_use]
    pub fn rows(&self, name: &str) -> Vec<Parameter> {
        let row = |row: &Parameter| Parameter {
            environment: true,
            transport: Some(name.to_owned()),
            verified: row.verified.or_else(|| self.verified.of(&row.name)),
            ..row.clone()
        };
        self.parameters.iter().map(row).collect()
    }
}

/// The transports that come with Kilter, by id.
///
/// # Errors
/// The first file with a mistake.
pub fn load_embedded() -> Result<BTreeMap<String, Transport>, ConfigError> {
    lent().cloned()
}

/// The transports that come with Kilter, read once and shared.
pub(super) fn lent() -> Result<&'static BTreeMap<String, Transport>, ConfigError> {
    static TRANSPORTS: Embedded<BTreeMap<String, Transport>> = Embedded::new(|| {
        let all = parsed("transports", |text, file| parse::<Transport>(text, file, problem))?;
        let by_id = all.into_iter().map(|transport| (transport.id.clone(), transport));
        Ok(by_id.collect())
    });
    all(&TRANSPORTS)
}

/// A mistake that the form does not exclude. The rows are checked as those of each library that has them.
fn problem(transport: &Transport) -> Option<String> {
    let mut seen = BTreeSet::new();
    for row in &transport.parameters {
        if !seen.insert(&row.name) {
            return Some(format!("parameter `{}` stands there twice; remove one", row.name));
        }
        if row.transport.is_some() {
            return Some(format!(
                "{}: `transport` is the library's word; leave it out, or name `lanes`",
                row.name
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::embedded;

    #[test]
    fn every_setting_says_how_it_was_verified_and_acts_for_one_transport() {
        let all = load_embedded().unwrap();
        assert_eq!(all.keys().collect::<Vec<_>>(), ["libfabric", "ucx"]);
        for (id, transport) in &all {
            for row in transport.rows("other") {
                assert!(row.verified.is_some(), "{id}: {}", row.name);
                assert!(
                    row.environment && row.transport.as_deref() == Some("other"),
                    "{}",
                    row.name
                );
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        let good = embedded("transports");
        let (_, ucx) = good.iter().find(|(file, _)| file.ends_with("ucx.toml")).unwrap();
        for (from, to, part) in [
            (
                "name = \"UCX_ZCOPY_THRESH\"",
                "name = \"UCX_RNDV_THRESH\"",
                "stands there twice",
            ),
            (
                "name = \"UCX_ZCOPY_THRESH\"",
                "name = \"UCX_ZCOPY_THRESH\"\ntransport = \"ucx\"",
                "UCX_ZCOPY_THRESH: `transport` is the library's word",
            ),
            ("info = \"ucx_info\"", "info = \"ucx\"", "unknown variant `ucx`"),
            ("reader = \"ucx\"", "reader = \"uct\"", "unknown variant `uct`"),
        ] {
            assert!(ucx.contains(from), "{from}");
            let error = parse::<Transport>(&ucx.replacen(from, to, 1), "x.toml", problem).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
