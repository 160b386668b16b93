//! The doctor's findings as a table, and the form of their JSON.

use serde::Serialize;

use super::{CHECKS, Finding, Level, worst};

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// The JSON of `kilter doctor --format json`; its schema is `configs/schema/doctor.schema.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Examination {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name and version of the library; empty if it is not known.
    pub library: String,
    /// Requested ranks.
    pub ranks: usize,
    /// The worst level of all findings.
    pub level: Level,
    /// One for each check, in a fixed order.
    pub findings: Vec<Finding>,
}

impl Examination {
    /// Makes an examination of the findings.
    #[must_use]
    pub fn new(library: &str, ranks: usize, findings: Vec<Finding>) -> Examination {
        Examination {
            schema: SCHEMA,
            library: library.to_owned(),
            ranks,
            level: worst(&findings),
            findings,
        }
    }
}

/// A line for each check, with its action below.
#[must_use]
pub fn text(examination: &Examination) -> String {
    use std::fmt::Write as _;
    let wide = CHECKS.iter().map(|check| check.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in &examination.findings {
        let level = level(finding.level);
        let _ = writeln!(text, "{level:<8} {:<wide$}  {}", finding.id, finding.says);
        if let Some(action) = &finding.action {
            let _ = writeln!(text, "{:<8} {:<wide$}  -> {action}", "", "");
        }
    }
    let count = |level: Level| {
        examination
            .findings
            .iter()
            .filter(|finding| finding.level == level)
            .count()
    };
    let _ = match examination.level {
        Level::Error => writeln!(text, "\nNothing can be measured before the errors are put right."),
        Level::Warning => writeln!(
            text,
            "\nVerdicts are doubtful: {}.",
            kilter_render::format::count(count(Level::Warning), "warning")
        ),
        Level::Fit | Level::Unknown | Level::Note => writeln!(text, "\nFit to be measured."),
    };
    text
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Fit => "fit",
        Level::Unknown => "unknown",
        Level::Note => "note",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}
