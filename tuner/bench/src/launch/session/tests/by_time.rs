//! Jobs that have to end before everything is answered.

use std::time::Duration;

use super::*;
use crate::launch::files;
use crate::launch::stand_in::gate;
use crate::launch::watch::Watch;

const NAMES: [&str; 8] = ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"];

/// Far more than a job takes on a busy machine.
const AMPLE: Duration = Duration::from_secs(600);

/// A session whose jobs are told to end after `time`, and have as long as `to_finish` then.
fn session<'r>(site: &Site, run: &'r Run, behaviour: &str, [time, to_finish]: [Duration; 2]) -> Session<'r> {
    let mut spec = spec("key", behaviour);
    spec.ends_by = Some(Instant::now() + time);
    spec.limits.finish_seconds = to_finish.as_secs_f64();
    Session::new(run, Path::new("worker"), site.directory.path(), spec).interrupted_by(quiet())
}

/// True if the first job was told to end.
fn is_told(site: &Site) -> bool {
    files::stop_path(&site.directory.path().join("run1-key-1.plan.jsonl")).exists()
}

#[test]
fn a_job_whose_time_is_over_ends_in_order_and_what_came_is_kept() {
    let site = Site::new();
    let run = site.run();
    let watch = Watch::default();
    // Told in its third block, it completes that one.
    let answered = 3;
    let mut session = session(&site, &run, "awaits-the-stop b3 left", [Duration::ZERO, AMPLE]).watched_by(&watch);
    let outcomes = session.measure_all(&blocks(&NAMES), &mut |_| ()).unwrap();
    let mut kept = NAMES.map(expected);
    kept[answered..].fill(BlockOutcome::default());
    assert_eq!(outcomes, kept);
    assert!(session.is_out_of_time());
    assert!(is_told(&site));
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
    // The first block is answered in that time.
    let to_finish = Duration::from_secs(2);
    let mut session = session(&site, &run, "waits b2 left", [Duration::ZERO, to_finish]);
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
    let mut session = session(&site, &run, "waits b2 left", [AMPLE; 2]);
    // The job goes on once the session has looked at it.
    let mut open = |_: &str| std::fs::write(gate(site.directory.path()), "").unwrap();
    let outcomes = session.measure_all(&blocks(&NAMES), &mut open).unwrap();
    assert_eq!(outcomes, NAMES.map(expected));
    assert!(!session.is_out_of_time());
    assert!(!is_told(&site));
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
