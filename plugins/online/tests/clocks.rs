//! Ranks whose clocks run apart: what they choose, and that they stay together.

use kilter_online::{Act, Arm, Clock, Settings, Site, Step, last_ended};

const RANKS: usize = 3;
const US: f64 = 1_000.0;

/// Gain of each rank's clock on true time, in millionths: as far apart as clocks of hosts without a time service are.
const GAINS_PPM: [f64; RANKS] = [40.0, 0.0, -40.0];

/// Time of a call until each rank leaves it. The default takes 100 us on all ranks. Under the other arm, which takes half as long again, one rank leaves
/// early, as one does that only sends.
fn leaves(arm: Arm, rank: usize) -> f64 {
    match (arm, rank) {
        (Arm::DEFAULT, _) => 100.0 * US,
        (_, 0) => 40.0 * US,
        _ => 150.0 * US,
    }
}

/// A job of so many calls, a call each 2 ms, the last tenth of another size; true if clocks are compared when they are due. Returns the arm that is chosen
/// for that size, the largest error of the common time of two ranks meanwhile, and the number of comparisons.
fn job(calls: u64, compares: bool) -> (Arm, f64, u32) {
    let own = |now: f64, rank: usize| (now * (1.0 + GAINS_PPM[rank] * 1e-6)) as i64 + 1_000_000_007 * rank as i64;
    let begin = 1e9;
    // As compared in `MPI_Init`.
    let offset = |now: f64, rank: usize| own(now, 0) - own(now, rank);
    let mut clocks: [Clock; RANKS] = std::array::from_fn(|rank| Clock::new(offset(begin, rank)));
    let mut sites: [Site; RANKS] = std::array::from_fn(|_| Site::new(&Settings::default(), 2, None));
    let (mut given, mut now) = (Vec::new(), begin);
    let (mut arm, mut error, mut comparisons) = (Arm::DEFAULT, 0.0_f64, 0);
    for call in 0..calls {
        if call == calls / 10 * 9 {
            // Calls of another size: nothing is known of them.
            sites = std::array::from_fn(|_| Site::new(&Settings::default(), 2, None));
        }
        let steps: [Step; RANKS] = std::array::from_fn(|rank| sites[rank].step());
        assert!(
            steps.iter().all(|step| *step == steps[0]),
            "ranks differ in call {call}"
        );
        match steps[0].before {
            Act::Nothing => {}
            Act::Exchange => {
                let rows = sites.each_ref().map(Site::gives);
                given = (0..rows[0].len())
                    .map(|at| rows.map(|row| row[at]).into_iter().max().unwrap_or(0))
                    .collect();
            }
            Act::Adopt => {
                sites.iter_mut().for_each(|site| site.adopt(&given));
                let ended = last_ended(&given);
                let due = clocks
                    .each_mut()
                    .map(|clock| ended.is_some_and(|ended| clock.is_due(ended)));
                assert!(due.iter().all(|other| *other == due[0]), "ranks differ in call {call}");
                if compares && due[0] {
                    comparisons += 1;
                    for (rank, clock) in clocks.iter_mut().enumerate() {
                        clock.compared(own(now, rank), offset(now, rank));
                    }
                }
            }
        }
        arm = steps[0].arm;
        let common = |at: f64, rank: usize| clocks[rank].common_ns(own(at, rank));
        if steps[0].timed {
            let times: Vec<(i64, i64)> = (0..RANKS)
                .map(|rank| (common(now, rank), common(now + leaves(arm, rank), rank)))
                .collect();
            for (site, (started, ended)) in sites.iter_mut().zip(times) {
                site.timed(started, ended);
            }
        }
        if call >= calls / 10 * 9 {
            for rank in 1..RANKS {
                error = error.max((common(now, rank) - common(now, 0)).abs() as f64);
            }
        }
        now += 2_000.0 * US;
    }
    let chosen = sites[0].learnt().settled.map_or(arm, Arm);
    (chosen, error, comparisons)
}

/// Ten minutes. Without comparisons the clocks are 48 ms apart at the end, and only the fast clock's own time in the call counts.
#[test]
fn clocks_that_run_apart_are_compared_again() {
    let calls = 300_000;
    let (chosen, error, comparisons) = job(calls, true);
    assert_eq!(chosen, Arm::DEFAULT, "the default is faster");
    assert!(error < 1.0 * US, "{error} ns apart at the end");
    assert!((4..=8).contains(&comparisons), "{comparisons}");
    let (chosen, error, _) = job(calls, false);
    assert!(error > 40_000.0 * US, "{error} ns");
    assert_eq!(chosen, Arm(1), "the other arm has the fast clock's rank leave early");
}
