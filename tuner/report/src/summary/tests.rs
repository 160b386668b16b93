use kilter_fixtures::report as fixture;
use kilter_model::report::{CallGain, Gain, GainVerdict, TargetReport};
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
    let gain = "5 of 48 calls became faster: 1.09 times in the geometric mean of all, up to 3.3 (MPI_Reduce of 512 KiB); none became slower";
    let kept = "10 violations before, 1 after, 1 undecided";
    assert_eq!(summary.headline(), gain);
    assert_eq!(summary.second().as_deref(), Some(kept));
    assert_eq!(summary.one_line(), format!("{gain}; {kept}"));
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

/// The gains of a report whose calls have these factors, in one line.
fn gains(factors: &[f64]) -> Option<String> {
    let mut report = fixture::tuned();
    let template = report.gains[0].clone();
    let call = |(place, factor): (usize, &f64)| CallGain {
        bytes: 8 << place,
        factor: *factor,
        verdict: match *factor {
            factor if factor > 1.05 => GainVerdict::Faster,
            factor if factor < 0.95 => GainVerdict::Slower,
            _ => GainVerdict::Same,
        },
        ..template.clone()
    };
    report.gains = factors.iter().enumerate().map(call).collect();
    report.gain = Gain::of(&report.gains);
    Summary::of(&report).gain
}

#[test]
fn the_first_line_says_what_became_faster_and_what_slower() {
    let line = |factors: &[f64]| gains(factors).unwrap();
    assert_eq!(gains(&[]), None);
    assert_eq!(
        line(&[3.8, 1.0, 1.25]),
        "2 of 3 calls became faster: 1.7 times in the geometric mean of all, up to 3.8 (MPI_Bcast of 8 B); none became slower"
    );
    assert_eq!(
        line(&[3.8]),
        "1 of 1 call became faster: 3.8 times (MPI_Bcast of 8 B); none became slower"
    );
    assert_eq!(line(&[1.0, 1.01]), "None of 2 calls became faster; none became slower");
    assert_eq!(
        line(&[2.0, 0.8, 0.5]),
        "1 of 3 calls became faster: 0.93 times in the geometric mean of all, up to 2.0 (MPI_Bcast of 8 B); 2 became slower: \
         MPI_Bcast of 32 B (takes 2.0 times as long), MPI_Bcast of 16 B (takes 1.2 times as long)"
    );
    assert!(line(&[0.5, 0.6, 0.7, 0.8, 0.9]).ends_with("MPI_Bcast of 32 B (takes 1.4 times as long), 2 more"));
}

#[test]
fn what_was_not_measured_again_is_counted_apart() {
    let mut report = fixture::tuned();
    let fixed: Vec<usize> = (0..report.cells.len())
        .filter(|place| Standing::of(&report.cells[*place]) == Standing::Fixed)
        .collect();
    for place in fixed.into_iter().take(3) {
        (report.cells[place].after, report.cells[place].not_measured_again) =
            (None, Some("the budget ended".to_owned()));
    }
    let holds = report
        .cells
        .iter_mut()
        .find(|cell| Standing::of(cell) == Standing::Holds)
        .unwrap();
    (holds.after, holds.not_measured_again) = (None, Some("the budget ended".to_owned()));
    let summary = Summary::of(&report);
    assert_eq!(
        summary.second().unwrap(),
        "10 violations before, 1 after, 1 undecided, 3 not measured again: the budget ended"
    );
    assert_eq!((summary.remaining, summary.fixed, summary.left), (1, 5, 3));
    let now = summary.after.unwrap();
    assert_eq!((now.violated, now.not_again, now.total()), (1, 4, report.cells.len()));
    let text = crate::terminal::table(&report);
    assert!(
        text.contains("not measured again") && text.contains(", 4 not measured again."),
        "{text}"
    );
    let unfixed = text
        .lines()
        .filter(|line| line.ends_with("not measured again with what is deployed: the budget ended"));
    assert_eq!(unfixed.count(), 3, "{text}");
    let first = report.cells.iter_mut().find(|cell| is_left(cell)).unwrap();
    first.not_measured_again = Some("scan(n) @8: wrong data".to_owned());
    assert!(
        Summary::of(&report)
            .second()
            .unwrap()
            .ends_with(", 3 not measured again")
    );
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
        let headline = Summary::of(&report).second().unwrap();
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
