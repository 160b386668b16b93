//! A violated guideline and what mends it.

use super::*;

/// Reduce at 4096 B takes four times as long as it should, unless this holds.
fn slow_reduce(unless: impl Fn(&kilter::scripted::Call<'_>) -> bool + 'static) -> ScriptedLibrary {
    let is_slow = move |call: &kilter::scripted::Call<'_>| call.bytes == 4096 && !unless(call);
    ScriptedLibrary::new().cost(
        "reduce",
        move |call, usual| if is_slow(call) { 4.0 * usual } else { usual },
    )
}

#[test]
fn a_parameter_mends_a_cell_and_its_other_values_do_not() {
    let library = slow_reduce(|call| call.is("x", "16")).setting("x", "0", &["1", "16"]);
    let run = tune(library, "--guidelines GL8 --sizes 1024,4096");
    assert_eq!(changes(&run), ["x=16"]);
    assert_eq!(
        verdicts(&run, "GL8 reduce 4096"),
        (Outcome::Violated, Some(Outcome::Holds))
    );
    assert_eq!(cell(&run, "GL8 reduce 4096").fix.as_ref().unwrap().id, "x=16");
    assert_eq!(cell(&run, "GL8 reduce 1024").before.verdict, Outcome::Holds);
}

#[test]
fn an_algorithm_of_the_librarys_mends_a_cell() {
    let run = tune(
        slow_reduce(|call| call.algorithm == 2),
        "--guidelines GL8 --sizes 1024,4096",
    );
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert_eq!(
        verdicts(&run, "GL8 reduce 4096"),
        (Outcome::Violated, Some(Outcome::Holds))
    );
}

#[test]
fn a_mockup_mends_a_cell_where_nothing_of_the_librarys_does() {
    let run = tune(slow_reduce(|_| false), "--guidelines GL8 --sizes 1024,4096");
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.as_allreduce"]);
    assert_eq!(
        verdicts(&run, "GL8 reduce 4096"),
        (Outcome::Violated, Some(Outcome::Holds))
    );
}

#[test]
fn an_algorithm_of_kilters_mends_a_cell() {
    let library = slow_reduce(|_| false).row("reduce.binomial", |_, usual| 0.5 * usual);
    let run = tune(library, "--guidelines GL8 --sizes 1024,4096");
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce.binomial"]);
    assert_eq!(
        verdicts(&run, "GL8 reduce 4096"),
        (Outcome::Violated, Some(Outcome::Holds))
    );
}

#[test]
fn where_nothing_is_violated_nothing_is_deployed() {
    let run = tune(
        ScriptedLibrary::new().setting("x", "0", &["1"]),
        "--guidelines GL8,GL12 --sizes 1024,4096",
    );
    assert_eq!(changes(&run), [""; 0]);
    assert!(
        run.report
            .cells
            .iter()
            .all(|cell| cell.before.verdict == Outcome::Holds)
    );
    assert!(run.report.quarantined.is_empty() && run.report.contests.is_empty());
}
