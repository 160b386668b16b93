//! A stored run that is gone through again.

use kilter::launch::Replay;

use super::*;

#[test]
fn a_stored_run_gives_the_same_report_again_and_starts_nothing() {
    let library = slow_reduce(|call| call.algorithm == 2).setting("x", "0", &["1"]);
    let (_directory, site) = site(library);
    let words: Vec<&str> = REDUCE.split(' ').collect();
    let run = site.tune(&words).unwrap();
    let again = site.tune_on(Box::new(Replay::default()), &words).unwrap();
    assert_eq!((again.jobs, again.seconds), (0, 0.0));
    assert_eq!(again.report.cells, run.report.cells);
    assert_eq!(again.report.changes, run.report.changes);
    // As text: a number that is none does not equal itself.
    let contests = |run: &Run| serde_json::to_string(&run.report.contests).unwrap();
    assert_eq!(contests(&again), contests(&run));
}

#[test]
fn what_was_never_stored_is_refused_and_named() {
    let (_directory, site) = site(ScriptedLibrary::new());
    let words: Vec<&str> = REDUCE.split(' ').collect();
    let error = site.tune_on(Box::new(Replay::default()), &words).unwrap_err();
    assert!(format!("{error:#}").contains("has no run of"), "{error:#}");
}
