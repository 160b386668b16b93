//! Settings that act as nothing, and say so or not.

use super::*;

#[test]
fn a_setting_that_acts_as_nothing_is_not_credited() {
    let library = slow_reduce(|call| call.is("x", "1"))
        .setting("x", "0", &["1"])
        .ignores("x");
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), [""; 0]);
    assert_eq!(cell(&run, SLOW).before.verdict, Outcome::Violated);
    assert!(!unfixed(&run, SLOW).is_empty());
}

#[test]
fn a_setting_that_reads_back_otherwise_is_put_away() {
    let library = slow_reduce(|call| call.is("x", "1"))
        .setting("x", "0", &["1", "16"])
        .does_not_take("x");
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), [""; 0]);
    assert_eq!(quarantined(&run), [("x=1", "had no effect"), ("x=16", "had no effect")]);
}

#[test]
fn algorithms_that_the_library_never_asks_for_are_not_credited() {
    let library = slow_reduce(|call| call.algorithm == 2).admits_algorithms(|_| false);
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), [""; 0]);
    assert_eq!(
        quarantined(&run),
        [
            ("reduce_algorithm for reduce 1024", "had no effect"),
            ("reduce_algorithm for reduce 4096", "had no effect")
        ]
    );
}

/// If the library does not follow the file for one of its algorithms, none of them is tried again: there are more of them than rounds.
#[test]
fn where_a_rule_is_not_followed_the_next_fix_is_of_another_kind() {
    let by_file =
        |settings: &kilter::scripted::Settings<'_>| !settings.value("coll_tuned_dynamic_rules_filename").is_empty();
    let library = slow_reduce(|call| call.algorithm > 0).admits_algorithms(move |settings| !by_file(settings));
    let run = tune(library, REDUCE);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.as_allreduce"]);
    assert!(is_mended(&run, SLOW));
    warning(&run, "is taken back");
}

/// Switched in a running job it acts; the file of rules is not read.
#[test]
fn a_rule_that_the_library_does_not_follow_is_taken_back_and_another_fix_found() {
    let by_file =
        |settings: &kilter::scripted::Settings<'_>| !settings.value("coll_tuned_dynamic_rules_filename").is_empty();
    let library = slow_reduce(|call| call.algorithm == 2).admits_algorithms(move |settings| !by_file(settings));
    let run = tune(library, REDUCE);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.as_allreduce"]);
    assert!(is_mended(&run, SLOW));
    warning(&run, "`reduce_algorithm=2` is taken back");
}

/// A network file system shows what a job has written at intervals: first of 15 s, and later of 40 s, which is longer than a job may be silent.
#[test]
fn a_job_whose_words_come_late_is_not_ended() {
    let library = |late: f64| {
        slow_reduce(|call| call.algorithm == 2)
            .slower(5_000_000.0)
            .shows_reports_every(move |elapsed| if elapsed < 200.0 { 15.0 } else { late })
    };
    let arguments = "--guidelines GL8 --sizes 4096 --only parameters --budget 100000";
    let prompt = tune(library(0.0), arguments);
    let late = tune(library(40.0), arguments);
    assert_eq!(changes(&late), changes(&prompt));
    assert_eq!(changes(&late), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert!(quarantined(&late).is_empty(), "{:?}", quarantined(&late));
}

/// A job that has ended its words is ended, whatever the file system did before.
#[test]
fn a_job_that_hangs_is_ended_beside_a_late_file_system_too() {
    let library = slow_reduce(|call| call.algorithm == 2)
        .slower(5_000_000.0)
        .hangs(|call| call.algorithm == 1)
        .shows_reports_every(|_| 15.0);
    let run = tune(
        library,
        "--guidelines GL8 --sizes 4096 --only parameters --budget 100000",
    );
    assert!(quarantined(&run).contains(&("reduce_algorithm=1", "hung")));
}
