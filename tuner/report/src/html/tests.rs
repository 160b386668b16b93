//! The page is well-formed, escapes what comes from outside, and says what the report says.

use kilter_fixtures::markup::{check_page, check_tags};
use kilter_fixtures::report as fixture;
use kilter_stats::verdict::Outcome;

use super::*;

fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page
        .find(&format!("<section id=\"{id}\""))
        .unwrap_or_else(|| panic!("no section {id}"));
    let end = page[start..]
        .find("</section>")
        .unwrap_or_else(|| panic!("section {id} has no end"));
    &page[start..start + end]
}

#[test]
fn every_kind_of_report_is_well_formed_and_fetches_nothing() {
    for report in [
        fixture::empty(),
        fixture::holding(),
        fixture::checked(),
        fixture::tuned(),
    ] {
        let page = render(&report).unwrap();
        check_page(&page);
        assert!(!page.contains("NaN") && !page.contains("inf%"), "a number leaked");
    }
}

#[test]
fn maps_of_overlap_stand_under_the_targets_in_the_same_file() {
    use kilter_fixtures::survey as overlap;
    use kilter_model::survey::BeforeAndAfter;

    let survey = overlap::without_threads();
    let mut report = fixture::tuned();
    assert!(!render(&report).unwrap().contains("id=\"overlap\""));
    report.overlap = Some(BeforeAndAfter {
        is_grid: false,
        before: survey.clone(),
        after: Some(survey.clone()),
    });
    let page = render_with(&report, Some(&survey)).unwrap();
    check_page(&page);
    assert_eq!(section(&page, "overlap").matches("class=\"plot heat\"").count(), 3 * 6);
    assert!(page.contains("<a href=\"#overlap\">Maps</a>"));
}

#[test]
fn text_from_outside_is_escaped() {
    const EVIL: &str = "<script>alert(1)</script>\"'&\u{1b}";
    let mut report = fixture::tuned();
    report.library.name = EVIL.to_owned();
    report.provenance.library_string = EVIL.to_owned();
    report.provenance.hosts = vec![EVIL.to_owned()];
    report.provenance.command_line = EVIL.to_owned();
    report.warnings = vec![EVIL.to_owned()];
    for cell in &mut report.cells {
        cell.guideline.push_str(EVIL);
        cell.expression = format!("{EVIL} <= {EVIL}");
        cell.function.push_str(EVIL);
        cell.kind.push_str(EVIL);
        cell.unfixed_because = Some(EVIL.to_owned());
        if let Some(fix) = &mut cell.fix {
            fix.id = EVIL.to_owned();
        }
    }
    for change in &mut report.changes {
        (change.name, change.value, change.file, change.why) = (EVIL.into(), EVIL.into(), EVIL.into(), EVIL.into());
        change.cells = vec![EVIL.to_owned()];
    }
    for contest in &mut report.contests {
        contest.function = EVIL.to_owned();
        for candidate in &mut contest.candidates {
            candidate.id = EVIL.to_owned();
        }
    }
    for candidate in &mut report.quarantined {
        (candidate.id, candidate.detail) = (EVIL.into(), EVIL.into());
    }
    let page = render(&report).unwrap();
    let tags = check_tags(&page);
    assert_eq!(
        tags.iter().filter(|tag| tag.starts_with("script")).count(),
        1,
        "only the page's own script"
    );
    assert!(!page.contains("alert(1)</script>"));
    assert!(page.contains("alert(1)"), "the text itself is shown");
}

#[test]
fn the_answer_comes_first() {
    let page = render(&fixture::tuned()).unwrap();
    let answer = section(&page, "answer");
    assert!(
        answer.contains("<h1>5 of 48 calls became faster: 1.09 times in the geometric mean of all, up to 3.3 (MPI_Reduce of 512 KiB); none became slower</h1>\n<p class=\"second\">10 violations before, 1 after, 1 undecided.</p>"),
        "{answer}"
    );
    assert!(answer.contains("<code>btl_vader_eager_limit</code>"));
    assert!(answer.contains("<code>32768</code>: MPI_Reduce of 4 KiB takes 1.70 µs instead of 3.67 µs, 2.16 [2.10, 2.23] times as fast. For GL8 MPI_Reduce at 4 KiB."));
    assert!(answer.contains("MPI_Scan, 256 KiB to 512 KiB now runs <code>scan.pipelined_chain</code>"));
    let order = [
        "answer",
        "gains",
        "changes",
        "violations",
        "figures",
        "matrix",
        "guidelines",
        "contests",
        "unfixed",
        "quarantined",
    ];
    let places: Vec<_> = order
        .iter()
        .map(|id| page.find(&format!("<section id=\"{id}\"")))
        .collect();
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}");
    assert!(section(&page, "unfixed").contains("no candidate reached the bound"));
    assert!(section(&page, "quarantined").contains("ended by signal 11"));
}

#[test]
fn many_changes_are_listed_below_the_picture_alone() {
    let mut report = fixture::tuned();
    let first = report.changes[0].clone();
    report.changes.resize(9, first);
    let page = render(&report).unwrap();
    check_page(&page);
    assert_eq!(section(&page, "answer").matches("<li>").count(), 6);
    assert!(section(&page, "answer").contains("<a href=\"#changes\">3 more of the deployed changes</a>"));
    assert_eq!(section(&page, "changes").matches("<article").count(), 9);
}

/// A name that is longer than the column breaks there: with `break-word` it would widen the table beyond the page's edge.
#[test]
fn long_fixes_break_in_their_column() {
    let page = render(&fixture::tuned()).unwrap();
    for selector in [".violated .fix {", ".violated .fix code {"] {
        let rules = page.split(selector).nth(1).and_then(|rest| rest.split('}').next());
        assert!(
            rules.unwrap().contains("overflow-wrap: anywhere"),
            "{selector} {rules:?}"
        );
    }
}

#[test]
fn a_report_of_holds_has_nothing_to_explain() {
    let page = render(&fixture::holding()).unwrap();
    assert!(section(&page, "answer").contains("No violations: every guideline holds at every size"));
    assert!(page.contains("class=\"answer good\""));
    for absent in ["figures", "violations", "changes", "contests", "unfixed"] {
        assert!(!page.contains(&format!("<section id=\"{absent}\"")), "{absent}");
    }
    assert!(render(&fixture::empty()).unwrap().contains("Nothing was measured"));
}

#[test]
fn a_check_shows_one_panel_and_a_tuned_report_two() {
    let checked = render(&fixture::checked()).unwrap();
    let tuned = render(&fixture::tuned()).unwrap();
    let panels = |page: &str| section(page, "figures").matches("class=\"plot\"").count();
    assert_eq!(panels(&tuned), 2 * panels(&checked));
    assert!(!checked.contains("before, "), "nothing was done, so there is no before");
}

#[test]
fn samples_that_are_missing_do_not_break_the_figure() {
    let mut report = fixture::checked();
    for cell in &mut report.cells {
        if cell.guideline == "GL8" {
            cell.before.seconds = f64::NAN;
            cell.before.right_seconds = 0.0;
            cell.before.ratio = f64::INFINITY;
            cell.before.verdict = Outcome::Violated;
        }
    }
    report.cells[0].bytes = 0;
    check_tags(&render(&report).unwrap());
}
