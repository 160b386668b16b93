//! Seconds of the scripted clock.

use super::*;

const MANY: &str = "--guidelines GL8,GL10,GL12,GL13 --sizes 1..64KiB:x4";

#[test]
fn a_budget_that_ends_in_the_middle_says_what_was_only_screened() {
    let run = tune(slow_reduce(|_| false), &format!("{MANY} --budget 20"));
    let screened = run
        .report
        .cells
        .iter()
        .filter(|cell| cell.before.verdict == Outcome::Screened);
    assert!(screened.count() > 0);
    assert!(
        run.report.warnings.iter().any(|text| text.contains("raise --budget")),
        "{:?}",
        run.report.warnings
    );
    assert!(run.seconds < 23.0, "{}", run.seconds);
}

#[test]
fn the_same_command_with_seconds_enough_screens_nothing_alone() {
    let run = tune(slow_reduce(|_| false), MANY);
    assert!(
        run.report
            .cells
            .iter()
            .all(|cell| cell.before.verdict != Outcome::Screened)
    );
    assert!(is_mended(&run, SLOW));
    assert!(run.seconds < 600.0, "{}", run.seconds);
}
