//! Changes that make a violated cell much faster, where nothing meets its bound.

use super::*;

/// Reduce of 4 KiB takes 3.8 times its bound, unless `x` is 1. Algorithm 2 takes 0.3 of the default's time and 1.15 times the bound; from the
/// deployed file it takes `in_files` of the default's time.
pub(super) fn faster_by_an_algorithm(in_files: f64) -> ScriptedLibrary {
    let by_file = |call: &Call<'_>| !call.settings.value("coll_tuned_dynamic_rules_filename").is_empty();
    slow_reduce(|call| call.is("x", "1")).cost("reduce", move |call, seconds| {
        let factor = match call.algorithm {
            _ if call.bytes != 4096 || call.is("x", "1") => 1.0,
            2 if by_file(call) => 1.57 * in_files,
            2 => 1.57 * 0.3,
            _ => 1.57,
        };
        factor * seconds
    })
}

pub(super) const CELL: &str = "--guidelines GL8 --sizes 4096 --only parameters";

const DEPLOYED: &str = "MPI_Reduce at 4 KiB=reduce_algorithm=2";

#[test]
fn what_is_much_faster_is_deployed_and_the_cell_is_said_to_be_unfixed() {
    let run = tune(faster_by_an_algorithm(0.3), CELL);
    assert_eq!(changes(&run), [DEPLOYED]);
    let slow = cell(&run, SLOW);
    assert_eq!(slow.after.as_ref().map(|after| after.verdict), Some(Outcome::Violated));
    assert_eq!(slow.fix.as_ref().map(|fix| fix.id.as_str()), Some("reduce_algorithm=2"));
    let reason = unfixed(&run, SLOW);
    let named = "`reduce_algorithm=2` is deployed and takes 0.30 of the library's time; the best of 4 candidates, reduce_algorithm=2, still takes 1.";
    assert!(
        reason.starts_with(named) && reason.ends_with(" times the bound"),
        "{reason}"
    );
    let change = &run.report.changes[0];
    assert!((3.2..3.5).contains(&change.gain), "{}", change.gain);
    assert!(change.why.contains("times its bound, and is 1."), "{}", change.why);
}

#[test]
fn a_setting_of_whole_launches_that_fixes_the_cell_is_deployed_in_its_place() {
    let library = faster_by_an_algorithm(0.3).setting("x", "0", &["1"]);
    let run = tune(library, CELL);
    assert_eq!(changes(&run), ["x=1"]);
    assert!(is_mended(&run, SLOW));
}

/// Contests find the partial fix before the last of many settings is tried.
#[test]
fn a_setting_that_is_tried_behind_the_contests_takes_its_place() {
    let many: Vec<String> = (1..=40).map(|value| value.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let library = faster_by_an_algorithm(0.3)
        .setting("first", "0", &many)
        .setting("x", "0", &["1"])
        .slower(2_000.0);
    let run = tune(library, &format!("{CELL} --budget 60"));
    assert_eq!(changes(&run), ["x=1"], "{:#?}", run.report.warnings);
    assert!(is_mended(&run, SLOW));
    let contest = &run.report.contests[0];
    let partial = contest.candidates.iter().find(|one| one.id == "reduce_algorithm=2");
    assert!(partial.is_some_and(|one| !one.chosen), "{contest:?}");
}

/// It was fast in running jobs, and is slow from the file.
#[test]
fn what_is_slower_in_the_proof_is_taken_back_and_the_reason_says_so() {
    let in_files = 1.4;
    let run = tune(faster_by_an_algorithm(in_files), CELL);
    assert_eq!(changes(&run), [""; 0]);
    let why = format!("`reduce_algorithm=2` is taken back: reduce(n) @4096 takes {in_files:.2} times as long");
    warning(&run, &why);
    let reason = unfixed(&run, SLOW);
    assert!(
        reason.starts_with("the best of 4 candidates") && reason.contains(&why),
        "{reason}"
    );
}

/// Reduce of 1 KiB, which nothing makes faster, takes less than that of 4 KiB only as long as nothing is deployed. Times are these microseconds,
/// `slower` times over.
fn with_a_smaller_size_behind_it(slower: f64) -> ScriptedLibrary {
    ScriptedLibrary::new()
        .cost("allreduce", move |call, _| {
            slower * if call.bytes == 1024 { 10e-6 } else { 6e-6 }
        })
        .cost("reduce", move |call, _| {
            slower
                * match (call.bytes, call.algorithm) {
                    (1024, _) => 9e-6,
                    (_, 2) => 6.9e-6,
                    _ => 23e-6,
                }
        })
}

const SIZES: &str =
    "--guidelines GL8,GL1 --functions reduce --sizes 1024,4096 --only parameters --rounds 1 --arrival none";

/// A call that stays slower than the one that became faster says so.
#[test]
fn what_it_leaves_behind_for_good_has_a_reason() {
    let run = tune(with_a_smaller_size_behind_it(1.0), SIZES);
    assert_eq!(changes(&run), [DEPLOYED], "{:#?}", run.report.warnings);
    let behind = cell(&run, "GL1 reduce 1024");
    assert_eq!(behind.before.verdict, Outcome::Holds);
    assert_eq!(
        behind.after.as_ref().map(|after| after.verdict),
        Some(Outcome::Violated)
    );
    let reason = unfixed(&run, "GL1 reduce 1024");
    assert!(reason.contains("still takes 1.3"), "{reason}");
    assert!(
        unfixed(&run, SLOW).contains("still takes 1.1"),
        "{}",
        unfixed(&run, SLOW)
    );
    // The smallest deployment has nothing that mends nothing.
    let run = tune(with_a_smaller_size_behind_it(1.0), &format!("{SIZES} --goal smallest"));
    assert_eq!(changes(&run), [""; 0]);
    assert!(!unfixed(&run, SLOW).is_empty());
}

/// Each second of an application counts, whatever guideline is kept.
#[test]
fn the_report_of_a_mix_says_what_it_saves() {
    let mix = (
        "mix.toml",
        "[[call]]\nfunction = \"reduce\"\nbytes = 4096\ncalls = 1e6\n",
    );
    let (_directory, run) = tune_with(faster_by_an_algorithm(0.3), mix, &format!("{CELL} --mix FILE"));
    assert_eq!(changes(&run), [DEPLOYED]);
    let saved = run.report.savings.iter().find(|one| one.function == "reduce").unwrap();
    assert!(
        saved.certain && saved.seconds_after < 0.35 * saved.seconds_before,
        "{saved:?}"
    );
}

/// Fewer than five launches show nothing: what they would deploy stays out, and its cell stays open.
#[test]
fn where_the_budget_leaves_the_proof_too_few_launches_nothing_is_deployed() {
    let run = tune(with_a_smaller_size_behind_it(1000.0), &format!("{SIZES} --budget 20"));
    warning(
        &run,
        "nothing is deployed: the budget ended after 4 launches of its proof",
    );
    assert_eq!(changes(&run), [""; 0]);
}
