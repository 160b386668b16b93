//! `report.xml`: the cells and targets as tests in JUnit's form, for a site's continuous integration.
//!
//! A suite for each guideline and function, a test for each size, and a suite of the targets for overlap. What makes the command end
//! with 1 has failed: a cell that is violated now, or was and is not shown to hold; a target that is missed and could be met here. What
//! the samples do not decide, and what is out of reach on this machine, is skipped, with the reason: a report without it would say more
//! than is known. The first lines of the other reports are the name of the whole.

use std::fmt::Write as _;

use kilter_model::report::{Cell, Report, TargetReport};
use kilter_render::format;
use kilter_render::quoting::escape;

use super::summary::{Standing, Summary, current, is_left};

/// Result of a test.
enum Ending {
    Passed,
    Failed(String),
    Skipped(String),
}

/// A test: its name and what became of it.
type Test = (String, Ending);

/// The report as XML with a final newline.
pub fn to_string(report: &Report) -> String {
    let summary = Summary::of(report);
    let mut suites: Vec<(String, Vec<Test>)> = summary
        .groups
        .iter()
        .map(|group| {
            let name = format!("{} {}", group.guideline, group.expression);
            (name, group.cells.iter().map(|cell| of_cell(cell)).collect())
        })
        .collect();
    if !report.targets.is_empty() {
        let name = "Overlap of communication and computation".to_owned();
        suites.push((name, report.targets.iter().map(of_target).collect()));
    }
    let all = || suites.iter().flat_map(|(_, tests)| tests);
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        r#"<testsuites name="{}" {}>"#,
        escape(&format!("kilter {}: {}", report.command, summary.one_line())),
        counts(all())
    );
    for (name, tests) in &suites {
        let _ = writeln!(
            out,
            r#"  <testsuite name="{}" {} timestamp="{}">"#,
            escape(name),
            counts(tests.iter()),
            escape(report.provenance.started.trim_end_matches('Z'))
        );
        for test in tests {
            write_test(&mut out, name, test);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts<'a>(tests: impl Iterator<Item = &'a Test>) -> String {
    let (mut all, mut failures, mut skipped) = (0, 0, 0);
    for (_, result) in tests {
        all += 1;
        failures += usize::from(matches!(result, Ending::Failed(_)));
        skipped += usize::from(matches!(result, Ending::Skipped(_)));
    }
    format!(r#"tests="{all}" failures="{failures}" errors="0" skipped="{skipped}""#)
}

fn write_test(out: &mut String, suite: &str, (name, result): &Test) {
    let _ = write!(
        out,
        r#"    <testcase classname="{}" name="{}""#,
        escape(suite),
        escape(name)
    );
    let _ = match result {
        Ending::Passed => writeln!(out, "/>"),
        Ending::Failed(why) => writeln!(out, r#"><failure message="{}"/></testcase>"#, escape(why)),
        Ending::Skipped(why) => writeln!(out, r#"><skipped message="{}"/></testcase>"#, escape(why)),
    };
}

fn of_cell(cell: &Cell) -> Test {
    let now = current(cell);
    let numbers = format!(
        "{}: ratio {} {}, p {} adjusted; {} against {}",
        Standing::of(cell).words(),
        format::ratio(now.ratio),
        format::interval(now.ratio_ci),
        format::p_value(now.p_adjusted),
        format::seconds(now.seconds),
        format::seconds(now.right_seconds)
    );
    let said = match Standing::of(cell) {
        standing @ Standing::NotAgain => standing.words().to_owned(),
        _ => numbers,
    };
    let because = |reason: &Option<String>| match reason {
        Some(reason) => format!("{said}; {reason}"),
        None => said.clone(),
    };
    let result = match Standing::of(cell) {
        Standing::Holds | Standing::Fixed => Ending::Passed,
        Standing::Violated | Standing::Introduced | Standing::Unproven => {
            Ending::Failed(because(&cell.unfixed_because))
        }
        Standing::NotAgain if is_left(cell) => Ending::Failed(because(&cell.not_measured_again)),
        Standing::NotAgain => Ending::Skipped(because(&cell.not_measured_again)),
        Standing::Undecided | Standing::Unstable | Standing::Screened => Ending::Skipped(because(&cell.note)),
    };
    let name = match cell.right_bytes {
        Some(right) => format!("{} : {}", format::bytes(cell.bytes), format::bytes(right)),
        None => format::bytes(cell.bytes),
    };
    (format!("{name}, {}", format::count(cell.ranks, "rank")), result)
}

fn of_target(target: &TargetReport) -> Test {
    let now = target.after.as_ref().unwrap_or(&target.before);
    let said = match &target.unmet_because {
        Some(because) => format!("{now}: {}; {because}", target.statement),
        None => format!("{now}: {}", target.statement),
    };
    let result = match now.as_str() {
        "holds" => Ending::Passed,
        _ if target.is_missed() => Ending::Failed(said),
        _ => Ending::Skipped(said),
    };
    (target.target.clone(), result)
}

#[cfg(test)]
mod tests {
    use kilter_fixtures::report as fixture;

    use super::*;
    use kilter_fixtures::markup::check_tags;

    fn target(id: &str, before: &str, attainable: bool) -> TargetReport {
        TargetReport {
            target: id.to_owned(),
            benchmark: "sender".to_owned(),
            statement: "ratio <= 0.2".to_owned(),
            stated_for: String::new(),
            before: before.to_owned(),
            after: None,
            fix: None,
            unmet_because: (!attainable).then(|| "not attainable here, because no core is spare".to_owned()),
            attainable,
            cells: Vec::new(),
            candidates: Vec::new(),
        }
    }

    #[test]
    fn what_ends_the_command_with_one_has_failed_and_what_is_open_is_skipped() {
        let mut report = fixture::tuned();
        report.targets = vec![
            target("OV_A", "holds", true),
            target("OV_B", "missed", true),
            target("OV_C", "missed", false),
            target("OV_D", "undecided", true),
        ];
        let xml = to_string(&report);
        // 177 cells: one violated, one no longer and not shown to hold; 10 others undecided and one unstable.
        let heading = xml.lines().nth(1).unwrap();
        assert_eq!(
            heading,
            "<testsuites name=\"kilter check: 5 of 48 calls became faster: 1.09 times in the geometric mean of all, up to 3.3 (MPI_Reduce of 512 KiB); \
             none became slower; 10 violations before, 1 after, 1 undecided; 1 of 4 overlap targets missed, 1 undecided, 1 not attainable here\" tests=\"181\" failures=\"3\" errors=\"0\" skipped=\"13\">"
                .replace("kilter check", &format!("kilter {}", report.command))
        );
        let of = |name: &str| {
            let line = xml.lines().find(|line| line.contains(&format!("name=\"{name}\"")));
            line.unwrap_or_else(|| panic!("no test {name}")).trim().to_owned()
        };
        let suite = "<testcase classname=\"Overlap of communication and computation\"";
        assert_eq!(of("OV_A"), format!("{suite} name=\"OV_A\"/>"));
        assert_eq!(
            of("OV_B"),
            format!("{suite} name=\"OV_B\"><failure message=\"missed: ratio &lt;= 0.2\"/></testcase>")
        );
        assert!(of("OV_C").contains("<skipped message=\"missed: ratio &lt;= 0.2; not attainable here, because"));
        assert!(of("OV_D").contains("<skipped "));
        assert!(of("1 B : 2 B, 2 ranks").contains("<failure message=\"violated: ratio 2.61 [2.54, 2.69]"));
        check_tags(xml.split_once("?>").unwrap().1);
    }

    #[test]
    fn what_was_not_measured_again_has_failed_where_it_was_violated() {
        let mut report = fixture::tuned();
        let is_fixed = |cell: &&mut Cell| Standing::of(cell) == Standing::Fixed;
        let fixed = report.cells.iter_mut().find(is_fixed).unwrap();
        (fixed.after, fixed.not_measured_again) = (None, Some("the budget ended".to_owned()));
        let held = report
            .cells
            .iter_mut()
            .find(|cell| Standing::of(cell) == Standing::Holds)
            .unwrap();
        (held.after, held.not_measured_again) = (None, Some("the budget ended".to_owned()));
        let xml = to_string(&report);
        let ends = |how: &str| {
            let lines = xml
                .lines()
                .filter(|line| line.contains(how) && line.contains("; the budget ended"));
            lines.count()
        };
        assert_eq!(
            (
                ends("<failure message=\"not measured again"),
                ends("<skipped message=\"not measured again")
            ),
            (1, 1)
        );
    }

    #[test]
    fn a_report_without_cells_has_no_suites_and_odd_text_is_escaped() {
        let mut report = fixture::empty();
        assert_eq!(
            to_string(&report),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites name=\"kilter check: Nothing was measured\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\">\n\
             </testsuites>\n"
        );
        report.targets = vec![target("<a \"b\" & \u{1}", "holds", true)];
        assert!(to_string(&report).contains("name=\"&lt;a &quot;b&quot; &amp; \u{fffd}\"/>"));
    }
}
