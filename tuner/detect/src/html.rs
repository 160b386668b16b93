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

#[cfg(test)]
mod tests {
    use kilter_fixtures::markup::check_page;

    use super::*;
    use crate::fixture::{finding, sent};
    use crate::model::finding::Step;
    use crate::model::trace::{Communicator, Event, Kind, Payload, Site};

    /// A broadcast of rank 0 to so many others, one after the other, with so many tests in vain in between.
    fn broadcast(others: u32, tests: usize) -> (Trace, Finding) {
        let event = |begin_ns, kind| Event {
            begin_ns,
            end_ns: begin_ns + 5,
            site: 0,
            kind,
        };
        let mut trace = Trace {
            ranks: others as usize + 1,
            communicators: vec![Communicator {
                members: (0..=others).collect(),
                name: "world <1> & \"more\"".to_owned(),
            }],
            sites: vec![Site {
                function: "spread<T>".to_owned(),
                ..Site::default()
            }],
            events: vec![Vec::new(); others as usize + 1],
            ..Trace::default()
        };
        let mut messages = Vec::new();
        for to in 1..=others {
            let at = 100 * u64::from(to);
            let payload = Payload {
                bytes: 8,
                ..Payload::default()
            };
            let mut message = sent(0, to, at, at + 15);
            message.send_event = trace.events[0].len() as u32;
            messages.push(message);
            let send = Kind::Send {
                communicator: 0,
                to,
                tag: 0,
                payload: payload.clone(),
                completed_ns: None,
            };
            trace.events[0].push(event(at, send));
            let tests = (0..tests as u64).map(|test| event(at + 10 + test % 80, Kind::Test { found: false }));
            trace.events[0].extend(tests);
            let receive = Kind::Receive {
                communicator: 0,
                from: 0,
                tag: 0,
                payload,
                posted_ns: at - 50,
            };
            trace.events[to as usize].push(event(at + 10, receive));
        }
        (trace, finding(messages, others + 1))
    }

    fn page(trace: &Trace, finding: Finding) -> String {
        let detection = Detection {
            findings: vec![finding],
            ..Detection::default()
        };
        let page = render(&detection, trace, "mpirun -n 4 ./solve <in", 1.0).unwrap();
        check_page(&page);
        page
    }

    #[test]
    fn each_message_is_an_arrow_between_its_calls_and_the_root_is_marked() {
        let (trace, finding) = broadcast(3, 2);
        let page = page(&trace, finding);
        let number = |part: &str| page.matches(part).count();
        assert_eq!(number("class=\"message\""), 3);
        assert_eq!((number("class=\"send\""), number("class=\"receive\"")), (3, 3));
        assert_eq!((number("class=\"root\""), number(">root 0<")), (1, 1));
        assert_eq!(number("class=\"other\""), 4, "tests between the sends");
        assert!(
            page.contains("spread&lt;T&gt;") || page.contains("spread&#60;T&#62;"),
            "{page}"
        );
        assert!(!page.contains("left out"), "nothing is");
    }

    #[test]
    fn a_long_occurrence_has_few_elements_and_says_what_is_left_out() {
        let (trace, finding) = broadcast(999, 100);
        let page = page(&trace, finding);
        assert!(page.matches("class=\"message\"").count() <= 160);
        assert!(page.contains("of 1000 ranks and"), "{page}");
        assert!(page.contains("other calls between them are left out."));
        assert!(page.len() < 400_000, "{}", page.len());
    }

    #[test]
    fn the_circle_of_a_deadlock_is_drawn_with_its_steps() {
        let (trace, mut finding) = broadcast(3, 0);
        let call = |rank| Step::Call {
            rank,
            event: 0,
            site: 0,
        };
        finding.replacement = Replacement::Deadlock {
            function: "MPI_Bcast".to_owned(),
            cycle: vec![Step::Collective(0), call(1), call(2)],
        };
        let page = page(&trace, finding);
        assert!(page.contains("not MPI_Bcast as it stands"));
        assert_eq!(page.matches("class=\"before\"").count(), 3);
    }
}
