//! Limits of a fix.

use super::*;

#[test]
fn only_parameters_leaves_algorithms_and_mockups_out() {
    let run = tune(slow_reduce(|_| false), &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), [""; 0]);
    let contest = &run.report.contests[0];
    let kinds = contest.candidates.iter().filter_map(|one| one.kind);
    assert!(
        kinds
            .into_iter()
            .all(|kind| kind == kilter_model::report::FixKind::Parameter)
    );
}

#[test]
fn only_mockups_leaves_parameters_out() {
    let library = slow_reduce(|call| call.is("x", "1") || call.algorithm == 2).setting("x", "0", &["1"]);
    let run = tune(library, &format!("{REDUCE} --only mockups"));
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.as_allreduce"]);
}

#[test]
fn a_function_that_is_left_alone_stays_violated() {
    let run = tune(slow_reduce(|_| false), &format!("{REDUCE} --leave reduce"));
    assert_eq!(changes(&run), [""; 0]);
    assert!(
        unfixed(&run, SLOW).contains("no fix may touch reduce (--leave)"),
        "{}",
        unfixed(&run, SLOW)
    );
    assert!(run.report.contests.is_empty());
}

#[test]
fn what_keeps_more_scratch_than_allowed_is_not_measured() {
    let run = tune(slow_reduce(|_| false), &format!("{REDUCE} --scratch-limit 1024"));
    let refused: Vec<&str> = run.report.contests[0]
        .refused
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    assert!(refused.contains(&"reduce.as_allreduce"), "{refused:?}");
    assert!(!changes(&run).iter().any(|change| change.contains("as_allreduce")));
}

#[test]
fn what_leaves_other_bits_is_refused_where_results_must_be_the_same() {
    let library = || {
        slow_reduce(|call| call.algorithm == 2)
            .bits(|call| if call.algorithm == 2 { "other" } else { "same" }.to_owned())
    };
    let run = tune(
        library(),
        &format!("{REDUCE} --only parameters --reproducible --type double"),
    );
    assert_eq!(changes(&run), [""; 0]);
    assert_eq!(
        quarantined(&run),
        [
            ("reduce_algorithm=2 for reduce 1024", "other results"),
            ("reduce_algorithm=2 for reduce 4096", "other results")
        ]
    );
    let free = tune(library(), &format!("{REDUCE} --only parameters --type double"));
    assert_eq!(changes(&free), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
}

#[test]
fn what_is_wrong_for_operators_that_do_not_commute_is_warned_of_or_left_out() {
    let library = || slow_reduce(|call| call.algorithm == 1);
    let run = tune(library(), &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=1"]);
    let said = warning(&run, "commute = 0");
    assert!(
        said.starts_with("`reduce_algorithm=1` (one): ") && said.contains("--any-operator"),
        "{said}"
    );
    let run = tune(library(), &format!("{REDUCE} --only parameters --any-operator"));
    assert_eq!(changes(&run), [""; 0]);
    assert!(run.report.warnings.iter().all(|text| !text.contains("commute")));
}
