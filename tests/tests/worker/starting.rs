//! Starting together on clocks that differ, cold caches, and how many repetitions are made.

use kilter_algorithms::Collective;
use kilter_protocol::plan::{Cache, ClockFault, Repetitions, StopRules, Synchronisation, Wait, Window};
use kilter_protocol::report::{End, Event, Start, Synchronised};

use crate::worker::job::{Finished, Job, block, item};

/// Added to what a survey may be wrong by: the clocks drift on while rank 0 asks, here by up to 200 ppm of some milliseconds.
const MEANWHILE_SECONDS: f64 = 10e-6;

fn start(finished: &Finished) -> &Start {
    let Some(Event::Start(start)) = finished.events.first() else {
        panic!("no start: {:?}", finished.events)
    };
    start
}

fn end(finished: &Finished) -> &End {
    let Some(Event::End(end)) = finished.events.last() else {
        panic!("no end: {:?}", finished.events)
    };
    end
}

/// Before and after the repetitions.
fn surveys(finished: &Finished) -> [Synchronised; 2] {
    [start(finished).sync.unwrap(), end(finished).sync.unwrap()]
}

fn fault(rank: usize, offset_seconds: f64, drift_ppm: f64) -> ClockFault {
    ClockFault {
        rank,
        offset_seconds,
        drift_ppm,
    }
}

/// A job on wrong clocks that measures for a while.
fn run_on_wrong_clocks(ranks: usize, sync: Synchronisation, faults: Vec<ClockFault>, seconds: f64) -> Finished {
    let mut job = Job::new(ranks);
    job.header.sync = sync;
    job.header.clock_faults = faults;
    let mut long = block("long", vec![item("a", Collective::Allreduce, 8, "allreduce(n)")]);
    long.repetitions = Repetitions::fixed(u32::MAX, seconds);
    let short = block("short", vec![item("b", Collective::Bcast, 8, "bcast(n)")]);
    job.run_well(&[long, short])
}

fn assert_true_within_what_is_stated(survey: &Synchronised) {
    let true_error = survey.true_error_seconds.expect("the clocks were made wrong");
    assert!(
        true_error <= survey.residual_seconds + survey.bound_seconds + MEANWHILE_SECONDS,
        "{survey:?}"
    );
    // Far below what the clocks are wrong by: seconds of offset.
    assert!(true_error < 0.02, "{survey:?}");
}

fn clocks_that_differ_in_offset_and_drift_become_one() {
    let mut checks = 0;
    for ranks in [2, 3, 5] {
        let faults = (0..ranks)
            .map(|rank| fault(rank, 3.0 * rank as f64 - 2.5, 50.0 - 40.0 * rank as f64))
            .collect();
        let finished = run_on_wrong_clocks(ranks, Synchronisation::RoundTime, faults, 1.0);
        for survey in surveys(&finished) {
            assert_eq!(survey.method, Synchronisation::RoundTime);
            assert_true_within_what_is_stated(&survey);
        }
        checks += end(&finished).sync.unwrap().checks;
        // On clocks that are seconds apart, a time that mixes two of them is negative, which counts as zero, or seconds long.
        let times = finished.samples("long", "a");
        assert!(
            !times.is_empty() && times.iter().all(|seconds| (1e-9..1.0).contains(seconds)),
            "{times:?}"
        );
    }
    // A history of some 120 ms is not relied on for a second. On a busy machine it takes longer to learn, and the checks of a job may come later
    // than its end.
    assert!(checks >= 1);
}

fn auto_takes_the_shared_clock_where_there_is_one_and_else_the_round_time() {
    let shared = run_on_wrong_clocks(2, Synchronisation::Auto, Vec::new(), 0.1);
    for survey in surveys(&shared) {
        assert_eq!(survey.method, Synchronisation::SharedClock);
        assert_eq!((survey.drift_ppm_max, survey.true_error_seconds), (0.0, None));
        assert!(survey.residual_seconds <= survey.bound_seconds, "one clock: {survey:?}");
        assert!(survey.bound_seconds > 0.0);
    }
    let apart = run_on_wrong_clocks(2, Synchronisation::Auto, vec![fault(1, 3.0, 50.0)], 0.1);
    assert_eq!(
        surveys(&apart).map(|survey| survey.method),
        [Synchronisation::RoundTime; 2]
    );
}

fn a_shared_clock_is_refused_where_there_is_none() {
    let mut job = Job::new(2);
    job.header.sync = Synchronisation::SharedClock;
    job.header.clock_faults = vec![fault(1, 3.0, 0.0)];
    let finished = job.run(&[]);
    assert!(!finished.status.success());
    assert!(
        finished.stderr.contains("the clock of rank 1 is") && finished.stderr.contains("--sync round-time"),
        "{}",
        finished.stderr
    );
}

fn a_barrier_needs_no_common_clock() {
    let finished = run_on_wrong_clocks(3, Synchronisation::Barrier, vec![fault(1, 30.0, 0.0)], 0.2);
    assert_eq!(
        surveys(&finished).map(|survey| survey.method),
        [Synchronisation::Barrier; 2]
    );
    let times = finished.samples("long", "a");
    assert!(
        !times.is_empty() && times.iter().all(|seconds| (1e-9..1.0).contains(seconds)),
        "{times:?}"
    );
}

fn clocks_and_loop_are_measured_at_the_start() {
    let finished = Job::new(2).run_well(&[]);
    let start = start(&finished);
    for seconds in [
        start.clock_tick_seconds,
        start.clock_read_seconds,
        start.loop_overhead_seconds,
    ] {
        assert!(seconds > 0.0 && seconds < 1.0, "{start:?}");
    }
    assert_eq!((start.swept_bytes, end(&finished).sweeps), (None, 0));
}

fn ranks_spin_where_each_has_a_processor_and_sleep_where_they_share() {
    let processors = std::thread::available_parallelism().unwrap().get();
    for (ranks, wait) in [(processors, Wait::Spin), (2 * processors, Wait::Sleep)] {
        let mut job = Job::new(ranks);
        job.header.wait = None;
        let finished = job.run_well(&[]);
        assert_eq!(
            start(&finished).wait,
            Some(wait),
            "{ranks} ranks on {processors} processors"
        );
    }
}

fn caches_are_swept_before_every_repetition() {
    let mut job = Job::new(2);
    job.header.cache = Cache::Cold { bytes: Some(1 << 20) };
    let mut cold = block("cold", vec![item("a", Collective::Bcast, 4096, "bcast(n)")]);
    cold.repetitions = Repetitions::fixed(9, 60.0);
    let finished = job.run_well(&[cold]);
    assert_eq!(start(&finished).swept_bytes, Some(1 << 20));
    let made = finished.events.iter().find_map(|event| match event {
        Event::Samples { seconds, void, .. } => Some(seconds.len() as u64 + u64::from(*void)),
        _ => None,
    });
    // Those that count, those that were void, at most two warm-ups (a busy machine may void all), and the one before the block was
    // seen to have enough.
    let others = end(&finished).sweeps - made.unwrap();
    assert!((1..=3).contains(&others), "{:?}", finished.events);
}

fn the_caches_size_is_found_where_none_is_given() {
    let mut job = Job::new(2);
    job.header.cache = Cache::Cold { bytes: None };
    let finished = job.run_well(&[]);
    assert!(start(&finished).swept_bytes.is_some_and(|bytes| bytes >= 1 << 20));
}

fn a_window_of_medians_ends_a_block_and_a_fixed_number_is_kept() {
    let mut steady = block("steady", vec![item("a", Collective::Bcast, 8, "bcast(n)")]);
    // The threshold is met by any times: the coefficient of variation of five running medians is below a million.
    let window = Some(Window {
        threshold: 1e6,
        size: 5,
    });
    steady.repetitions = Repetitions {
        min: 1,
        max: 100,
        step: 4,
        stop: StopRules {
            median: window,
            ..StopRules::default()
        },
        seconds: 60.0,
    };
    let mut fixed = block("fixed", vec![item("a", Collective::Bcast, 8, "bcast(n)")]);
    fixed.repetitions = Repetitions::fixed(7, 60.0);
    let finished = Job::new(2).run_well(&[steady, fixed]);
    for (block, wanted) in [("steady", 5), ("fixed", 7)] {
        let made = finished.samples(block, "a").len();
        // A machine that is busy enough makes a hundred of them void, which ends a block.
        let is_given_up = void_of(&finished, block) >= 100 && made < wanted;
        assert!(
            made == wanted || is_given_up,
            "{block}: {made} in {:?}",
            finished.events
        );
    }
}

/// Void repetitions of a block.
fn void_of(finished: &Finished, wanted: &str) -> u32 {
    let of = |event: &Event| match event {
        Event::Samples { block, void, .. } if block == wanted => Some(*void),
        _ => None,
    };
    finished.events.iter().find_map(of).unwrap_or(0)
}

kilter_tests::cases![
    clocks_that_differ_in_offset_and_drift_become_one,
    auto_takes_the_shared_clock_where_there_is_one_and_else_the_round_time,
    a_shared_clock_is_refused_where_there_is_none,
    a_barrier_needs_no_common_clock,
    clocks_and_loop_are_measured_at_the_start,
    ranks_spin_where_each_has_a_processor_and_sleep_where_they_share,
    caches_are_swept_before_every_repetition,
    the_caches_size_is_found_where_none_is_given,
    a_window_of_medians_ends_a_block_and_a_fixed_number_is_kept,
];
