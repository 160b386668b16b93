//! Jobs that have to end before everything is answered. Where time runs out, it is that of a scripted clock.

use std::rc::Rc;
use std::time::{Duration, Instant};

use kilter_protocol::plan::{Header, Item};

use super::*;
use crate::launch::bench::Bench as _;
use crate::launch::command::CommandSpec;
use crate::launch::files;
use crate::launch::scripted::{Ends, Launched, Noise, Play, Played, RowEnds, Script, Scripted};
use crate::launch::stand_in::gate;
use crate::launch::watch::Watch;

const NAMES: [&str; 8] = ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"];

/// Far more than a job takes on a busy machine.
const AMPLE: Duration = Duration::from_secs(600);

/// Time from the launch until a job is told to end: that of some blocks of [`block`]'s size by [`ByBytes`].
const TIME: Duration = Duration::from_secs(1);

/// A script in which a repetition takes a microsecond for each byte.
#[derive(Debug)]
struct ByBytes;

impl Script for ByBytes {
    fn launch(&self, _command: &CommandSpec, _header: &Header) -> Launched {
        Launched::Runs {
            start: Box::default(),
            play: Box::new(ByBytes),
        }
    }

    fn verified(&self, _row: &str) -> RowEnds {
        RowEnds::Missing
    }
}

impl Play for ByBytes {
    fn item(&self, item: &Item) -> Played {
        Played {
            ends: Ends::Takes(item.bytes as f64 * 1e-6),
            dropin: vec!["items".to_owned()],
            ..Played::default()
        }
    }
}

/// The blocks of these names, of which one takes longer: as many seconds for each repetition of an item.
fn blocks_with_a_long_one(names: &[&str], long: &str, seconds: u64) -> Vec<Block> {
    let mut all = blocks(names);
    for block in all.iter_mut().filter(|block| block.id == long) {
        block.items.iter_mut().for_each(|item| item.bytes = seconds * 1_000_000);
    }
    all
}

/// A job that is told to end at this time, and has as long as `to_finish` then.
fn timed(behaviour: &str, ends_by: Instant, to_finish: Duration) -> JobSpec {
    let mut spec = spec("key", behaviour);
    spec.ends_by = Some(ends_by);
    spec.limits.finish_seconds = to_finish.as_secs_f64();
    spec
}

/// A session with this job.
fn session<'r>(site: &Site, run: &'r Run, spec: JobSpec) -> Session<'r> {
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
    let bench = Scripted::new(Rc::new(ByBytes), Noise::none());
    let spec = timed("scripted", bench.clock().now() + TIME, AMPLE);
    let mut session = session(&site, &run, spec).on(&bench).watched_by(&watch);
    // Told in its third block, it completes that one.
    let answered = 3;
    let asked = blocks_with_a_long_one(&NAMES, "b3", 2);
    let outcomes = session.measure_all(&asked, &mut |_| ()).unwrap();
    for (number, outcome) in outcomes.iter().enumerate() {
        assert_eq!(*outcome != BlockOutcome::default(), number < answered, "{number}");
    }
    assert!(session.is_out_of_time());
    assert!(is_told(&site));
    // Further questions start no job.
    assert_eq!(session.measure(&block("b9")).unwrap(), BlockOutcome::default());
    assert_eq!(session.finish().unwrap().dropin_calls["items"], 2 * answered as u64);
    assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["ended"]);
    let told = watch.news();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].unanswered, NAMES.len() - answered);
    // A later command asks only for what is missing.
    let mut later = site.session(&run, "good");
    let all = later.measure_all(&asked, &mut |_| ()).unwrap();
    assert_eq!(all[..answered], outcomes[..answered]);
    assert_eq!(all[answered..], NAMES.map(expected)[answered..]);
    assert_eq!(site.asked(2), NAMES[answered..]);
}

#[test]
fn a_block_that_goes_on_and_on_is_not_waited_for_and_is_no_failure() {
    let site = Site::new();
    let run = site.run();
    let bench = Scripted::new(Rc::new(ByBytes), Noise::none());
    let clock = bench.clock();
    let to_finish = Duration::from_secs(2);
    let spec = timed("scripted", clock.now() + TIME, to_finish);
    let mut session = session(&site, &run, spec).on(&bench);
    let asked = blocks_with_a_long_one(&["b1", "b2", "b3"], "b2", 3600);
    let outcomes = session.measure_all(&asked, &mut |_| ()).unwrap();
    assert_ne!(outcomes[0], BlockOutcome::default());
    assert_eq!(outcomes[1..], [BlockOutcome::default(), BlockOutcome::default()]);
    session.finish().unwrap();
    assert_eq!(clock.elapsed().as_secs(), (TIME + to_finish).as_secs());
    assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["ended by time"]);
    assert_eq!(run.failures().unwrap(), []);
}

#[test]
fn a_job_that_ends_in_time_is_left_alone() {
    let site = Site::new();
    let run = site.run();
    let mut session = session(&site, &run, timed("waits b2 left", Instant::now() + AMPLE, AMPLE));
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
