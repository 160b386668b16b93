//! A detection for a terminal.

mod proof;

use std::fmt::Write as _;

use kilter_render::format::{bytes, count, percent, seconds};
use kilter_render::table::printable;

use crate::model::finding::{Confidence, Detection, Finding, Replacement, Root, Step};
use crate::model::trace::Trace;

/// Steps of a circle that are shown.
const MOST_STEPS: usize = 6;

/// The whole text. `run_seconds` is the run time of the program, with which findings are compared.
#[must_use]
pub fn text(detection: &Detection, trace: &Trace, run_seconds: f64) -> String {
    let mut out = String::new();
    for (number, finding) in detection.findings.iter().enumerate() {
        out.push_str(&of_finding(number + 1, finding, trace, run_seconds));
        out.push('\n');
    }
    if detection.findings.is_empty() {
        out.push_str("No collective by hand is found.\n");
    }
    let _ = write!(out, "{} followed", count(number(detection.doubts.matched), "message"));
    for (left, what) in [
        (detection.doubts.sends_unmatched, "sends without a receive"),
        (detection.doubts.receives_unmatched, "receives without a send"),
        (detection.doubts.data_differ, "with other data at the other end"),
        (detection.doubts.impossible, "of ranks that the trace does not have"),
    ] {
        if left > 0 {
            let _ = write!(out, ", {left} {what}");
        }
    }
    out.push('\n');
    if !detection.filtered.is_empty() {
        let reasons: Vec<String> = detection
            .filtered
            .iter()
            .map(|(reason, times)| format!("{reason} {times}"))
            .collect();
        let _ = writeln!(out, "looked like one and is not reported: {}", reasons.join(", "));
    }
    out
}

fn number(of: u64) -> usize {
    usize::try_from(of).unwrap_or(usize::MAX)
}

fn of_finding(number: usize, finding: &Finding, trace: &Trace, run_seconds: f64) -> String {
    let varied = finding.instances.iter().any(|one| one.bytes != finding.bytes);
    let name = finding.collective.function(varied);
    let communicator = trace.communicators.get(finding.communicator as usize);
    let on = communicator.map_or("?", |one| one.name.as_str());
    let mut out = format!(
        "{number}. MPI_{name} by hand on {}, {} ({})\n",
        printable(on),
        ranks(finding),
        match finding.confidence {
            Confidence::Certain => "certain",
            Confidence::Likely => "likely",
            Confidence::Possible => "possible",
        }
    );
    let mut line = |label: &str, text: &str| {
        let _ = writeln!(out, "  {label:<9}{text}");
    };
    let share = if run_seconds > 0.0 {
        format!(", {} of the run", percent(finding.seconds / run_seconds))
    } else {
        String::new()
    };
    line(
        "times",
        &format!(
            "{}, {} each, {}{share}{}",
            finding.instances.len(),
            bytes(finding.bytes),
            seconds(finding.seconds),
            root(&finding.root)
        ),
    );
    if !finding.operators.is_empty() {
        line("operator", &finding.operators.join(" or "));
    }
    for (index, site) in finding.sites.iter().enumerate() {
        line(if index == 0 { "at" } else { "" }, &place(trace, *site));
    }
    for (index, why) in finding.why.iter().enumerate() {
        line(if index == 0 { "why" } else { "" }, why);
    }
    match &finding.replacement {
        Replacement::Blocking(function) => line("replace", &format!("by {function}")),
        Replacement::NonBlocking(function) => {
            line(
                "replace",
                &format!("by {function}, since the program works while it looks for the messages"),
            );
        }
        Replacement::Deadlock { function, cycle } => {
            line(
                "replace",
                &format!("not as it stands: {function} would wait for itself, since"),
            );
            for step in cycle.iter().take(MOST_STEPS) {
                line("", &of_step(name, step, trace));
            }
            if let Some(more @ 1..) = cycle.len().checked_sub(MOST_STEPS) {
                line(
                    "",
                    &format!(
                        "... {more} further calls, the last of which comes before the first; --format json has them"
                    ),
                );
            }
        }
    }
    if let Some(proof) = &finding.proof {
        for (label, text) in proof::lines(proof, finding) {
            line(label, &text);
        }
    }
    out
}

fn ranks(finding: &Finding) -> String {
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

fn root(root: &Root) -> String {
    match root {
        Root::None => String::new(),
        Root::One(rank) => format!(", root {rank}"),
        Root::Either(ranks) => format!(", root one of {}", list(ranks)),
        Root::Varies => ", a root of its own each time".to_owned(),
    }
}

/// A call site in words.
fn place(trace: &Trace, site: u32) -> String {
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

fn of_step(name: &str, step: &Step, trace: &Trace) -> String {
    match step {
        Step::Collective(instance) => format!("MPI_{name} number {} comes before", instance + 1),
        Step::Call { rank, site, .. } => {
            format!("the call of rank {rank} at {}, which comes before", place(trace, *site))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::finding::{Collective, Doubts, Instance, Reason};
    use crate::model::trace::{Communicator, Site};

    fn instance(bytes: u64) -> Instance {
        Instance {
            begin_ns: 0,
            end_ns: 1_000_000,
            root: Some(0),
            bytes,
            messages: Vec::new(),
        }
    }

    fn finding() -> Finding {
        Finding {
            collective: Collective::Broadcast,
            communicator: 0,
            ranks: vec![0, 1, 2],
            is_subset: false,
            missing: vec![3],
            root: Root::One(0),
            operators: Vec::new(),
            sites: vec![0, 1],
            instances: vec![instance(4096), instance(4096)],
            bytes: 4096,
            seconds: 0.002,
            confidence: Confidence::Likely,
            why: vec!["rank 0 has the data before all others".to_owned()],
            replacement: Replacement::Blocking("MPI_Bcast".to_owned()),
            proof: None,
        }
    }

    fn trace() -> Trace {
        let site = |function: &str, file: &str| Site {
            function: function.to_owned(),
            file: file.to_owned(),
            line: 12,
            object: "app".to_owned(),
            offset: 0x40,
        };
        Trace {
            ranks: 4,
            communicators: vec![Communicator {
                members: vec![0, 1, 2, 3],
                name: "world".to_owned(),
            }],
            sites: vec![site("spread", "ring.c"), site("", "")],
            ..Trace::default()
        }
    }

    #[test]
    fn a_finding_says_what_where_why_and_what_instead() {
        let detection = Detection {
            findings: vec![finding()],
            filtered: BTreeMap::from([(Reason::LowEntropy, 7)]),
            doubts: Doubts {
                matched: 20,
                data_differ: 1,
                ..Doubts::default()
            },
        };
        assert_eq!(
            text(&detection, &trace(), 0.1),
            "\
1. MPI_Bcast by hand on world, 3 ranks, without 3 (likely)
  times    2, 4 KiB each, 2.00 ms, 2 % of the run, root 0
  at       spread (ring.c:12)
           app+0x40
  why      rank 0 has the data before all others
  replace  by MPI_Bcast

20 messages followed, 1 with other data at the other end
looked like one and is not reported: data of equal bytes 7
"
        );
    }

    #[test]
    fn what_would_wait_for_itself_is_told_with_its_circle() {
        let mut one = finding();
        one.replacement = Replacement::Deadlock {
            function: "MPI_Bcast".to_owned(),
            cycle: vec![
                Step::Collective(0),
                Step::Call {
                    rank: 2,
                    event: 9,
                    site: 1,
                },
            ],
        };
        let detection = Detection {
            findings: vec![one],
            ..Detection::default()
        };
        let text = text(&detection, &trace(), 0.0);
        assert!(
            text.contains("  replace  not as it stands: MPI_Bcast would wait for itself, since\n"),
            "{text}"
        );
        assert!(
            text.contains("           the call of rank 2 at app+0x40, which comes before\n"),
            "{text}"
        );
    }

    #[test]
    fn nothing_found_is_said() {
        let text = text(&Detection::default(), &Trace::default(), 0.0);
        assert_eq!(text, "No collective by hand is found.\n0 messages followed\n");
    }
}
