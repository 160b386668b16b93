use kilter_fixtures::report as fixture;
use kilter_model::report::TargetReport;
use kilter_stats::verdict::Outcome;

use super::*;

#[test]
fn what_the_time_did_not_reach_is_not_said_to_hold() {
    let mut report = fixture::holding();
    assert!(
        Summary::of(&report)
            .headline()
            .starts_with("No violations: every guideline holds")
    );
    report.unreached.insert("bcast(n) @8".to_owned());
    assert_eq!(
        Summary::of(&report).headline(),
        "No violations found, 1 side not measured"
    );
    for cell in &mut report.cells {
        cell.before.verdict = Outcome::Screened;
    }
    assert!(!Summary::of(&report).headline().contains("hold"));
}

#[test]
fn a_line_names_a_dozen_and_how_many_more_there_are() {
    let mut report = fixture::holding();
    let line = |report: &Report| not_verified(report).pop();
    for number in 10..22 {
        report
            .not_verified
            .insert(format!("bcast(n) @{number}"), "no time".to_owned());
    }
    let dozen = line(&report).unwrap();
    assert!(dozen.ends_with("bcast(n) @20, bcast(n) @21"), "{dozen}");
    for number in 22..24 {
        report
            .not_verified
            .insert(format!("bcast(n) @{number}"), "no time".to_owned());
    }
    let more = line(&report).unwrap();
    assert_eq!(more, format!("{dozen} and 2 more (report.json names all)"));
}

#[test]
fn a_tuned_report_is_counted() {
    let report = fixture::tuned();
    let summary = Summary::of(&report);
    assert_eq!(summary.headline(), "10 violations before, 1 after, 1 undecided");
    assert_eq!(
        (summary.fixed, summary.remaining, summary.introduced, summary.unproven),
        (8, 1, 0, 1)
    );
    let order: Vec<_> = summary.groups.iter().map(|group| group.guideline).collect();
    assert_eq!(order.first(), Some(&"GL1"));
    assert_eq!(order.last(), Some(&"GL16"));
}

#[test]
fn the_headline_says_what_is_not_certain() {
    let headline = |report: &Report| Summary::of(report).headline();
    assert_eq!(headline(&fixture::empty()), "Nothing was measured");
    assert_eq!(headline(&fixture::checked()), "10 violations found");
    let mut report = fixture::holding();
    assert_eq!(headline(&report), "No violations: every guideline holds at every size");
    report.cells[0].before.verdict = Outcome::Unstable;
    assert_eq!(headline(&report), "No violations found, 1 cell undecided");
    report.cells[1].after = Some(report.cells[1].before.clone());
    assert_eq!(headline(&report), "0 violations before, 0 after");
}

#[test]
fn what_only_a_faster_bound_violates_is_told_from_what_became_slower() {
    let mut report = fixture::holding();
    let mut after = report.cells[0].before.clone();
    after.verdict = Outcome::Violated;
    report.cells[0].after = Some(after.clone());
    let summary = Summary::of(&report);
    assert_eq!((summary.introduced, summary.outpaced), (1, 1));
    assert_eq!(
        summary.headline(),
        "0 violations before, 1 after (1 by bounds that became faster)"
    );
    after.seconds *= 1.5;
    report.cells[0].after = Some(after);
    let summary = Summary::of(&report);
    assert_eq!((summary.introduced, summary.outpaced), (1, 0));
    assert_eq!(summary.headline(), "0 violations before, 1 after");
}

#[test]
fn the_headline_counts_targets() {
    let target = |before: &str, after: Option<&str>, attainable| TargetReport {
        target: "OV_SENDER".to_owned(),
        benchmark: "sender".to_owned(),
        statement: String::new(),
        stated_for: String::new(),
        before: before.to_owned(),
        after: after.map(str::to_owned),
        fix: None,
        unmet_because: None,
        attainable,
        cells: Vec::new(),
        candidates: Vec::new(),
    };
    let headline = |targets: Vec<TargetReport>| {
        let report = Report {
            targets,
            ..fixture::tuned()
        };
        let headline = Summary::of(&report).headline();
        let cells = "10 violations before, 1 after, 1 undecided";
        headline.strip_prefix(cells).unwrap().to_owned()
    };
    assert_eq!(headline(Vec::new()), "");
    assert_eq!(
        headline(vec![
            target("missed", Some("holds"), true),
            target("missed", Some("undecided"), true),
            target("holds", Some("holds"), true),
            target("missed", Some("missed"), false),
        ]),
        "; 2 of 4 overlap targets missed before, 0 after, 1 undecided, 1 not attainable here"
    );
    assert_eq!(
        headline(vec![target("missed", None, true), target("holds", None, true)]),
        "; 1 of 2 overlap targets missed"
    );
    assert_eq!(
        headline(vec![
            target("not measured", None, true),
            target("undecided", None, false)
        ]),
        "; 0 of 2 overlap targets missed, 1 not measured, 1 not attainable here"
    );
    assert_eq!(
        headline(vec![target("holds", None, true)]),
        "; the overlap target holds"
    );
}
