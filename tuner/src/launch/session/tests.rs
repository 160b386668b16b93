use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use kilter_protocol::plan::PlanLine;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::proc_table::Family;
use super::super::process::TAG_VARIABLE;
use super::super::stand_in::{block, gate, seconds, spec};
use super::*;
use crate::store::Store;

/// A directory with a database; what was there before goes on.
struct Site {
    directory: tempfile::TempDir,
}

impl Site {
    fn new() -> Site {
        Site {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn store(&self) -> Store {
        Store::open(&self.directory.path().join("kilter.db")).unwrap()
    }

    fn run(&self) -> Run {
        run(&self.store())
    }

    fn session<'r>(&self, run: &'r Run, behaviour: &str) -> Session<'r> {
        Session::new(run, Path::new("worker"), self.directory.path(), spec("key", behaviour)).interrupted_by(quiet())
    }

    fn sql<T: rusqlite::types::FromSql>(&self, sql: &str) -> Vec<T> {
        let connection = rusqlite::Connection::open(self.directory.path().join("kilter.db")).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    /// Blocks that the worker of this attempt was asked.
    fn asked(&self, attempt: u32) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory.path().join(format!("run1-key-{attempt}.plan.jsonl")));
        text.unwrap_or_default()
            .lines()
            .filter_map(|line| match serde_json::from_str(line).unwrap() {
                PlanLine::Block(block) => Some(block.id),
                _ => None,
            })
            .collect()
    }

    /// Fails if any process of any launch is left.
    fn nobody_is_left(&self) {
        for tag in self.sql::<String>("SELECT tag FROM launches") {
            let members = Family::new(None, format!("{TAG_VARIABLE}={tag}")).members();
            assert!(members.is_empty(), "{members:?}");
        }
    }
}

fn run(store: &Store) -> Run {
    store
        .begin_or_resume("fingerprint", 42, "kilter check", "library", 2)
        .unwrap()
}

/// Never raised.
fn quiet() -> &'static Flag {
    static QUIET: Flag = Flag::new(0);
    &QUIET
}

fn blocks(ids: &[&str]) -> Vec<Block> {
    ids.iter().map(|id| block(id)).collect()
}

fn expected(id: &str) -> BlockOutcome {
    let samples = |item| {
        (
            String::from(item),
            ItemSamples {
                seconds: seconds(id, item),
                void: 1,
            },
        )
    };
    let read_back = |item| (String::from(item), vec![("segment".to_owned(), "7".to_owned())]);
    BlockOutcome {
        samples: [samples("left"), samples("right")].into(),
        failed: [].into(),
        read_back: [read_back("left"), read_back("right")].into(),
        seconds: 0.25,
    }
}

fn failure(error: SessionError) -> JobFailure {
    match error {
        SessionError::Job(failure) => failure,
        other => panic!("{other}"),
    }
}

#[test]
fn questions_one_by_one_are_answered_by_one_job_and_then_from_the_store() {
    let site = Site::new();
    {
        let run = site.run();
        let mut session = site.session(&run, "good");
        assert_eq!(session.noise(), None);
        assert_eq!(run.launch_count().unwrap(), 0, "launched before it was asked");
        for id in ["b1", "b2", "b1"] {
            assert_eq!(session.measure(&block(id)).unwrap(), expected(id));
        }
        assert_eq!(session.start().unwrap().library, "stand-in 1");
        assert_eq!(session.noise().unwrap(), [1e-7, 2e-7, 3e-7]);
        assert_eq!(session.finish().unwrap().dropin_calls["blocks"], 2);
        assert_eq!(run.launch_count().unwrap(), 1);
        assert_eq!(run.sample_count().unwrap(), 12);
    }
    let run = site.run();
    assert!(run.resumed);
    let mut session = site.session(&run, "fails-to-start");
    let mut heard = Vec::new();
    let outcomes = session
        .measure_all(&blocks(&["b2", "b1"]), &mut |id| heard.push(id.to_owned()))
        .unwrap();
    assert_eq!(outcomes, [expected("b2"), expected("b1")]);
    assert_eq!(heard, ["b2", "b1"]);
    assert_eq!(session.start().unwrap().library, "stand-in 1");
    assert_eq!(session.finish().unwrap().dropin_calls["blocks"], 2);
    assert_eq!(run.launch_count().unwrap(), 1, "replaying launched a job");
    assert!(run.measuring_seconds().unwrap() > 0.0);
    site.nobody_is_left();
    assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["ended"]);
    let descriptions = site.sql::<String>("SELECT description FROM samples_view WHERE item = 'right'");
    assert!(descriptions[0].contains("allreduce(n)"), "{descriptions:?}");
}

#[test]
fn all_at_once_come_in_the_order_asked_and_the_session_goes_on() {
    let site = Site::new();
    let run = site.run();
    let mut session = site.session(&run, "refuses right");
    let mut heard = Vec::new();
    let outcomes = session
        .measure_all(&blocks(&["a", "b"]), &mut |id| heard.push(id.to_owned()))
        .unwrap();
    assert_eq!(heard, ["a", "b"]);
    assert_eq!(outcomes[1].failed["right"], "wrong data");
    assert_eq!(outcomes[1].samples.keys().collect::<Vec<_>>(), ["left"]);
    // The plan has ended: the next question needs a new attempt.
    session.measure(&block("c")).unwrap();
    assert_eq!(session.finish().unwrap().dropin_calls["blocks"], 3);
    assert_eq!(run.launch_count().unwrap(), 2);
    assert_eq!(site.asked(2), ["c"]);
}

#[test]
fn what_hangs_is_removed_named_and_not_tried_again() {
    let site = Site::new();
    let first = {
        let run = site.run();
        let mut session = site.session(&run, "hang b2 right");
        session.spec.limits.stall_seconds = 1.5;
        let all = blocks(&["b1", "b2", "b3"]);
        let failure = failure(session.measure_all(&all, &mut |_| ()).unwrap_err());
        assert!(matches!(failure, JobFailure::Hung { .. }), "{failure}");
        assert_eq!((failure.what(), failure.suspect()), ("hung", Some("right")));
        assert_eq!(failure.place().block.as_deref(), Some("b2"));
        assert_eq!(failure.place().unfinished, ["left", "right"]);
        site.nobody_is_left();
        // What was done is kept, and the rest can be asked without the culprit.
        session.spec.limits.stall_seconds = 60.0;
        let outcomes = session.measure_all(&blocks(&["b1", "b3"]), &mut |_| ()).unwrap();
        assert_eq!(outcomes, [expected("b1"), expected("b3")]);
        assert_eq!(site.asked(2), ["b3"]);
        session.close().unwrap();
        failure
    };
    let run = site.run();
    let mut session = site.session(&run, "good");
    let again = failure(session.measure_all(&blocks(&["b1", "b2"]), &mut |_| ()).unwrap_err());
    assert_eq!(again, first);
    assert_eq!(run.launch_count().unwrap(), 2, "a stored hang was tried again");
    assert_eq!(run.failures().unwrap().len(), 1);
    assert_eq!(run.forget_failures("key").unwrap(), 1);
    assert_eq!(session.measure(&block("b2")).unwrap(), expected("b2"));
}

#[test]
fn what_crashes_is_named_with_its_last_words() {
    let site = Site::new();
    let run = site.run();
    let mut session = site.session(&run, "crash b1 right");
    let failure = failure(session.measure(&block("b1")).unwrap_err());
    assert!(
        matches!(&failure, JobFailure::Crashed { status, .. } if status == "exit status: 7"),
        "{failure}"
    );
    assert_eq!((failure.what(), failure.suspect()), ("crashed", Some("right")));
    assert!(failure.to_string().contains("stand-in: boom"), "{failure}");
    assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["crashed"]);
    assert_eq!(run.stored_failure("key", "b1").unwrap().unwrap().state, "crashed");
}

#[test]
fn a_silent_exit_is_a_crash() {
    let site = Site::new();
    let run = site.run();
    let failure = failure(site.session(&run, "quit b1 left").measure(&block("b1")).unwrap_err());
    assert!(
        matches!(&failure, JobFailure::Crashed { status, .. } if status == "exit status: 0"),
        "{failure}"
    );
    assert_eq!(failure.suspect(), Some("left"));
}

#[test]
fn a_job_that_does_not_start_is_tried_once_per_session_and_again_when_resumed() {
    for (behaviour, limit, part) in [
        ("fails-to-start", 60.0, "not enough slots"),
        ("never-starts", 0.3, "not within 0.3 s"),
    ] {
        let site = Site::new();
        {
            let run = site.run();
            let mut session = site.session(&run, behaviour);
            session.spec.limits.start_seconds = limit;
            for _ in 0..2 {
                let failure = failure(session.measure(&block("b1")).unwrap_err());
                assert!(matches!(failure, JobFailure::DidNotStart { .. }), "{failure}");
                assert!(failure.to_string().contains(part), "{failure}");
            }
            assert!(matches!(
                session.start(),
                Err(SessionError::Job(JobFailure::DidNotStart { .. }))
            ));
            assert_eq!(run.launch_count().unwrap(), 1);
            assert!(matches!(
                session.finish(),
                Err(SessionError::Job(JobFailure::DidNotStart { .. }))
            ));
            site.nobody_is_left();
        }
        let run = site.run();
        assert_eq!(
            site.session(&run, "good").measure(&block("b1")).unwrap(),
            expected("b1")
        );
    }
}

#[test]
fn a_worker_that_ends_for_want_of_questions_is_started_again() {
    let site = Site::new();
    let run = site.run();
    let mut session = site.session(&run, "tires");
    let outcomes = session.measure_all(&blocks(&["b1", "b2"]), &mut |_| ()).unwrap();
    assert_eq!(outcomes, [expected("b1"), expected("b2")]);
    assert_eq!(session.measure(&block("b3")).unwrap(), expected("b3"));
    assert_eq!(session.finish().unwrap().dropin_calls["blocks"], 3);
    assert_eq!(run.launch_count().unwrap(), 3);
}

#[test]
fn a_worker_that_never_answers_fails_in_the_end() {
    let site = Site::new();
    let run = site.run();
    let mut session = site.session(&run, "ends-at-once");
    let failure = failure(session.measure(&block("b1")).unwrap_err());
    assert_eq!(
        (failure.what(), failure.place().block.as_deref()),
        ("crashed", Some("b1"))
    );
    assert_eq!(run.launch_count().unwrap(), MAX_TRIES as u64);
}

#[test]
fn trouble_at_the_end_costs_no_answer() {
    for (behaviour, limit, outcome) in [
        ("lingers", 0.3, "ended, then killed after 0.3 s"),
        ("ends-badly", 60.0, "ended, then exit status: 15"),
    ] {
        let site = Site::new();
        let run = site.run();
        let mut session = site.session(&run, behaviour);
        session.spec.limits.finish_seconds = limit;
        session.measure(&block("b1")).unwrap();
        assert_eq!(session.finish().unwrap().dropin_calls["blocks"], 1);
        assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), [outcome]);
        site.nobody_is_left();
    }
}

#[test]
fn a_missing_end_is_a_stored_failure_of_the_job_but_not_of_its_blocks() {
    for (behaviour, what) in [("forgets-the-end", "crashed"), ("hangs-at-the-end", "hung")] {
        let site = Site::new();
        let run = site.run();
        for _ in 0..2 {
            let mut session = site.session(&run, behaviour);
            session.spec.limits.stall_seconds = if what == "hung" { 1.5 } else { 60.0 };
            assert_eq!(session.measure(&block("b1")).unwrap(), expected("b1"));
            let failure = failure(session.finish().unwrap_err());
            assert_eq!((failure.what(), failure.place().block.as_deref()), (what, None));
        }
        assert_eq!(run.launch_count().unwrap(), 1);
    }
}

#[test]
fn nonsense_in_the_report_is_named_by_file_and_line_and_ends_the_job() {
    for (behaviour, part) in [
        ("talks-nonsense b1", "nonsense"),
        ("answers-another b1", "`nobody asked`"),
    ] {
        let site = Site::new();
        let run = site.run();
        let mut session = site.session(&run, behaviour);
        let error = session.measure(&block("b1")).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, SessionError::Report { line: 4, .. }), "{message}");
        assert!(
            message.contains("run1-key-1.report.jsonl") && message.contains(part),
            "{message}"
        );
        site.nobody_is_left();
    }
}

#[test]
fn another_question_under_the_same_id_is_refused() {
    let site = Site::new();
    let run = site.run();
    let mut session = site.session(&run, "good");
    session.measure(&block("b1")).unwrap();
    let mut other = block("b1");
    other.items[1].bytes = 8;
    assert!(matches!(
        session.measure(&other),
        Err(SessionError::DifferentBlock { .. })
    ));
    // Another order of repetitions or another time limit is the same question.
    let mut same = block("b1");
    (same.seed, same.repetitions.seconds) = (9, 9.0);
    assert_eq!(session.measure(&same).unwrap(), expected("b1"));
    let twice = session.measure_all(&blocks(&["b2", "b2"]), &mut |_| ());
    assert!(matches!(twice, Err(SessionError::DuplicateBlock { .. })));
}

#[test]
fn dropping_a_session_ends_its_job() {
    let site = Site::new();
    let run = site.run();
    let mut session = site.session(&run, "good");
    session.measure(&block("b1")).unwrap();
    drop(session);
    site.nobody_is_left();
    assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["abandoned"]);
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let flag: &'static Flag = Box::leak(Box::new(Flag::new(0)));
    let site = Site::new();
    {
        let run = site.run();
        let mut session = site.session(&run, "waits b2 right").interrupted_by(flag);
        let mut raise = |id: &str| {
            assert_eq!(id, "b1");
            flag.store(2, std::sync::atomic::Ordering::SeqCst);
        };
        let error = session.measure_all(&blocks(&["b1", "b2"]), &mut raise).unwrap_err();
        assert!(matches!(error, SessionError::Interrupted { signal: 2 }), "{error}");
        site.nobody_is_left();
        assert!(matches!(
            session.measure(&block("b3")),
            Err(SessionError::Interrupted { .. })
        ));
        assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["interrupted"]);
    }
    let run = site.run();
    let outcomes = site
        .session(&run, "good")
        .measure_all(&blocks(&["b1", "b2"]), &mut |_| ())
        .unwrap();
    assert_eq!(outcomes, [expected("b1"), expected("b2")]);
    assert_eq!(site.asked(2), ["b2"]);
}

/// Rows of the samples in the order they were stored.
fn sample_rows(site: &Site) -> Vec<(i64, String, Vec<u8>)> {
    let ids = site.sql("SELECT id FROM samples ORDER BY id");
    let items = site.sql("SELECT block || '/' || item FROM samples_view ORDER BY id");
    let values = site.sql("SELECT seconds FROM samples ORDER BY id");
    ids.into_iter()
        .zip(items)
        .zip(values)
        .map(|((id, item), value)| (id, item, value))
        .collect()
}

/// A run of three blocks is stopped dead after every number of lines. `worker_died`: the report ends where the tuner had read
/// it; otherwise it holds what the worker wrote afterwards.
fn killed_everywhere(worker_died: bool) {
    let ids = ["b1", "b2", "b3"];
    for lines in 0.. {
        let site = Site::new();
        let before = {
            let run = site.run();
            let mut session = site.session(&run, "good");
            session.dies_after_lines = Some(lines);
            let outcome = session
                .measure_all(&blocks(&ids), &mut |_| ())
                .and_then(|_| session.finish());
            if outcome.is_ok() {
                // Start, noise, three blocks of 2 x (enter, settings, samples) and an end, end.
                assert_eq!(lines, 2 + 3 * 7 + 1);
                return;
            }
            sample_rows(&site)
        };
        let offset = site.sql::<i64>("SELECT report_offset FROM launches")[0];
        assert_eq!(site.sql::<i64>("SELECT report_lines FROM launches"), [lines as i64]);
        let report = site.directory.path().join("run1-key-1.report.jsonl");
        if worker_died && report.exists() {
            std::fs::File::options()
                .write(true)
                .open(&report)
                .unwrap()
                .set_len(offset.cast_unsigned())
                .unwrap();
        }
        let done = site.sql::<String>("SELECT block FROM blocks_view");
        let run = site.run();
        assert!(run.resumed);
        let mut session = site.session(&run, "good");
        let outcomes = session.measure_all(&blocks(&ids), &mut |_| ()).unwrap();
        assert_eq!(outcomes, ids.map(expected), "after {lines} lines");
        let after = sample_rows(&site);
        assert_eq!(after[..before.len()], before, "samples were lost after {lines} lines");
        let asked = site.asked(2);
        assert!(
            !done.iter().any(|id| asked.contains(id)),
            "{done:?} were measured again: {asked:?}"
        );
        let end = session.finish().unwrap();
        assert!(
            end.dropin_calls["blocks"] >= 3,
            "the end does not cover every block: {end:?}"
        );
        assert_eq!(
            site.sql::<i64>("SELECT count(*) FROM launches WHERE ended IS NULL"),
            [0]
        );
        // Only the block under way may have been measured twice.
        let done_rows = "SELECT count(*) FROM samples_view AS s JOIN blocks_view AS b USING (run, key, block) WHERE s.launch = b.launch";
        assert_eq!(site.sql::<i64>(done_rows), [6]);
        site.nobody_is_left();
    }
}

#[test]
fn killed_after_every_line_with_the_worker_loses_nothing() {
    killed_everywhere(true);
}

#[test]
fn killed_after_every_line_before_the_worker_loses_nothing() {
    killed_everywhere(false);
}

#[test]
fn what_the_worker_wrote_after_the_tuner_died_is_taken_over() {
    use kilter_protocol::report::{Event, ReportLine};
    let site = Site::new();
    {
        let run = site.run();
        let mut session = site.session(&run, "hang b1 right");
        session.dies_after_lines = Some(3);
        assert!(session.measure_all(&blocks(&["b1", "b2"]), &mut |_| ()).is_err());
    }
    let report = site.directory.path().join("run1-key-1.report.jsonl");
    let offset = site.sql::<i64>("SELECT report_offset FROM launches")[0];
    let mut text = std::fs::read(&report).unwrap();
    text.truncate(usize::try_from(offset).unwrap());
    let (block, v) = (String::from("b1"), kilter_protocol::VERSION);
    let mut events = Vec::new();
    for item in ["left", "right"].map(String::from) {
        let read_back = vec![("segment".to_owned(), "7".to_owned())];
        events.push(Event::Settings {
            block: block.clone(),
            item: item.clone(),
            read_back,
        });
        events.push(Event::Samples {
            block: block.clone(),
            seconds: seconds("b1", &item),
            item,
            void: 1,
        });
    }
    events.push(Event::BlockEnd { block, seconds: 0.25 });
    events.push(Event::Enter {
        block: "b2".to_owned(),
        item: "left".to_owned(),
    });
    for event in events {
        text.extend(serde_json::to_vec(&ReportLine { v, event }).unwrap());
        text.push(b'\n');
    }
    // The worker was writing when it was killed.
    text.extend(b"{\"v\":2,\"kind\":\"samp");
    std::fs::write(&report, text).unwrap();
    let run = site.run();
    let mut session = site.session(&run, "fails-to-start");
    assert_eq!(
        session.measure(&super::super::stand_in::block("b1")).unwrap(),
        expected("b1")
    );
    assert_eq!(run.launch_count().unwrap(), 1, "the block was measured again");
    assert!(run.measuring_seconds().unwrap() >= 0.25);
    assert!(
        session.measure(&super::super::stand_in::block("b2")).is_err(),
        "the second block was never done"
    );
}

/// A tuner in a process of its own, for real signals. Not a test by itself.
#[test]
fn tuner_process() {
    let Ok(directory) = std::env::var("KILTER_TEST_TUNER") else {
        return;
    };
    interrupt::install().unwrap();
    super::super::process::become_subreaper().unwrap();
    let directory = PathBuf::from(directory);
    let store = Store::open(&directory.join("kilter.db")).unwrap();
    let run = run(&store);
    let mut session = Session::new(&run, Path::new("worker"), &directory, spec("key", "waits b2 right"));
    let status = match session.measure_all(&blocks(&["b1", "b2", "b3"]), &mut |_| ()) {
        Err(SessionError::Interrupted { signal }) => interrupt::exit_status(signal),
        _ => 1,
    };
    drop(session);
    std::process::exit(status.into());
}

/// Starts the tuner and returns when its worker is in the second block.
fn tuner_in_second_block(site: &Site) -> Child {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "launch::session::tests::tuner_process",
            "--exact",
            "--nocapture",
            "--quiet",
        ])
        .env("KILTER_TEST_TUNER", site.directory.path())
        .spawn()
        .unwrap();
    let report = site.directory.path().join("run1-key-1.report.jsonl");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !std::fs::read_to_string(&report).is_ok_and(|text| text.contains("\"heartbeat\"")) {
        assert!(Instant::now() < deadline, "the job did not get to its second block");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn sigkill_of_the_tuner_ends_its_job_and_loses_nothing() {
    let site = Site::new();
    let mut tuner = tuner_in_second_block(&site);
    tuner.kill().unwrap();
    tuner.wait().unwrap();
    // Its job gets SIGTERM from the system, with nobody there to send it.
    let mut family = Family::new(
        None,
        format!("{TAG_VARIABLE}={}", site.sql::<String>("SELECT tag FROM launches")[0]),
    );
    let deadline = Instant::now() + Duration::from_secs(60);
    while !family.members().iter().all(|entry| entry.zombie) {
        assert!(Instant::now() < deadline, "the job outlives the tuner");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::fs::write(gate(site.directory.path()), "").unwrap();
    let run = site.run();
    assert!(run.resumed);
    let mut session = site.session(&run, "waits b2 right");
    let outcomes = session.measure_all(&blocks(&["b1", "b2", "b3"]), &mut |_| ()).unwrap();
    assert_eq!(outcomes, ["b1", "b2", "b3"].map(expected));
    // The first block has no end line of its own launch: it was run once more for it.
    assert_eq!(session.finish().unwrap().dropin_calls["blocks"], 3);
    assert_eq!(site.asked(2), ["b2", "b3"]);
    assert_eq!(site.asked(3), ["b1"]);
    assert_eq!(
        site.sql::<String>("SELECT outcome FROM launches"),
        ["tuner was killed", "ended", "ended"]
    );
    site.nobody_is_left();
}

#[test]
fn ctrl_c_and_sigterm_end_the_job_and_set_the_exit_status() {
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let site = Site::new();
        let mut tuner = tuner_in_second_block(&site);
        kill(Pid::from_raw(tuner.id().cast_signed()), signal).unwrap();
        assert_eq!(tuner.wait().unwrap().code(), Some(status));
        assert_eq!(site.sql::<String>("SELECT outcome FROM launches"), ["interrupted"]);
        assert_eq!(site.sql::<String>("SELECT block FROM blocks_view"), ["b1"]);
        site.nobody_is_left();
    }
}
