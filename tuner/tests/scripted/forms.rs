//! Guidelines of other forms than one call against others of the same volume: monotony, splits, non-blocking calls.

use kilter_protocol::expression::Form;

use super::*;

/// The smaller volume takes longer than the next larger one.
#[test]
fn a_volume_that_is_slower_than_a_larger_one_is_mended() {
    let library = ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.bytes == 1024 && call.algorithm != 2;
        if is_slow { 4.0 * usual } else { usual }
    });
    let run = tune(
        library,
        "--guidelines GL1 --functions reduce --sizes 1024,4096 --only parameters",
    );
    assert_eq!(changes(&run), ["MPI_Reduce at 1 KiB=reduce_algorithm=2"]);
    assert!(is_mended(&run, "GL1 reduce 1024"));
}

/// One call takes longer than four of a quarter of it.
#[test]
fn a_call_that_is_slower_than_its_parts_is_mended() {
    let library = ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_slow = call.bytes == 4096 && call.algorithm != 2;
        if is_slow { 20.0 * usual } else { usual }
    });
    let run = tune(
        library,
        "--guidelines GL2 --functions reduce --sizes 1024,4096 --only parameters",
    );
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert!(is_mended(&run, "GL2 reduce 4096"));
    let parts = &cell(&run, "GL2 reduce 4096").expression;
    assert!(parts.contains("reduce"), "{parts}");
}

/// The non-blocking form alone is slow, unless this holds.
fn slow_ireduce(unless: impl Fn(&Call<'_>) -> bool + 'static) -> ScriptedLibrary {
    let is_slow = move |call: &Call<'_>| call.form == Form::Nonblocking && call.bytes == 4096 && !unless(call);
    let usual_of = |call: &Call<'_>, usual: f64| match call.form {
        // As long as the blocking call, once it is completed.
        Form::Nonblocking => 0.96 * usual,
        _ => usual,
    };
    let cost = move |call: &Call<'_>, usual: f64| {
        if is_slow(call) {
            4.0 * usual
        } else {
            usual_of(call, usual)
        }
    };
    ScriptedLibrary::new().setting("x", "0", &["1"]).cost("reduce", cost)
}

const NONBLOCKING: &str = "--guidelines NB1 --functions reduce,ireduce --sizes 1024,4096";

#[test]
fn a_nonblocking_call_is_mended_by_a_setting_alone() {
    let run = tune(slow_ireduce(|call| call.is("x", "1")), NONBLOCKING);
    assert_eq!(changes(&run), ["x=1"]);
    let slow = |cell: &&Cell| cell.bytes == 4096 && cell.before.verdict == Outcome::Violated;
    let cells: Vec<&Cell> = run.report.cells.iter().filter(slow).collect();
    assert_eq!(cells.len(), 1, "{:#?}", run.report.cells);
    assert_eq!(cells[0].after.as_ref().map(|after| after.verdict), Some(Outcome::Holds));
}

/// Kilter's code and the library's algorithms stand in for the blocking call alone.
#[test]
fn a_nonblocking_call_that_no_setting_mends_says_so() {
    let run = tune(slow_ireduce(|call| call.algorithm == 2), NONBLOCKING);
    assert_eq!(changes(&run), [""; 0]);
    let reasons: Vec<String> = run
        .report
        .cells
        .iter()
        .filter_map(|cell| cell.unfixed_because.clone())
        .collect();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("no algorithm or mock-up can replace this function")),
        "{reasons:?}"
    );
}
