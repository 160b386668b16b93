//! A detection for a terminal.

use std::fmt::Write as _;

use crate::model::finding::{Detection, Finding, Replacement};
use crate::model::trace::Trace;
use crate::words;

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
    for line in words::foot(detection) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn of_finding(number: usize, finding: &Finding, trace: &Trace, run_seconds: f64) -> String {
    let confidence = words::confidence(finding.confidence);
    let mut out = format!("{number}. {} ({confidence})\n", words::heading(finding, trace));
    for fact in words::facts(finding, trace, run_seconds) {
        let mut label = fact.label;
        let circle = if label == words::REPLACE {
            circle(finding, trace)
        } else {
            Vec::new()
        };
        for line in fact.lines.into_iter().chain(circle) {
            let _ = writeln!(out, "  {label:<9}{line}");
            label = "";
        }
    }
    out
}

/// Steps of the circle in which a replacement would wait for itself.
fn circle(finding: &Finding, trace: &Trace) -> Vec<String> {
    let Replacement::Deadlock { function, cycle } = &finding.replacement else {
        return Vec::new();
    };
    let steps = cycle.iter().take(MOST_STEPS);
    let mut lines: Vec<String> = steps
        .map(|step| format!("{} comes before", words::step(function, step, trace)))
        .collect();
    if let Some(more @ 1..) = cycle.len().checked_sub(MOST_STEPS) {
        lines.push(format!(
            "... {more} further steps, the last of which comes before the first; --format html shows more, --format json all"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::finding::{Collective, Confidence, Doubts, Instance, Reason, Root, Step};
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
            text.contains("  replace  not as it stands: MPI_Bcast would wait for itself in a circle\n"),
            "{text}"
        );
        assert!(
            text.contains("           the call of rank 2 at app+0x40 comes before\n"),
            "{text}"
        );
    }

    #[test]
    fn nothing_found_is_said() {
        let text = text(&Detection::default(), &Trace::default(), 0.0);
        assert_eq!(text, "No collective by hand is found.\n0 messages followed\n");
    }
}
