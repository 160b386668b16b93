//! Ends of jobs that have answered.

use super::*;

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
    let cases = [
        ("forgets-the-end", FaultKind::Crashed),
        ("hangs-at-the-end", FaultKind::Hung),
    ];
    at_once(cases, |(behaviour, what)| {
        let site = Site::new();
        let run = site.run();
        for _ in 0..2 {
            let mut session = site.session(&run, behaviour);
            session.spec.limits.stall_seconds = if what == FaultKind::Hung { 1.5 } else { 60.0 };
            assert_eq!(session.measure(&block("b1")).unwrap(), expected("b1"));
            let failure = failure(session.finish().unwrap_err());
            assert_eq!((failure.kind(), failure.place().block.as_deref()), (what, None));
        }
        assert_eq!(run.launch_count().unwrap(), 1);
    });
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
