//! Algorithms that a variable chooses when a job starts.

use super::*;

#[test]
fn an_algorithm_is_chosen_for_the_size_that_it_mends() {
    let is_slow = |call: &Call<'_>| call.bytes == 4096 && call.algorithm != 2;
    let library = ScriptedLibrary::choosing_at_start().cost("reduce", move |call, usual| match call.algorithm {
        _ if is_slow(call) => 4.0 * usual,
        // Elsewhere it is worse than the library's own.
        2 if call.bytes == 1024 => 3.0 * usual,
        _ => usual,
    });
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(run.report.changes.len(), 1, "{:?}", changes(&run));
    assert_eq!(run.report.changes[0].name, "REDUCE_ALGORITHM");
    assert!(is_mended(&run, SLOW));
    assert_eq!(
        cell(&run, "GL8 reduce 1024").after.as_ref().map(|after| after.verdict),
        Some(Outcome::Holds)
    );
}

#[test]
fn an_algorithm_that_hangs_at_the_start_is_put_away_and_another_found() {
    let library = ScriptedLibrary::choosing_at_start()
        .cost(
            "reduce",
            |call, usual| if call.algorithm == 2 { usual } else { 4.0 * usual },
        )
        .hangs(|call| call.algorithm == 1);
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert!(is_mended(&run, SLOW), "{:?}", changes(&run));
    assert!(
        quarantined(&run).iter().any(|(_, what)| *what == "hung"),
        "{:?}",
        quarantined(&run)
    );
}
