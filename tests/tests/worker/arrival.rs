//! Ranks that begin a repetition apart.

use kilter_algorithms::Collective;
use kilter_protocol::plan::{ArrivalPattern, Repetitions, Shape, Synchronisation, Wait};
use kilter_protocol::report::{Event, MEAN_DELAY};

use crate::worker::job::{Finished, Job, block, item};

/// Offset of the late rank, in seconds: far above what a barrier of two ranks takes, and soon over.
const LATE: f64 = 0.1;

fn mean_delay(finished: &Finished, wanted: &str) -> f64 {
    let said = finished.events.iter().find_map(|event| match event {
        Event::Settings { item, read_back, .. } if item == wanted => {
            let (_, seconds) = read_back.iter().find(|(name, _)| name == MEAN_DELAY)?;
            seconds.parse().ok()
        }
        _ => None,
    });
    said.unwrap_or_else(|| panic!("no delay of {wanted}: {:?}", finished.events))
}

/// A barrier keeps rank 0 until rank 1 comes, and then is over at once. On a busy machine some repetitions take long or are void, so that the
/// shortest is looked at; if the wait were in the times, none would be shorter than the offset.
fn a_rank_waits_for_the_late_one_and_its_wait_is_no_time_of_the_call() {
    for sync in [Synchronisation::Auto, Synchronisation::Barrier] {
        let mut job = Job::new(2);
        job.header.sync = sync;
        job.header.wait = Some(Wait::Sleep);
        let mut late = item("late", Collective::Barrier, 0, "barrier");
        late.arrival = Some(ArrivalPattern {
            shape: Shape::LateOne { rank: None },
            seconds: LATE,
            seed: 1,
        });
        let mut once = block("b", vec![late, item("together", Collective::Barrier, 0, "barrier")]);
        once.repetitions = Repetitions::fixed(3, 1.0);
        let finished = job.run_well(&[once]);
        assert!(finished.was_repeated("b", "late"), "{:?}", finished.events);
        let times = finished.samples("b", "late");
        let Some(shortest) = times.iter().copied().reduce(f64::min) else {
            continue;
        };
        assert!(shortest < LATE, "{sync:?}: {times:?}");
        // Half of the ranks wait for the offset. Without a common clock, one that leaves the exchange late waits less.
        let least = if sync == Synchronisation::Auto { 0.4 * LATE } else { 0.0 };
        let delay = mean_delay(&finished, "late");
        assert!(delay >= least, "{sync:?}: {delay}");
        let tells = |event: &Event| matches!(event, Event::Settings { item, .. } if item == "together");
        assert!(
            !finished.events.iter().any(tells),
            "ranks that come together have no delay to tell"
        );
    }
}

kilter_tests::cases![a_rank_waits_for_the_late_one_and_its_wait_is_no_time_of_the_call];
