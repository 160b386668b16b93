//! Questions and their answers: in what order, from which job, and what is refused.

use super::*;

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
    assert_eq!(outcomes[1].failed["right"], Fault::BrokenBarrier);
    assert_eq!(outcomes[1].samples.keys().collect::<Vec<_>>(), ["left"]);
    // The plan has ended: the next question needs a new attempt.
    session.measure(&block("c")).unwrap();
    assert_eq!(session.finish().unwrap().dropin_calls["blocks"], 3);
    assert_eq!(run.launch_count().unwrap(), 2);
    assert_eq!(site.asked(2), ["c"]);
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
