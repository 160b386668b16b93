//! A stored run that is gone through again.

use kilter_bench::launch::Replay;

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
    // As text: a ratio that nothing was measured for is not a number, and so not equal to itself.
    let contests = |run: &Run| serde_json::to_string(&run.report.contests).unwrap();
    assert_eq!(contests(&again), contests(&run));
}

/// The run is gone through by a description with one setting more, as a newer release may have.
#[test]
fn what_a_newer_release_would_ask_is_refused_and_named() {
    let library = || slow_reduce(|call| call.algorithm == 2).setting("x", "0", &["1"]);
    let (directory, site) = site(library());
    let words: Vec<&str> = REDUCE.split(' ').collect();
    site.tune(&words).unwrap();
    let newer = Site::new(directory.path(), library().setting("more", "0", &["1"])).unwrap();
    let error = newer.tune_on(Box::new(Replay::default()), &words).unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("more=1"), "{text}");
}

#[test]
fn what_was_never_stored_is_refused_and_named() {
    let (_directory, site) = site(ScriptedLibrary::new());
    let words: Vec<&str> = REDUCE.split(' ').collect();
    let error = site.tune_on(Box::new(Replay::default()), &words).unwrap_err();
    assert!(format!("{error:#}").contains("has no run of"), "{error:#}");
}
