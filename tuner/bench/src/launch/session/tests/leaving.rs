//! Jobs that end while the next one starts.

use super::super::super::leaving::Leaving;
use super::super::super::stand_in::left;
use super::*;

#[test]
fn the_next_job_starts_beside_one_that_leaves_and_is_asked_when_it_is_gone() {
    let site = Site::new();
    let run = site.run();
    let leaving = Leaving::of_jobs_that_share_nothing(true);
    let mut first = site.session(&run, "leaves-behind-the-next").leaving_by(&leaving);
    first.measure(&block("b1")).unwrap();
    // It would wait for the next one in vain, and be killed.
    assert_eq!(first.finish().unwrap().dropin_calls["blocks"], 1);
    let mut second = site.session(&run, "comes-next").leaving_by(&leaving);
    second.spec.key = "next".to_owned();
    assert_eq!(second.measure(&block("b1")).unwrap(), expected("b1"));
    assert!(left(site.directory.path()).exists());
    second.finish().unwrap();
    drop(leaving);
    assert_eq!(
        site.sql::<String>("SELECT outcome FROM launches ORDER BY id"),
        ["ended", "ended"]
    );
    site.nobody_is_left();
    let gaps = site.sql::<f64>(
        "SELECT two.started - one.ended FROM launches one, launches two WHERE one.id < two.id AND two.started >= one.ended",
    );
    assert_eq!(gaps.len(), 1, "its time ends with its report");
}

#[test]
fn jobs_that_may_need_the_same_end_before_the_next_one_starts() {
    let site = Site::new();
    let run = site.run();
    let leaving = Leaving::of_jobs_that_share_nothing(false);
    let mut session = site.session(&run, "ends-badly").leaving_by(&leaving);
    session.measure(&block("b1")).unwrap();
    session.finish().unwrap();
    site.nobody_is_left();
    assert_eq!(
        site.sql::<String>("SELECT outcome FROM launches"),
        ["ended, then exit status: 15"]
    );
}

#[test]
fn a_job_that_does_not_leave_is_killed_and_the_next_one_measures() {
    let site = Site::new();
    let run = site.run();
    let leaving = Leaving::of_jobs_that_share_nothing(true);
    let mut first = site.session(&run, "lingers").leaving_by(&leaving);
    first.spec.limits.finish_seconds = 0.3;
    first.measure(&block("b1")).unwrap();
    first.finish().unwrap();
    assert_eq!(site.sql::<Option<String>>("SELECT outcome FROM launches"), [None]);
    let mut second = site.session(&run, "good").leaving_by(&leaving);
    second.spec.key = "next".to_owned();
    second.measure(&block("b1")).unwrap();
    assert_eq!(
        site.sql::<Option<String>>("SELECT outcome FROM launches ORDER BY id"),
        [Some("ended, then killed after 0.3 s".to_owned()), None]
    );
    second.finish().unwrap();
    drop(leaving);
    site.nobody_is_left();
}
