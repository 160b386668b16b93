//! Targets for overlap.

use super::*;

const TARGET: &str = "--guidelines GL8 --sizes 1024 --targets OV_SENDER";

#[test]
fn a_target_that_holds_changes_nothing() {
    let run = tune(ScriptedLibrary::new(), TARGET);
    assert_eq!(run.report.targets[0].before, "holds");
    assert_eq!(changes(&run), [""; 0]);
}

#[test]
fn a_target_that_is_missed_is_met_by_the_progress_thread() {
    let library = ScriptedLibrary::new().hides(|_, _, settings| match settings.value("KILTER_PROGRESS") {
        "on" => 0.95,
        _ => 0.1,
    });
    let run = tune(library, TARGET);
    let target = &run.report.targets[0];
    assert_eq!(
        (target.before.as_str(), target.after.as_deref()),
        ("missed", Some("holds"))
    );
    assert!(
        changes(&run).contains(&"KILTER_PROGRESS=on".to_owned()),
        "{:?}",
        changes(&run)
    );
}

#[test]
fn what_meets_a_target_and_slows_a_collective_is_not_deployed() {
    let library = ScriptedLibrary::new()
        .hides(|_, _, settings| {
            if settings.value("KILTER_PROGRESS") == "on" {
                0.95
            } else {
                0.1
            }
        })
        .cost("reduce", |call, usual| {
            if call.is("KILTER_PROGRESS", "on") {
                1.5 * usual
            } else {
                usual
            }
        });
    let run = tune(library, TARGET);
    assert_eq!(changes(&run), [""; 0]);
    assert_eq!(run.report.targets[0].before, "missed");
}
