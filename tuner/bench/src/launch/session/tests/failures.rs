//! Jobs that hang, crash, never start or talk nonsense.

use super::super::super::limits::Limits;
use super::*;

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
        assert_eq!((failure.kind(), failure.suspect()), (FaultKind::Hung, Some("right")));
        assert_eq!(failure.place().block.as_deref(), Some("b2"));
        assert_eq!(failure.place().unfinished, ["left", "right"]);
        site.nobody_is_left();
        // Finished blocks are kept, and the rest can be asked without the culprit.
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
    assert_eq!((failure.kind(), failure.suspect()), (FaultKind::Crashed, Some("right")));
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
fn a_job_that_ends_before_it_starts_is_started_once_more() {
    let site = Site::new();
    let run = site.run();
    let mut session = site.session(&run, "fails-to-start-once");
    assert_eq!(session.measure(&block("b1")).unwrap(), expected("b1"));
    assert_eq!((run.launch_count().unwrap(), run.started_again().unwrap()), (2, 1));
    session.finish().unwrap();
    site.nobody_is_left();
}

/// A library's initialisation may hang once. Where jobs are known to start here, that takes the short limit of a first start and no more.
#[test]
fn a_job_that_hangs_before_it_starts_is_started_once_more_where_jobs_are_known_to_start() {
    let site = Site::new();
    let run = site.run();
    let watch = Watch::default();
    let mut session = site.session(&run, "first-job-hangs").watched_by(&watch);
    session.spec.limits.start_seconds = 60.0;
    session.spec.limits.first_start_seconds = Some(0.3);
    assert_eq!(session.measure(&block("b1")).unwrap(), expected("b1"));
    let said = watch.news().remove(0).started_again.unwrap();
    assert!(said.contains("not within 0.3 s"), "{said}");
    assert_eq!((run.launch_count().unwrap(), run.started_again().unwrap()), (2, 1));
    session.finish().unwrap();
    site.nobody_is_left();
}

#[test]
fn a_job_that_does_not_start_again_is_given_up_and_tried_when_resumed() {
    let cases = [
        ("fails-to-start", 60.0, false, "not enough slots", 2),
        ("fails-to-start", 60.0, true, "not enough slots", 4),
        ("never-starts", 0.3, false, "not within 0.3 s", 1),
        ("never-starts", 0.3, true, "not within 0.3 s", 2),
    ];
    at_once(cases, |(behaviour, limit, jobs_start, part, launches)| {
        let site = Site::new();
        {
            let run = site.run();
            let mut session = site.session(&run, behaviour);
            session.spec.limits.start_seconds = limit;
            session.spec.limits.first_start_seconds = jobs_start.then_some(limit);
            for _ in 0..2 {
                let failure = failure(session.measure(&block("b1")).unwrap_err());
                assert!(matches!(failure, JobFailure::DidNotStart { .. }), "{failure}");
                assert!(failure.to_string().contains(part), "{failure}");
            }
            assert!(matches!(
                session.start(),
                Err(SessionError::Job(JobFailure::DidNotStart { .. }))
            ));
            assert_eq!(run.launch_count().unwrap(), launches);
            assert_eq!(run.started_again().unwrap(), 0);
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
    });
}

#[test]
fn a_worker_that_never_answers_fails_in_the_end() {
    let site = Site::new();
    let run = site.run();
    let mut session = site.session(&run, "ends-at-once");
    let failure = failure(session.measure(&block("b1")).unwrap_err());
    assert_eq!(
        (failure.kind(), failure.place().block.as_deref()),
        (FaultKind::Crashed, Some("b1"))
    );
    assert_eq!(run.launch_count().unwrap(), MAX_TRIES as u64);
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

/// 3,000 ranks over a batch system's launcher, and a file system in a slow minute.
#[test]
fn limits_grow_with_ranks_and_with_the_starts_so_far() {
    let few = Limits::of_job(None, 2, None);
    assert!((few.start_seconds - 40.0).abs() < 1e-9 && (few.stall_seconds - 20.0).abs() < 1e-9);
    let many = Limits::of_job(None, 3000, None);
    assert!((many.start_seconds - 190.0).abs() < 1e-9 && (many.stall_seconds - 50.0).abs() < 1e-9);
    assert_eq!(many.finish_seconds, many.stall_seconds);
    // The first start is short where another one follows.
    let starts = |ranks: usize, usual: f64| {
        let limits = Limits::of_job(None, ranks, Some(usual));
        (limits.first_start_seconds, limits.start_seconds)
    };
    assert_eq!(few.first_start_seconds, None);
    assert_eq!(starts(2, 0.5), (Some(10.0), 20.0));
    assert_eq!(starts(2, 1.5), (Some(10.0), 20.0));
    assert_eq!(starts(2, 15.0), (Some(75.0), 150.0));
    assert_eq!(starts(3000, 0.5), (Some(160.0), 170.0));
}
