//! Ranks that begin a repetition apart.

use kilter_algorithms::Collective;
use kilter_protocol::plan::{ArrivalPattern, Repetitions, Shape, Synchronisation};
use kilter_protocol::report::{Event, MEAN_DELAY};

use crate::worker::job::{Finished, Job, block, item};

/// Offset of the late rank, in seconds: far above what a barrier of two ranks takes on any machine, and soon over.
const LATE: f64 = 0.05;

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

/// A barrier keeps rank 0 until rank 1 comes, and then is over at once: its time is short, and the mean delay is half the offset.
fn a_rank_waits_for_the_late_one_and_its_wait_is_no_time_of_the_call() {
    for sync in [Synchronisation::Auto, Synchronisation::Barrier] {
        let mut job = Job::new(2);
        job.header.sync = sync;
        let mut late = item("late", Collective::Barrier, 0, "barrier");
        late.arrival = Some(ArrivalPattern {
            shape: Shape::LateOne { rank: None },
            seconds: LATE,
            seed: 1,
        });
        let mut once = block("b", vec![late, item("together", Collective::Barrier, 0, "barrier")]);
        once.repetitions = Repetitions::fixed(2, 30.0);
        let finished = job.run_well(&[once]);
        let times = finished.samples("b", "late");
        assert!(
            !times.is_empty() && times.iter().all(|time| *time < LATE / 2.0),
            "{sync:?}: {times:?}"
        );
        let delay = mean_delay(&finished, "late");
        assert!((LATE / 2.0..LATE).contains(&delay), "{sync:?}: {delay}");
        let of_others = finished
            .events
            .iter()
            .any(|event| matches!(event, Event::Settings { item, .. } if item == "together"));
        assert!(!of_others, "ranks that come together have no delay to tell");
    }
}

kilter_tests::cases![a_rank_waits_for_the_late_one_and_its_wait_is_no_time_of_the_call];
