//! A detection as a page of its own: one file, nothing is fetched, with the styles and the script of the report.

use askama::Template;
use kilter_render::format::{bytes, count, seconds};

use crate::model::finding::{Detection, Finding, Replacement};
use crate::model::proof::Proof;
use crate::model::trace::Trace;
use crate::picture::{self, Picture, circle};
use crate::words::{self, Fact};

/// The reason why the page could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the page could not be rendered; `--format json` has the same content: {0}")]
pub struct HtmlError(#[from] askama::Error);

#[derive(Template)]
#[template(path = "detect.html")]
struct Page {
    version: &'static str,
    headline: String,
    subject: String,
    lines: Vec<String>,
    is_measured: bool,
    findings: Vec<OfFinding>,
}

struct OfFinding {
    heading: String,
    confidence: &'static str,
    row: Row,
    facts: Vec<Fact>,
    picture: Option<Picture>,
    circle: Option<String>,
}

/// Row of the table of findings.
struct Row {
    function: String,
    communicator: String,
    ranks: usize,
    root: String,
    times: usize,
    bytes: String,
    seconds: String,
    share: String,
    replacement: String,
    gain: String,
}

/// Renders the page of a command's trace. `run_seconds` is the run time of the program, with which findings are compared.
///
/// # Errors
/// If the template fails to write, which no content causes.
pub fn render(detection: &Detection, trace: &Trace, command: &str, run_seconds: f64) -> Result<String, HtmlError> {
    let findings = detection.findings.iter().enumerate();
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        headline: match detection.findings.len() {
            0 => "No collective by hand is found".to_owned(),
            found => format!("{} by hand", count(found, "collective")),
        },
        subject: command.to_owned(),
        lines: words::foot(detection),
        is_measured: detection.findings.iter().any(|one| one.proof.is_some()),
        findings: findings
            .map(|(index, finding)| of_finding(index + 1, finding, trace, run_seconds))
            .collect(),
    };
    Ok(page.render()?)
}

fn of_finding(number: usize, finding: &Finding, trace: &Trace, run_seconds: f64) -> OfFinding {
    let circle = match &finding.replacement {
        Replacement::Deadlock { function, cycle } => circle::draw(function, cycle, trace, &format!("circle-{number}")),
        _ => None,
    };
    OfFinding {
        heading: words::heading(finding, trace),
        confidence: words::confidence(finding.confidence),
        row: row(finding, trace, run_seconds),
        facts: words::facts(finding, trace, run_seconds),
        picture: picture::draw(trace, finding, &format!("picture-{number}")),
        circle,
    }
}

fn row(finding: &Finding, trace: &Trace, run_seconds: f64) -> Row {
    Row {
        function: format!("MPI_{}", words::name(finding)),
        communicator: words::communicator(finding, trace),
        ranks: finding.ranks.len(),
        root: words::root(&finding.root),
        times: finding.instances.len(),
        bytes: bytes(finding.bytes),
        seconds: seconds(finding.seconds),
        share: words::share(finding, run_seconds).unwrap_or_else(|| "-".to_owned()),
        replacement: match &finding.replacement {
            Replacement::Blocking(function) | Replacement::NonBlocking(function) => function.clone(),
            Replacement::Deadlock { function, .. } => format!("not {function} as it stands"),
        },
        gain: match &finding.proof {
            Some(Proof::Measured(measured)) if measured.best().is_some() => {
                seconds(measured.gain_seconds(finding.instances.len()))
            }
            Some(Proof::Measured(_)) => "none shown".to_owned(),
            _ => "-".to_owned(),
        },
    }
}
