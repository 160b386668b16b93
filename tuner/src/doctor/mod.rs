//! `kilter doctor` checks that this machine is fit for measurements.
//!
//! [`gather`] finds [`facts`] (from `/proc` and `/sys` here, and by a short job on the job's hosts). [`checks`] judge them, a file and a row
//! in a table each, and [`render`] prints. Every finding that makes verdicts doubtful ends in an action.

pub mod checks;
pub mod facts;
pub mod gather;
pub mod render;

use kilter_model::options::Options;
use serde::Serialize;

pub use checks::CHECKS;
use facts::Facts;

use crate::launcher::InUse;

/// Severity of a finding; ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The machine is as it should be.
    Fit,
    /// The system does not tell.
    Unknown,
    /// Good to know; verdicts are not affected.
    Note,
    /// Verdicts are doubtful.
    Warning,
    /// Measurements are impossible.
    Error,
}

/// Finding of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// The check.
    pub id: String,
    /// Severity.
    pub level: Level,
    /// Finding in words.
    pub says: String,
    /// Action to take; always there from [`Level::Warning`] on.
    pub action: Option<String>,
}

/// A check.
pub struct Check {
    /// Stable id.
    pub id: &'static str,
    /// Subject of the check.
    pub what: &'static str,
    /// True if it needs nothing but what is read on each host, so that measuring commands can afford it.
    pub quick: bool,
    /// Judges the facts.
    pub judge: fn(&Facts) -> Judgement,
}

/// Judgement of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    level: Level,
    says: String,
    action: Option<String>,
}

impl Judgement {
    /// A judgement that the machine is as it should be.
    pub(crate) fn fit(says: impl Into<String>) -> Judgement {
        Judgement::new(Level::Fit, says, None)
    }

    /// A judgement that the system does not tell.
    pub(crate) fn unknown(says: impl Into<String>) -> Judgement {
        Judgement::new(Level::Unknown, says, None)
    }

    /// A remark that does not affect verdicts.
    pub(crate) fn note(says: impl Into<String>) -> Judgement {
        Judgement::new(Level::Note, says, None)
    }

    /// A judgement that verdicts are doubtful until the action is taken.
    pub(crate) fn warning(says: impl Into<String>, action: impl Into<String>) -> Judgement {
        Judgement::new(Level::Warning, says, Some(action.into()))
    }

    /// A judgement that measurements are impossible until the action is taken.
    pub(crate) fn error(says: impl Into<String>, action: impl Into<String>) -> Judgement {
        Judgement::new(Level::Error, says, Some(action.into()))
    }

    fn new(level: Level, says: impl Into<String>, action: Option<String>) -> Judgement {
        Judgement {
            level,
            says: says.into(),
            action,
        }
    }

    fn finding(self, id: &str) -> Finding {
        Finding {
            id: id.to_owned(),
            level: self.level,
            says: self.says,
            action: self.action,
        }
    }
}

/// Findings of all checks.
#[must_use]
pub fn examine(facts: &Facts) -> Vec<Finding> {
    CHECKS
        .iter()
        .map(|check| (check.judge)(facts).finding(check.id))
        .collect()
}

/// Worst level of the findings.
#[must_use]
pub fn worst(findings: &[Finding]) -> Level {
    findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Fit)
}

/// A finding that makes verdicts doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The check.
    pub id: String,
    /// The finding, and what to do.
    pub text: String,
}

/// Warnings of the checks that measuring commands can afford, about the hosts of the job. Those of ranks on this machine are made in a fraction of
/// a second; a short job reads the files of others. There are none about simulated hosts.
#[must_use]
pub fn quick(options: &Options, in_use: &InUse) -> Vec<Warning> {
    if options.is_exact() {
        return Vec::new();
    }
    // A launcher of an unknown kind may start ranks anywhere.
    if !options.has_several_hosts() && in_use.remark.is_none() {
        return warnings(&gather::local(options));
    }
    match gather::of_job(options, &in_use.library, &in_use.programs) {
        Ok(facts) => warnings(&facts),
        Err(error) => vec![Warning {
            id: "hosts".to_owned(),
            text: format!("the hosts of the job are not examined: {error:#}"),
        }],
    }
}

fn warnings(facts: &Facts) -> Vec<Warning> {
    CHECKS
        .iter()
        .filter(|check| check.quick)
        .map(|check| (check.judge)(facts).finding(check.id))
        .filter(|finding| finding.level >= Level::Warning)
        .map(|finding| Warning {
            text: format!("{}; {}", finding.says, finding.action.unwrap_or_default()),
            id: finding.id,
        })
        .collect()
}

#[cfg(test)]
mod tests;
