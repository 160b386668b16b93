//! Words of a finding, the same in every rendering.

mod proof;

use kilter_render::format::{bytes, count, percent, seconds};
use kilter_render::table::printable;

use crate::model::finding::{Confidence, Detection, Finding, Replacement, Root, Step};
use crate::model::trace::Trace;

/// Label of what may take the place of the messages.
pub(crate) const REPLACE: &str = "replace";

/// Something that is known about a finding.
pub(crate) struct Fact {
    pub(crate) label: &'static str,
    pub(crate) lines: Vec<String>,
}

/// A finding in one line: `MPI_Bcast by hand on world, 4 ranks`.
pub(crate) fn heading(finding: &Finding, trace: &Trace) -> String {
    format!(
        "MPI_{} by hand on {}, {}",
        name(finding),
        communicator(finding, trace),
        ranks(finding)
    )
}

/// Function without its prefix.
pub(crate) fn name(finding: &Finding) -> &'static str {
    finding.collective.function(finding.varies())
}

/// Name of the communicator.
pub(crate) fn communicator(finding: &Finding, trace: &Trace) -> String {
    let communicator = trace.communicators.get(finding.communicator as usize);
    printable(communicator.map_or("?", |one| one.name.as_str()))
}

pub(crate) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "certain",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

/// Facts about a finding, in the order in which they are read. `run_seconds` is the run time of the program; 0 if it is not known.
pub(crate) fn facts(finding: &Finding, trace: &Trace, run_seconds: f64) -> Vec<Fact> {
    let fact = |label, lines| Fact { label, lines };
    let mut facts = vec![fact("times", vec![times(finding, run_seconds)])];
    if !finding.operators.is_empty() {
        facts.push(fact("operator", vec![finding.operators.join(" or ")]));
    }
    let places = finding.sites.iter().map(|site| place(trace, *site));
    facts.push(fact("at", places.collect()));
    facts.push(fact("why", finding.why.clone()));
    facts.push(fact(REPLACE, vec![replacement(&finding.replacement)]));
    if let Some(proof) = &finding.proof {
        facts.extend(proof::facts(proof, finding));
    }
    facts
}

fn times(finding: &Finding, run_seconds: f64) -> String {
    let share = share(finding, run_seconds).map_or_else(String::new, |share| format!(", {share} of the run"));
    let root = match &finding.root {
        Root::None => String::new(),
        Root::Varies => ", a root of its own each time".to_owned(),
        known => format!(", root {}", root(known)),
    };
    format!(
        "{}, {} each, {}{share}{root}",
        finding.instances.len(),
        bytes(finding.bytes),
        seconds(finding.seconds),
    )
}

/// Part of the run that a finding took; none if the run time is not known.
pub(crate) fn share(finding: &Finding, run_seconds: f64) -> Option<String> {
    (run_seconds > 0.0).then(|| percent(finding.seconds / run_seconds))
}

/// The root in a word or two.
pub(crate) fn root(root: &Root) -> String {
    match root {
        Root::None => "-".to_owned(),
        Root::One(rank) => rank.to_string(),
        Root::Either(ranks) => format!("one of {}", list(ranks)),
        Root::Varies => "varies".to_owned(),
    }
}

fn replacement(replacement: &Replacement) -> String {
    match replacement {
        Replacement::Blocking(function) => format!("by {function}"),
        Replacement::NonBlocking(function) => {
            format!("by {function}, since the program works while it looks for the messages")
        }
        Replacement::Deadlock { function, .. } => {
            format!("not as it stands: {function} would wait for itself in a circle")
        }
    }
}

/// Ranks that take part.
pub(crate) fn ranks(finding: &Finding) -> String {
    let those = count(finding.ranks.len(), "rank");
    let part = if finding.is_subset {
        format!("{those} of it: {}", list(&finding.ranks))
    } else {
        those
    };
    if finding.missing.is_empty() {
        part
    } else {
        format!("{part}, without {}", list(&finding.missing))
    }
}

fn list(ranks: &[u32]) -> String {
    const MOST: usize = 12;
    let shown: Vec<String> = ranks.iter().take(MOST).map(ToString::to_string).collect();
    let more = if ranks.len() > MOST { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// A call site.
pub(crate) fn place(trace: &Trace, site: u32) -> String {
    let Some(site) = trace.sites.get(site as usize) else {
        return "unknown".to_owned();
    };
    let words = match (site.function.as_str(), site.file.as_str()) {
        ("", "") if site.object.is_empty() => "unknown".to_owned(),
        ("", _) => format!("{}+{:#x}", site.object, site.offset),
        (function, "") => format!("{function} ({}+{:#x})", site.object, site.offset),
        (function, file) => format!("{function} ({file}:{})", site.line),
    };
    printable(&words)
}

/// A step of a circle in which `function` would wait for itself.
pub(crate) fn step(function: &str, step: &Step, trace: &Trace) -> String {
    match step {
        Step::Collective(instance) => format!("{function} number {}", instance + 1),
        Step::Call { rank, site, .. } => format!("the call of rank {rank} at {}", place(trace, *site)),
    }
}

/// Number of messages that were followed, and the patterns that are not reported.
pub(crate) fn foot(detection: &Detection) -> Vec<String> {
    let doubts = &detection.doubts;
    let matched = usize::try_from(doubts.matched).unwrap_or(usize::MAX);
    let mut followed = format!("{} followed", count(matched, "message"));
    for (left, what) in [
        (doubts.sends_unmatched, "sends without a receive"),
        (doubts.receives_unmatched, "receives without a send"),
        (doubts.data_differ, "with other data at the other end"),
        (doubts.impossible, "of ranks that the trace does not have"),
    ] {
        if left > 0 {
            followed.push_str(&format!(", {left} {what}"));
        }
    }
    let reasons: Vec<String> = detection
        .filtered
        .iter()
        .map(|(reason, times)| format!("{reason} {times}"))
        .collect();
    let mut lines = vec![followed];
    if !reasons.is_empty() {
        lines.push(format!("looked like one and is not reported: {}", reasons.join(", ")));
    }
    lines
}
