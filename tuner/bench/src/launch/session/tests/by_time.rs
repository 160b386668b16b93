//! Jobs that have to end before everything is answered.

use super::super::super::watch::Watch;
use super::*;

const NAMES: [&str; 8] = ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"];

/// A session whose time is over at once: its jobs have the least that any job has.
fn session<'r>(site: &Site, run: &'r Run, behaviour: &str) -> Session<'r> {
    let mut spec = spec("key", behaviour);
    spec.ends_by = Some(Instant::now());
    spec.limits.finish_seconds = 0.4;
    Session::new(run, Path::new("worker"), site.directory.path(), spec).interrupted_by(quiet())
}

#[test]
fn a_job_whose_time_is_over_ends_in_order_and_what_came_is_kept() {
    let site = Site::new();
    let run = site.run();
    let watch = Watch::default();
    // A fifth of a second for each block.
    let mut session = session(&site, &run, "dawdles").watched_by(&watch);
    let outcomes = session.measure_all(&blocks(&NAMES), &mut |_| ()).unwrap();
    let answered = outcomes.iter().filter(|one| **one != BlockOutcome::default()).count();
    assert!((1..6).contains(&answered), "{answered} of {}", NAMES.len());
    for (name, outcome) in NAMES.iter().zip(&outcomes[..answered]) {
        assert_eq!(*outcome, expected(name));
    }
    assert!(session.is_out_of_time());
    // Further questions start no job.
    assert_eq!(session.measure(&block("b9")).unwrap(), BlockOutcome::default());
    assert_eq!(session.finish().unwrap().dropin_calls["blocks"], answered as u64);
    assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["ended"]);
    site.nobody_is_left();
    let told = watch.news();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].unanswered, NAMES.len() - answered);
    // A later command asks only for what is missing.
    let mut later = site.session(&run, "good");
    let all = later.measure_all(&blocks(&NAMES), &mut |_| ()).unwrap();
    assert_eq!(all, NAMES.map(expected));
    assert_eq!(site.asked(2), NAMES[answered..]);
}

#[test]
fn a_block_that_goes_on_and_on_is_not_waited_for_and_is_no_failure() {
    let site = Site::new();
    let run = site.run();
    let mut session = session(&site, &run, "waits b2 left");
    let outcomes = session.measure_all(&blocks(&["b1", "b2", "b3"]), &mut |_| ()).unwrap();
    assert_eq!(
        outcomes,
        [expected("b1"), BlockOutcome::default(), BlockOutcome::default()]
    );
    session.finish().unwrap();
    assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["ended by time"]);
    assert_eq!(run.failures().unwrap(), []);
    site.nobody_is_left();
}

#[test]
fn a_job_that_ends_in_time_is_left_alone() {
    let site = Site::new();
    let run = site.run();
    let mut session = session(&site, &run, "good");
    let outcomes = session.measure_all(&blocks(&NAMES), &mut |_| ()).unwrap();
    assert_eq!(outcomes, NAMES.map(expected));
    assert!(!session.is_out_of_time());
    session.finish().unwrap();
}

#[test]
fn a_resumed_run_may_ask_something_else_by_the_same_name() {
    let site = Site::new();
    let run = site.run();
    let asked = block("b1");
    site.session(&run, "good").measure(&asked).unwrap();
    let mut other = asked.clone();
    other.items[1].bytes = 8;
    let mut resumed = site.session(&run, "good");
    let outcome = resumed.measure(&other).unwrap();
    assert_eq!(outcome.samples.len(), 2);
    assert_ne!(outcome, expected("b1"), "another question has an answer of its own");
    // Both are known from now on.
    assert_eq!(resumed.measure(&other).unwrap(), outcome);
    assert_eq!(site.session(&run, "good").measure(&asked).unwrap(), expected("b1"));
    assert_eq!(run.launch_count().unwrap(), 2);
}
