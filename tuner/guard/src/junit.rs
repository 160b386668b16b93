//! A night as tests in JUnit's form: a suite each for what changed, what is deployed, the times, and the hosts.
//!
//! A case that makes the command end with 1 has failed. One that makes it end with 2 is an error, since a suite without it would say more than is known.

use std::fmt::Write as _;

use kilter_render::quoting::escape;
use kilter_stats::verdict::Outcome;

use crate::deployed::{Guideline, State};
use crate::night::Night;
use crate::text;
use crate::times::Pace;

/// Result of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ending {
    Passed,
    Failed(String),
    Error(String),
    Skipped(String),
}

/// A test: its name and what became of it.
type Test = (String, Ending);

/// The night as XML with a final newline.
#[must_use]
pub fn render(night: &Night) -> String {
    let suites: Vec<(&str, Vec<Test>)> = [
        ("facts", facts(night)),
        ("deployed", deployed(night)),
        ("times", times(night)),
        ("hosts", hosts(night)),
    ]
    .into_iter()
    .filter(|(_, tests)| !tests.is_empty())
    .collect();
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let all = || suites.iter().flat_map(|(_, tests)| tests);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        r#"<testsuites name="{}" {}>"#,
        escape(&format!("kilter guard: {}", text::conclusion(night))),
        counts(all())
    );
    for (name, tests) in &suites {
        let _ = writeln!(
            out,
            r#"  <testsuite name="{name}" {} timestamp="{}">"#,
            counts(tests.iter()),
            escape(night.started.trim_end_matches('Z'))
        );
        for (test, ending) in tests {
            let _ = write!(out, r#"    <testcase classname="{name}" name="{}""#, escape(test));
            let _ = match ending {
                Ending::Passed => writeln!(out, "/>"),
                Ending::Failed(why) => writeln!(out, r#"><failure message="{}"/></testcase>"#, escape(why)),
                Ending::Error(why) => writeln!(out, r#"><error message="{}"/></testcase>"#, escape(why)),
                Ending::Skipped(why) => writeln!(out, r#"><skipped message="{}"/></testcase>"#, escape(why)),
            };
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// A check that came to nothing, with the reason.
#[must_use]
pub fn failed(why: &str) -> String {
    let why = escape(why);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kilter guard: not checked\" tests=\"1\" failures=\"0\" errors=\"1\" \
         skipped=\"0\">\n  <testsuite name=\"facts\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    <testcase \
         classname=\"facts\" name=\"not checked\"><error message=\"{why}\"/></testcase>\n  </testsuite>\n</testsuites>\n"
    )
}

fn counts<'a>(tests: impl Iterator<Item = &'a Test>) -> String {
    let (mut all, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for (_, ending) in tests {
        all += 1;
        match ending {
            Ending::Passed => {}
            Ending::Failed(_) => failures += 1,
            Ending::Error(_) => errors += 1,
            Ending::Skipped(_) => skipped += 1,
        }
    }
    format!(r#"tests="{all}" failures="{failures}" errors="{errors}" skipped="{skipped}""#)
}

fn facts(night: &Night) -> Vec<Test> {
    let changed = night
        .changes
        .iter()
        .map(|change| (change.subject.clone(), Ending::Failed(text::change(change))));
    let unchecked = night
        .unchecked
        .iter()
        .map(|why| ("not checked".to_owned(), Ending::Error(why.clone())));
    let mut tests: Vec<Test> = changed.chain(unchecked).collect();
    if tests.is_empty() {
        tests.push((format!("{} facts", night.facts), Ending::Passed));
    }
    tests
}

fn deployed(night: &Night) -> Vec<Test> {
    let changes = night.deployed.iter().map(|change| {
        let said = text::deployed_change(change);
        let ending = match change.state() {
            State::Acts => Ending::Passed,
            State::NoLonger => Ending::Failed(said),
            State::Unknown if change.acted => Ending::Error(said),
            State::NotInForce | State::Unknown => Ending::Skipped(said),
        };
        (change.id.clone(), ending)
    });
    let guidelines = night.guidelines.iter().map(|one| (one.cell.clone(), of_guideline(one)));
    changes.chain(guidelines).collect()
}

fn of_guideline(guideline: &Guideline) -> Ending {
    let said = text::guideline(guideline);
    let holds = guideline.comparison.as_ref().map(|one| one.verdict) == Some(Outcome::Holds);
    match guideline {
        one if one.is_broken() => Ending::Failed(said),
        one if one.is_unmeasured() => Ending::Error(said),
        _ if holds => Ending::Passed,
        _ => Ending::Skipped(said),
    }
}

fn times(night: &Night) -> Vec<Test> {
    let test = |timed: &crate::times::Timed| {
        let ending = match timed.pace {
            Pace::Same => Ending::Passed,
            Pace::Slower => Ending::Failed(text::timed(timed)),
            Pace::NotMeasured => Ending::Error(text::timed(timed)),
        };
        (timed.cell.clone(), ending)
    };
    night.times.iter().map(test).collect()
}

fn hosts(night: &Night) -> Vec<Test> {
    let Some(map) = &night.nodes else { return Vec::new() };
    let of = |name: &String| {
        let slow = map.slow.iter().find(|slow| slow.hosts.contains(name));
        let ending = slow.map_or(Ending::Passed, |slow| Ending::Failed(text::slow(slow)));
        (name.clone(), ending)
    };
    map.hosts.iter().map(of).collect()
}
