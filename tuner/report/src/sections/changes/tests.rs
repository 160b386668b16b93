//! A change of every kind says in every form what it does to its call, and no sentence lacks its end.

use kilter_fixtures::report as fixture;
use kilter_model::report::CallGain;

use super::*;
use crate::{html, markdown, terminal};

fn call(function: &str, bytes: u64, factor: f64) -> CallGain {
    CallGain {
        function: function.to_owned(),
        bytes,
        default_seconds: factor * 2e-6,
        deployed_seconds: 2e-6,
        factor,
        factor_ci: (0.9 * factor, 1.1 * factor),
        launches: 10,
        verdict: if factor > 1.1 {
            GainVerdict::Faster
        } else {
            GainVerdict::Same
        },
    }
}

/// Every kind of change, as the report has them: kind, name, value, collective.
const KINDS: [(FixKind, &str, &str, Option<&str>); 5] = [
    (FixKind::Parameter, "btl_vader_eager_limit", "32768", None),
    (
        FixKind::Parameter,
        "MPI_Reduce at 4 KiB",
        "coll_tuned_reduce_algorithm=2",
        Some("reduce"),
    ),
    (
        FixKind::Mockup,
        "MPI_Reduce, 1 KiB to 4 KiB",
        "reduce.as_allreduce",
        Some("reduce"),
    ),
    (
        FixKind::Algorithm,
        "MPI_Reduce, 1 KiB to 4 KiB",
        "reduce.ring segment_bytes=1024",
        Some("reduce"),
    ),
    (
        FixKind::Algorithm,
        "MPI_Reduce at 4 KiB",
        "example.reduce_linear",
        Some("reduce"),
    ),
];

/// The report with one change: with and without cells, with and without gain.
fn with(kind: usize, cells: &[&str], calls: Vec<CallGain>) -> Report {
    let (kind, name, value, function) = KINDS[kind];
    let mut report = fixture::tuned();
    report.changes = vec![DeployedChange {
        kind,
        name: name.to_owned(),
        value: value.to_owned(),
        file: "profile.json".to_owned(),
        why: "it is for no cell that was violated before".to_owned(),
        gain: geometric_mean(&calls),
        cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
        function: function.map(str::to_owned),
        sizes: vec![4096],
        ranges: function.map(|_| SizeRange::new((2048, 8191))).into_iter().collect(),
        measured_sizes: 2,
        calls,
    }];
    report
}

/// The text of a page, without tags.
fn words_of(page: &str) -> String {
    let mut text = String::new();
    for part in page.split('<').skip(1) {
        let (tag, said) = part.split_once('>').unwrap_or((part, ""));
        if ["p", "/p", "li", "/li", "dd", "/dd", "h3", "/h3", "div", "br"]
            .contains(&tag.split(' ').next().unwrap_or_default())
        {
            text.push('\n');
        }
        text.push_str(said);
    }
    text
}

/// The part of a page or document that speaks of changes.
fn section<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let from = page.find(start).unwrap_or_else(|| panic!("no `{start}` in {page}"));
    let rest = &page[from..];
    rest.find(end).map_or(rest, |to| &rest[..to])
}

/// Everything that a report says of its changes, by form.
fn said(report: &Report) -> Vec<String> {
    let page = html::render(report).unwrap();
    vec![
        words_of(section(&page, "<section id=\"answer\"", "</section>")),
        words_of(section(&page, "<section id=\"changes\"", "</section>")),
        section(&terminal::table(report), "\nDeployed changes", "\n\n").to_owned(),
        section(&markdown::to_string(report), "## Deployed changes", "\n## ").to_owned(),
    ]
}

#[test]
fn a_change_of_every_kind_is_a_whole_sentence_in_every_form() {
    for kind in 0..KINDS.len() {
        for cells in [&[][..], &["GL8 reduce 4096"], &["GL8 reduce 1024", "GL8 reduce 4096"]] {
            for calls in [
                Vec::new(),
                vec![call("reduce", 4096, 2.5)],
                vec![call("reduce", 1024, 1.0), call("reduce", 4096, 2.5)],
                vec![call("bcast", 1024, 1.5), call("reduce", 4096, 2.5)],
            ] {
                let is_measured = !calls.is_empty();
                for text in said(&with(kind, cells, calls)) {
                    for broken in [" on .", " .", "..", " ,", ": .", "()", "NaN", "inf "] {
                        let lines = text.lines().filter(|line| !line.contains("----"));
                        let wrong: Vec<&str> = lines.filter(|line| line.contains(broken)).collect();
                        assert!(wrong.is_empty(), "`{broken}` in {wrong:#?}");
                    }
                    assert!(!text.lines().any(|line| line.trim_end().ends_with(" on")), "{text}");
                    let has_no_number = text.contains(NOT_MEASURED) || text.contains(ALL_CALLS);
                    assert_eq!(has_no_number, !is_measured, "{text}");
                }
            }
        }
    }
}

#[test]
fn a_change_says_what_it_does_to_its_call() {
    let report = with(1, &["GL8 reduce 4096"], vec![call("reduce", 4096, 2.5)]);
    assert_eq!(
        effect(&report.changes[0]),
        "MPI_Reduce of 4 KiB takes 2.00 us instead of 5.00 us, 2.50 [2.25, 2.75] times as fast"
    );
    assert_eq!(
        carried(&report.changes[0]).unwrap(),
        "2 KiB to 8191 B in the files, 2 measured sizes among them"
    );
    let several = with(3, &[], vec![call("reduce", 1024, 1.0), call("reduce", 4096, 4.0)]);
    assert_eq!(
        effect(&several.changes[0]),
        "2.00 times as fast in the geometric mean of 2 sizes of MPI_Reduce, from 1.00 (1 KiB) to 4.00 (4 KiB)"
    );
    let of_launches = with(0, &[], vec![call("bcast", 8, 1.0), call("reduce", 4096, 4.0)]);
    assert_eq!(
        effect(&of_launches.changes[0]),
        "2.00 times as fast in the geometric mean of 2 calls, from 1.00 (MPI_Bcast of 8 B) to 4.00 (MPI_Reduce of 4 KiB)"
    );
    assert_eq!(
        effect(&with(0, &[], vec![call("bcast", 8, 1.0)]).changes[0]),
        "MPI_Bcast of 8 B takes 2.00 us instead of 2.00 us, 1.00 [0.90, 1.10] times as fast, no difference shown"
    );
}

#[test]
fn a_report_of_before_keeps_its_gain() {
    let mut report = with(0, &["GL8 reduce 4096"], Vec::new());
    report.changes[0].gain = 2.16;
    assert_eq!(effect(&report.changes[0]), "2.16 times as fast");
}
