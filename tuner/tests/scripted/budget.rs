//! Seconds of the scripted clock.

use kilter_bench::launch::scripted::Noise;
use kilter_model::report::GainVerdict;

use super::*;

const MANY: &str = "--guidelines GL8,GL10,GL12,GL13 --sizes 1..64KiB:x4";

/// Reduce is a little slower than Allreduce at every size, on a machine that is not quiet: many launches decide.
fn unclear() -> ScriptedLibrary {
    let noise = Noise {
        item: 0.08,
        ..Noise::default()
    };
    ScriptedLibrary::new()
        .slower(10_000.0)
        .noise(noise)
        .cost("reduce", |_, usual| 1.85 * usual)
}

fn count(run: &Run, verdict: Outcome) -> usize {
    run.report
        .cells
        .iter()
        .filter(|cell| cell.before.verdict == verdict)
        .count()
}

#[test]
fn a_budget_that_ends_in_the_middle_says_what_was_only_screened() {
    let run = tune(unclear(), &format!("{MANY} --budget 30"));
    assert!(count(&run, Outcome::Screened) > 0);
    warning(&run, "only screened; raise --budget");
    assert!(run.seconds < 33.0, "{}", run.seconds);
}

/// Screening takes more than the first verification is allowed. Violations are decided all the same, the clearest first.
#[test]
fn where_screening_takes_long_the_clearest_violations_are_decided_still() {
    let library = unclear().cost("bcast", |_, usual| 6.0 * usual);
    let run = tune(library, &format!("{MANY} --budget 40"));
    assert!(count(&run, Outcome::Screened) > 0);
    assert!(count(&run, Outcome::Violated) > 0, "{:#?}", run.report.warnings);
    assert!(run.seconds < 40.0 + 3.0, "{}", run.seconds);
}

/// A launch of everything takes longer than the first verification may. Coarse sizes alone are looked at, a second time as well, and decided; what no
/// launch came to is named.
#[test]
fn where_one_look_at_everything_takes_too_long_coarse_sizes_are_decided() {
    let library = ScriptedLibrary::new()
        .slower(40_000.0)
        .cost("reduce", |_, usual| 6.0 * usual);
    let run = tune(
        library,
        "--guidelines GL8,GL10,GL12,GL13 --sizes 1..64KiB:x2 --type byte --budget 60",
    );
    let coarse = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536];
    assert!(run.report.cells.iter().all(|cell| coarse.contains(&cell.bytes)));
    assert!(count(&run, Outcome::Violated) > 0 && count(&run, Outcome::Holds) > 8);
    assert!(
        run.report.unreached.contains("reduce(n) @2"),
        "{:?}",
        run.report.unreached
    );
    assert!(run.seconds < 60.0, "{}", run.seconds);
}

/// Calls of half a second, so that the first launch alone would outlast the budget: it ends after the block that it is in, and keeps what it
/// has measured.
#[test]
fn a_launch_that_is_out_of_time_ends_after_its_block() {
    let run = tune(unclear().slower(30_000.0), &format!("{MANY} --budget 10"));
    warning(
        &run,
        "blocks were not measured, since the time of their launches was over",
    );
    assert!(run.seconds < 10.0 + 2.0, "{}", run.seconds);
}

/// Calls of up to a second, of which five launches with all finalists would make 68 s: as many are made as the search has time for. The seconds left
/// are too few for a proof, and nothing is deployed without one.
#[test]
fn finals_end_with_the_time_of_the_search() {
    let library = slow_reduce(|call| call.algorithm == 2).slower(100_000.0);
    let run = tune(
        library,
        "--guidelines GL8 --sizes 4096 --only parameters --budget 60 --arrival none",
    );
    warning(&run, "the budget ended after 3 of 5 launches that compare finalists");
    warning(
        &run,
        "nothing is deployed: the budget ended after 2 launches of its proof",
    );
    assert_eq!(changes(&run), [""; 0]);
    assert!(run.seconds < 60.0, "{}", run.seconds);
}

/// Reduce breaks its guideline at many sizes. The seconds reach for few calls, and of these the violated ones come first.
#[test]
fn where_the_seconds_reach_for_few_finals_these_are_held() {
    let library =
        ScriptedLibrary::new().slower(3_000.0).cost(
            "reduce",
            |call, usual| {
                if call.algorithm == 2 { usual } else { 4.0 * usual }
            },
        );
    let run = tune(
        library,
        "--guidelines GL8,GL12,GL13 --sizes 1..64KiB:x2 --type byte --budget 150",
    );
    assert!(!changes(&run).is_empty(), "{:#?}", run.report.warnings);
    warning(&run, "the budget ended before every call was searched");
    assert!(run.seconds < 150.0, "{}", run.seconds);
}

/// Reduce and Bcast have algorithms that take sixty times as long as the best, so that a block of their screening takes longer than both finals.
#[test]
fn slow_candidates_keep_no_final_away() {
    let library = ScriptedLibrary::new()
        .slower(3_000.0)
        .cost("reduce", |call, usual| match call.algorithm {
            2 => usual,
            3 => 60.0 * usual,
            _ => 4.0 * usual,
        })
        .cost("bcast", |call, usual| match call.algorithm {
            2 => usual,
            3 => 60.0 * usual,
            _ => 8.0 * usual,
        });
    let run = tune(
        library,
        "--guidelines GL8,GL10 --sizes 4096 --only parameters --budget 43 --rounds 1",
    );
    assert_eq!(
        changes(&run),
        [
            "MPI_Bcast at 4 KiB=bcast_algorithm=2",
            "MPI_Reduce at 4 KiB=reduce_algorithm=2"
        ],
        "{:#?}",
        run.report.warnings
    );
}

#[test]
fn with_seconds_enough_nothing_is_only_screened() {
    let run = tune(unclear(), &format!("{MANY} --budget 3600"));
    assert_eq!(count(&run, Outcome::Screened), 0);
    assert!(count(&run, Outcome::Violated) > 0);
    assert!(run.seconds < 3600.0, "{}", run.seconds);
}

/// One launch that takes long, for what it tries or for what runs beside it, says little of the others: the search goes on.
#[test]
fn a_slow_launch_does_not_end_the_search() {
    let library = slow_reduce(|call| call.is("good", "1"))
        .setting("bad", "0", &["1"])
        .setting("good", "0", &["1"])
        .cost("allreduce", |call, usual| if call.is("bad", "1") { 3.0 } else { usual });
    let run = tune(library, &format!("{REDUCE} --only parameters --budget 60"));
    assert!(is_mended(&run, SLOW), "{}", unfixed(&run, SLOW));
    assert_eq!(changes(&run), ["good=1"]);
    let ended = run
        .report
        .warnings
        .iter()
        .filter(|text| text.contains("before every launch setting"));
    assert_eq!(ended.count(), 0);
}

/// Contests come first, and leave settings of whole launches what they do not need: the last of many is tried still.
#[test]
fn settings_are_tried_in_the_seconds_that_contests_leave() {
    let many: Vec<String> = (1..=40).map(|value| value.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let library = slow_reduce(|call| call.is("first", "40"))
        .setting("first", "0", &many)
        .slower(SLOWER);
    let run = tune(library, &format!("{REDUCE} --only parameters --budget 60"));
    assert_eq!(changes(&run), ["first=40"], "{:#?}", run.report.warnings);
    assert!(is_mended(&run, SLOW), "{:#?}", run.report.warnings);
    let mut warnings = run.report.warnings.iter();
    assert!(!warnings.any(|text| text.contains("before every launch setting")));
}

/// Nothing mends Reduce, for which more settings are tried than the seconds reach for. They leave the proof of Broadcast's row its own.
#[test]
fn settings_that_find_nothing_spend_no_seconds_of_the_proof() {
    let many: Vec<String> = (1..=400).map(|value| value.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let library = slow_reduce(|_| false)
        .setting("idle", "0", &many)
        .row("bcast.binomial", |_, usual| 0.4 * usual)
        .slower(20_000.0);
    let run = tune(library, "--guidelines GL8,GL10 --sizes 4096 --budget 90 --rounds 1");
    warning(&run, "before every launch setting");
    assert_eq!(
        changes(&run),
        ["MPI_Bcast at 4 KiB=bcast.binomial"],
        "{:#?}",
        run.report.warnings
    );
}

/// Reduce at 4 KiB is mended by a setting that touches everything, more than the proof has time for: what was violated is proven, and the others are
/// not said to be as they were.
#[test]
fn a_proof_without_time_for_everything_begins_with_what_was_violated() {
    let library = slow_reduce(|call| call.is("x", "1"))
        .setting("x", "0", &["1"])
        .slower(SLOWER);
    let run = tune(
        library,
        &format!("--guidelines GL1,GL8,GL10,GL12,GL13 --sizes 1..64KiB:x4 --only parameters --budget {SECONDS}"),
    );
    assert_eq!(changes(&run), ["x=1"], "{:#?}", run.report.warnings);
    assert!(is_mended(&run, SLOW), "{:#?}", run.report.warnings);
    warning(&run, "cells again that what is deployed may act on");
    let after = |verdict| {
        let verdicts = run.report.cells.iter().filter_map(|cell| cell.after.as_ref());
        verdicts.filter(|after| after.verdict == verdict).count()
    };
    let left: Vec<&Cell> = run.report.cells.iter().filter(|cell| cell.after.is_none()).collect();
    assert!(!left.is_empty() && after(Outcome::Holds) > 0);
    let reasons = left.iter().map(|cell| cell.not_measured_again.as_deref());
    assert!(
        reasons.into_iter().all(|why| why == Some("the budget ended")),
        "it may act on everything"
    );
    assert!(run.seconds < SECONDS + 3.0, "{}", run.seconds);
}

const SLOWER: f64 = 2_000.0;
const SECONDS: f64 = 140.0;

/// The first proof takes reduce's algorithm back. What is left has another collective, so that it is proven by the same launches; there would be no
/// seconds for others.
#[test]
fn what_a_change_that_is_taken_back_does_not_touch_is_proven_once() {
    let library = super::partial::faster_by_an_algorithm(1.4)
        .row("bcast.binomial", |_, usual| 0.4 * usual)
        .slower(20_000.0);
    let run = tune(
        library,
        "--guidelines GL8,GL10 --sizes 4096 --budget 70 --rounds 1 --arrival none",
    );
    warning(&run, "`reduce_algorithm=2` is taken back");
    let is_cut = |text: &String| text.contains("of the proof of what is left");
    assert!(!run.report.warnings.iter().any(is_cut), "{:#?}", run.report.warnings);
    assert_eq!(changes(&run), ["MPI_Bcast at 4 KiB=bcast.binomial"]);
    assert!(launches_of_gain(&run, "bcast") > 1, "those of the first proof");
}

/// Allreduce is compared with a reduce whose algorithm is taken back, and the second proof has the seconds of one launch.
#[test]
fn a_second_proof_that_is_cut_keeps_the_first_ones_times_where_nothing_changed() {
    let library = super::partial::faster_by_an_algorithm(1.4)
        .row("bcast.binomial", |_, usual| 0.4 * usual)
        .row("allreduce.recursive_doubling", |_, usual| 0.4 * usual)
        .slower(20_000.0);
    let run = tune(
        library,
        "--guidelines GL8,GL10,GL13 --sizes 4096 --budget 90 --rounds 1 --arrival none",
    );
    warning(&run, "`reduce_algorithm=2` is taken back");
    warning(&run, "of the proof of what is left; raise --budget");
    assert!(changes(&run).contains(&"MPI_Bcast at 4 KiB=bcast.binomial".to_owned()));
    assert!(launches_of_gain(&run, "bcast") > 1, "those of the first proof");
}

/// Launches that show that a collective became faster.
fn launches_of_gain(run: &Run, function: &str) -> usize {
    let gain = run.report.gains.iter().find(|gain| gain.function == function).unwrap();
    assert_eq!(gain.verdict, GainVerdict::Faster);
    gain.launches
}

/// More is faster than the budget can prove. Nothing was deployed then, since a proof that is cut shows nothing: a part that is proven is deployed now.
#[test]
fn what_the_budget_cannot_prove_is_left_out_and_the_rest_is_proven() {
    let rows = [
        "allgather.ring",
        "allreduce.ring",
        "bcast.binomial",
        "gather.binomial",
        "reduce.binomial",
        "scan.linear",
        "scatter.binomial",
    ];
    let library = rows
        .into_iter()
        .fold(ScriptedLibrary::new().slower(300.0), |library, row| {
            library.row(row, |_, usual| 0.4 * usual)
        });
    let run = tune(
        library,
        "--guidelines GL* --sizes 1..64KiB:x4 --only algorithms --budget 46",
    );
    warning(&run, "the budget has not the seconds to prove what was chosen for");
    assert!(!run.report.changes.is_empty(), "{:#?}", run.report.warnings);
    assert!(run.seconds < 46.0 + 3.0, "{}", run.seconds);
}
