//! Verdicts on scripted launches.

use kilter_fixtures::survey as fixture;
use kilter_model::config::target;
use kilter_model::survey::{Cell, Map};
use kilter_stats::verdict::Test;

use super::*;

fn named(id: &str) -> Target {
    let all = target::load_embedded().unwrap();
    all.into_iter().find(|target| target.id == id).unwrap()
}

/// Launches of one map each; the ratio of a launch, size and computation time.
fn launches(benchmark: Benchmark, count: usize, ratio: impl Fn(usize, u64, u64) -> f64) -> Vec<Survey> {
    (0..count)
        .map(|launch| fixture::survey(vec![fixture::map(benchmark, |bytes, ns| ratio(launch, bytes, ns))]))
        .collect()
}

fn edit(mut surveys: Vec<Survey>, change: impl Fn(&mut Cell)) -> Vec<Survey> {
    let maps = surveys.iter_mut().flat_map(|survey| &mut survey.maps);
    maps.flat_map(|map: &mut Map| &mut map.cells).for_each(change);
    surveys
}

/// Difference of launches: from -2 % to 2 % of the shorter time.
fn spread(launch: usize) -> f64 {
    0.01 * (launch as f64 - 2.0)
}

fn verdicts(base: &[Survey], now: &[Survey]) -> Judgement {
    judge(&named("OV_SENDER"), base, now, &Rule::default())
}

#[test]
fn one_launch_and_many_hold_and_miss_alike() {
    for count in [1, 3, 10] {
        let good = launches(Benchmark::Sender, count, |launch, _, _| 0.08 + spread(launch % 5));
        let bad = launches(Benchmark::Sender, count, |launch, _, _| 0.97 + spread(launch % 5));
        let held = verdicts(&good, &good);
        assert_eq!(held.standing(), Standing::Holds, "{count} launches");
        // 64 KiB to 4 MiB (the map's largest), where computation is at least as long as 16 us to 842 us of communication.
        assert_eq!(held.cells.len(), 10 + 10 + 9 + 8 + 7 + 6 + 5);
        let missed = verdicts(&bad, &bad);
        assert_eq!(missed.count(Verdict::Missed), missed.cells.len(), "{count} launches");
        assert_eq!(missed.standing(), Standing::Missed);
        assert!(
            missed
                .cells
                .iter()
                .all(|cell| (cell.value - 0.97).abs() < 0.03 && cell.p_adjusted <= 0.05)
        );
        assert_eq!(missed.launches, [count, count]);
    }
}

#[test]
fn slower_communication_is_no_better_overlap() {
    let base = launches(Benchmark::Sender, 1, |_, _, _| 1.0);
    // Communication takes three times as long, and hides so well that its own ratio is good.
    let slowed = edit(launches(Benchmark::Sender, 1, |_, _, _| 1.0), |cell| {
        cell.communication_seconds *= 3.0;
        let overlapped = cell.ideal_seconds() + 0.15 * cell.serialised_overhead_seconds();
        let later = overlapped - cell.overlapped_seconds;
        cell.overlapped_seconds = overlapped;
        cell.overlapped_interval_seconds = cell.overlapped_interval_seconds.map(|seconds| seconds + later);
    });
    let own_ratio = |cell: &Cell| (cell.overlapped_seconds - cell.ideal_seconds()) / cell.serialised_overhead_seconds();
    assert!(slowed[0].maps[0].cells.iter().all(|cell| own_ratio(cell) < 0.2));
    let own = verdicts(&slowed, &slowed);
    assert_eq!(own.standing(), Standing::Holds, "against itself it would pass");
    let judged = verdicts(&base, &slowed);
    assert_eq!(judged.standing(), Standing::Missed);
    assert!((judged.communication - 3.0).abs() < 1e-9, "{}", judged.communication);
    // A computation that is long enough to hide even that does: 0.15 of three times the time.
    let covered = judged
        .cells
        .iter()
        .find(|cell| cell.computation_ns == 16_384_000)
        .unwrap();
    assert!(
        (covered.value - 0.45).abs() < 0.01 && covered.verdict == Verdict::Missed,
        "{covered:?}"
    );
}

#[test]
fn near_the_bound_nothing_is_decided_and_noise_misses_nothing() {
    let near = launches(Benchmark::Sender, 1, |_, _, _| 0.27);
    let wide = edit(near, |cell| {
        let half = 0.2 * cell.serialised_overhead_seconds();
        cell.overlapped_interval_seconds = [cell.overlapped_seconds - half, cell.overlapped_seconds + half];
    });
    let judged = verdicts(&wide, &wide);
    assert_eq!(
        (judged.standing(), judged.count(Verdict::Missed)),
        (Standing::Undecided, 0)
    );
    // A true 0.15 that is seen with an error as large as its intervals say: of 40 runs of 50 cells hardly one misses any.
    let mut false_alarms = 0;
    for seed in 0..40 {
        let map = fixture::with_noise(fixture::map(Benchmark::Sender, |_, _| 0.15), 0.2, seed);
        let noisy = edit(vec![fixture::survey(vec![map])], |cell| {
            // Uniform noise of +-0.2 has a standard deviation of 0.115.
            let half = 1.96 * 0.115 * cell.serialised_overhead_seconds();
            cell.overlapped_interval_seconds = [cell.overlapped_seconds - half, cell.overlapped_seconds + half];
        });
        false_alarms += usize::from(verdicts(&noisy, &noisy).standing() == Standing::Missed);
    }
    assert!(false_alarms <= 2, "{false_alarms} of 40");
}

#[test]
fn every_launch_must_show_what_few_launches_show() {
    let base = launches(Benchmark::Sender, 3, |_, _, _| 0.5);
    let mixed = launches(
        Benchmark::Sender,
        3,
        |launch, _, _| if launch == 1 { 0.05 } else { 0.97 },
    );
    let judged = verdicts(&base, &mixed);
    assert_eq!(judged.count(Verdict::Missed), 0);
    assert_eq!(judged.count(Verdict::Undecided), judged.cells.len());
}

#[test]
fn many_launches_are_judged_by_their_ranks() {
    // One launch of ten takes ten times as long: a spike is one launch.
    let spiked = launches(Benchmark::Sender, 10, |launch, _, _| {
        if launch == 4 { 10.0 } else { 0.1 + spread(launch % 5) }
    });
    let base = launches(Benchmark::Sender, 10, |launch, _, _| 0.1 + spread(launch % 5));
    assert_eq!(verdicts(&base, &spiked).standing(), Standing::Holds);
    let exact = Rule {
        test: Test::Exact,
        ..Rule::default()
    };
    let once = launches(Benchmark::Sender, 1, |_, _, _| 0.3);
    assert_eq!(
        judge(&named("OV_SENDER"), &once, &once, &exact).standing(),
        Standing::Missed
    );
}

#[test]
fn masked_inferred_and_missing_cells_are_no_evidence() {
    let bad = launches(Benchmark::Sender, 1, |_, _, _| 1.0);
    let masked = edit(bad.clone(), |cell| {
        cell.noise_seconds = cell.serialised_overhead_seconds() / 4.9
    });
    let judged = verdicts(&masked, &masked);
    assert_eq!(judged.standing(), Standing::Unknown);
    assert_eq!(judged.count(Verdict::Masked), judged.cells.len());
    assert!(!judged.cells.is_empty() && judged.cells.iter().all(|cell| cell.p_adjusted == 1.0));
    assert!(
        judged.is_lost_in_noise()
            && judged
                .remark()
                .is_some_and(|remark| remark.starts_with("cannot be told from noise"))
    );
    assert!(text(&[judged], None).contains("near the noise in 55"));
    // A candidate that makes times erratic does not hide behind its own noise.
    let erratic = verdicts(&bad, &masked);
    assert_eq!(
        (erratic.standing(), erratic.count(Verdict::Masked)),
        (Standing::Missed, 0)
    );
    let inferred = edit(bad.clone(), |cell| cell.inferred = true);
    assert!(verdicts(&inferred, &inferred).cells.is_empty());
    // A candidate whose cells hang does not become good by that.
    let mut good = launches(Benchmark::Sender, 1, |_, _, _| 0.0);
    let cells = &mut good[0].maps[0].cells;
    cells.retain(|cell| (cell.bytes, cell.computation_ns) != (1 << 20, 1_024_000));
    let judged = verdicts(&bad, &good);
    assert_eq!((judged.standing(), judged.unmeasured), (Standing::Undecided, 1));
    let nothing = verdicts(&[], &good);
    assert_eq!(
        (nothing.standing(), nothing.is_lost_in_noise()),
        (Standing::Unknown, false)
    );
    let one_above = edit(masked, |cell| {
        if (cell.bytes, cell.computation_ns) == (1 << 20, 1_024_000) {
            cell.noise_seconds = 0.0;
        }
    });
    assert!(!verdicts(&one_above, &one_above).is_lost_in_noise());
    assert_eq!(verdicts(&bad, &[]).standing(), Standing::Undecided);
}

#[test]
fn what_is_not_attainable_is_said_unless_it_was_attained() {
    let receiver = named("OV_RECEIVER");
    let of = |ratio: f64| {
        let surveys = launches(Benchmark::Receiver, 1, |_, _, _| ratio);
        judge(&receiver, &surveys, &surveys, &Rule::default())
    };
    assert!(
        of(1.0)
            .not_attainable_because()
            .unwrap()
            .contains("the receiver has to copy")
    );
    assert_eq!(of(0.05).not_attainable_because(), None);
    let mut surveys = launches(Benchmark::Receiver, 1, |_, _, _| 1.0);
    surveys[0].processing_units = 8;
    let judged = judge(&receiver, &surveys, &surveys, &Rule::default());
    assert_eq!(
        (judged.standing(), judged.not_attainable_because()),
        (Standing::Missed, None)
    );
}

#[test]
fn computing_threads_are_judged_by_the_slowdown() {
    let of = |slowdown: fn(u64, u32) -> f64| {
        let surveys = vec![fixture::survey(vec![fixture::thread_load(slowdown)])];
        judge(&named("OV_THREADS"), &surveys, &surveys, &Rule::default())
    };
    let calm = of(|_, _| 1.3);
    assert_eq!((calm.standing(), calm.cells.len()), (Standing::Holds, 90));
    let penalised = of(|_, threads| if threads > 6 { 40.0 } else { 1.0 });
    assert_eq!(
        (penalised.standing(), penalised.count(Verdict::Missed)),
        (Standing::Missed, 20)
    );
}

#[test]
fn the_correction_runs_over_the_cells_of_all_targets() {
    let surveys = launches(Benchmark::Sender, 1, |_, _, _| 1.0);
    let wide = edit(surveys, |cell| {
        // A bit more than 3 standard errors beyond the bound: enough for one cell, not for many.
        let half = 1.96 * 0.8 * cell.serialised_overhead_seconds() / 3.05;
        cell.overlapped_interval_seconds = [cell.overlapped_seconds - half, cell.overlapped_seconds + half];
    });
    let sender = named("OV_SENDER");
    let one = Target {
        bytes: [4 << 20, 4 << 20],
        computation: target::Computation::Between([16_384_000, 16_384_000]),
        ..sender.clone()
    };
    let alone = judge(&one, &wide, &wide, &Rule::default());
    assert_eq!((alone.cells.len(), alone.standing()), (1, Standing::Missed));
    let together = judge_all(&[one, sender], &wide, &wide, &Rule::default());
    assert_eq!(together[0].standing(), Standing::Undecided);
    assert!((together[0].cells[0].p_adjusted / alone.cells[0].p_adjusted - 56.0).abs() < 2.0);
}

#[test]
fn tables_show_both_sides_what_it_cost_and_why_not() {
    let survey = fixture::without_threads();
    let targets = target::load_embedded().unwrap();
    let before = judge_all(
        &targets,
        std::slice::from_ref(&survey),
        std::slice::from_ref(&survey),
        &Rule::default(),
    );
    insta::assert_snapshot!(text(&before, None));
    let mut tuned = fixture::without_threads();
    for map in tuned
        .maps
        .iter_mut()
        .filter(|map| map.benchmark != Benchmark::ThreadLoad)
    {
        for cell in &mut map.cells {
            cell.communication_seconds *= 1.2;
            let ideal = cell.ideal_seconds();
            cell.overlapped_seconds = ideal;
            cell.overlapped_interval_seconds = [ideal - 1e-7, ideal + 1e-7];
        }
    }
    let after = judge_all(&targets, &[survey], &[tuned], &Rule::default());
    insta::assert_snapshot!(text(&before, Some(&after)));
    let rows = cells(&after[0]).to_text();
    assert_eq!(rows.lines().count(), 3 + after[0].cells.len(), "{rows}");
}
