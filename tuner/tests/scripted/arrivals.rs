//! Candidates that win when the ranks come together, and lose when they arrive apart.

use kilter_model::not_deployed::NotDeployed;
use kilter_protocol::plan::Shape;

use super::*;

/// The library's algorithm 2 mends Reduce at 4096 B, and algorithm 3 does so less well. With ranks that arrive at random, algorithm 2 takes 1.5 times
/// as long as the default.
fn slow_apart() -> ScriptedLibrary {
    ScriptedLibrary::new().cost("reduce", |call, usual| match call.algorithm {
        _ if call.bytes != 4096 => usual,
        2 if call.arrival.is_some_and(|arrival| arrival.shape == Shape::Random) => 6.0 * usual,
        2 => 0.5 * usual,
        3 => 0.9 * usual,
        _ => 4.0 * usual,
    })
}

const ALGORITHMS: &str = "--guidelines GL8 --sizes 1024,4096 --only parameters";

#[test]
fn the_winner_that_is_slower_when_ranks_arrive_apart_is_refused_and_named() {
    let run = tune(slow_apart(), ALGORITHMS);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=3"]);
    assert!(is_mended(&run, SLOW));
    let contest = run
        .report
        .contests
        .iter()
        .find(|contest| contest.bytes == 4096)
        .unwrap();
    let refused = contest
        .candidates
        .iter()
        .find(|one| one.id == "reduce_algorithm=2")
        .unwrap();
    let Some(NotDeployed::SlowerApart { when, ratio, .. }) = &refused.not_deployed else {
        panic!("{:?}", refused.not_deployed)
    };
    assert_eq!(when, "when ranks arrive at random");
    assert!((ratio - 1.5).abs() < 0.1, "{ratio}");
    // The deployed files were measured so as well, beside the untouched library.
    let [cell] = &run.report.arrivals[..] else {
        panic!("{:?}", run.report.arrivals)
    };
    assert_eq!((cell.function.as_str(), cell.bytes), ("reduce", 4096));
    assert!(cell.comparison.ratio < 0.5 && cell.offset_seconds > 0.0, "{cell:?}");
}

#[test]
fn patterns_that_nobody_asks_for_refuse_nothing() {
    let run = tune(slow_apart(), &format!("{ALGORITHMS} --arrival none"));
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    assert!(run.report.arrivals.is_empty());
    let run = tune(slow_apart(), &format!("{ALGORITHMS} --arrival linear,late-one"));
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=2"]);
    let asked: Vec<&str> = run.report.arrivals.iter().map(|cell| cell.when.as_str()).collect();
    assert_eq!(
        asked,
        ["when ranks arrive one after the other", "when the last rank is late"]
    );
}

/// A setting of whole launches has no final in a running job: the proof finds that it is slower.
#[test]
fn a_setting_that_is_slower_when_ranks_arrive_apart_is_taken_back() {
    let library = ScriptedLibrary::new()
        .setting("x", "0", &["16"])
        .cost("reduce", |call, usual| match call.is("x", "16") {
            _ if call.bytes != 4096 => usual,
            true if call.arrival.is_some() => 5.0 * usual,
            true => usual,
            false => 4.0 * usual,
        });
    let run = tune(library, ALGORITHMS);
    assert_eq!(changes(&run), [""; 0]);
    let part = "is slower than the library's own when ranks arrive at random: 1.2";
    assert!(warning(&run, "`x=16` is taken back").contains(part));
}

/// `x=1` mends Reduce on two ranks and makes no difference on four, but when these arrive at random: the files of both layouts go without it.
#[test]
fn a_setting_of_one_layout_that_is_slower_on_another_when_ranks_arrive_apart_is_left_out() {
    let library = || {
        let cost = |call: &Call<'_>, usual: f64| {
            let is_random = call.arrival.is_some_and(|arrival| arrival.shape == Shape::Random);
            match (call.ranks, call.is("x", "1"), is_random) {
                (2, false, _) => 4.0 * usual,
                (4, true, true) => 1.5 * usual,
                _ => usual,
            }
        };
        ScriptedLibrary::new().setting("x", "0", &["1"]).cost("reduce", cost)
    };
    let changes = |arguments: &str| {
        let (_directory, site) = site(library());
        let arguments = format!("--guidelines GL8 --sizes 4096 --only parameters --layouts 2,2x2 {arguments}");
        let (reports, _) = site
            .tune_layouts(&arguments.split_whitespace().collect::<Vec<_>>())
            .unwrap();
        let changes = reports[0].changes.iter().map(|change| change.name.clone());
        let apart = reports[1]
            .arrivals
            .iter()
            .map(|cell| cell.comparison.ratio)
            .collect::<Vec<_>>();
        (changes.collect::<Vec<_>>(), apart, reports[0].warnings.join("\n"))
    };
    let (together, none, _) = changes("--arrival none");
    assert_eq!((together, none), (vec!["x".to_owned()], Vec::new()));
    let (at_random, _, warnings) = changes("--arrival random");
    assert_eq!(at_random, Vec::<String>::new(), "{warnings}");
    let part = "the setting acts on all layouts, 2x2 did not choose it, and other layouts' settings slowed a layout";
    assert!(warnings.contains(part), "{warnings}");
    // A setting that slows none stays, and the report of the layout that did not choose it has the comparison.
    let (kept, ratios, warnings) = changes("--arrival late-one,linear");
    assert_eq!(kept, ["x"], "{warnings}");
    assert!(
        ratios.len() == 2 && ratios.iter().all(|ratio| (ratio - 1.0).abs() < 0.1),
        "{ratios:?}"
    );
}

/// Reduce holds when the ranks come together. With a late rank it is twice as slow as Allreduce.
#[test]
fn a_check_says_what_is_violated_when_ranks_arrive_apart() {
    let library = ScriptedLibrary::new().cost("reduce", |call, usual| match call.arrival.map(|one| &one.shape) {
        Some(Shape::LateOne { .. }) => 4.0 * usual,
        _ => usual,
    });
    let run = check(library, "--guidelines GL8 --sizes 4096 --arrival none,late-one,linear");
    assert_eq!(cell(&run, SLOW).before.verdict, Outcome::Holds);
    let found: Vec<(&str, Outcome)> = run
        .report
        .arrivals
        .iter()
        .map(|cell| (cell.when.as_str(), cell.comparison.verdict))
        .collect();
    assert_eq!(
        found,
        [
            ("when the last rank is late", Outcome::Violated),
            ("when ranks arrive one after the other", Outcome::Holds)
        ]
    );
}

/// The two fastest are slower when ranks arrive at random: the second one takes no place that it was not compared for.
#[test]
fn what_takes_the_place_of_a_winner_is_compared_with_ranks_apart_as_well() {
    let library = ScriptedLibrary::new().cost("reduce", |call, usual| {
        let is_random = call.arrival.is_some_and(|arrival| arrival.shape == Shape::Random);
        match call.algorithm {
            _ if call.bytes != 4096 => usual,
            1 => 0.9 * usual,
            2 | 3 if is_random => 6.0 * usual,
            2 => 0.5 * usual,
            3 => 0.7 * usual,
            _ => 4.0 * usual,
        }
    });
    let run = tune(library, ALGORITHMS);
    assert_eq!(changes(&run), ["MPI_Reduce at 4 KiB=reduce_algorithm=1"]);
    assert!(is_mended(&run, SLOW));
    let taken_back = |text: &&String| text.contains("is taken back");
    assert_eq!(run.report.warnings.iter().find(taken_back), None);
}
