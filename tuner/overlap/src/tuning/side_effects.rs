//! Side effects of settings that are meant to hide large messages. A lock, a progress thread or another protocol can
//! double the latency of small messages while the targets, which are about large ones, are met. The library's
//! collectives may become slower, too.
//!
//! Small messages are measured by the ping-pongs of two overlap benchmarks without computation, so that a progress
//! thread sees their calls as it sees a program's. They run in the launches that measure the collectives, with the
//! setting and without it in turn.

use kilter_model::deployment::{Assignment, Deployment};
use kilter_model::not_deployed::{NotDeployed, Slowed};
use kilter_model::plan::{Subject, derived_seed};
use kilter_model::setup::Setup;
use kilter_protocol::fault::FaultKind;
use kilter_protocol::overlap::{Benchmark, Model, Overlap, Part};
use kilter_protocol::plan::{Block, Implementation, Item, Repetitions};
use kilter_protocol::task::{Functionality, Task};
use kilter_render::format;
use kilter_search::context::LaunchSearch;
use kilter_search::trials::{Samples, Trials, is_library, is_slower};

/// Sizes of small messages in bytes: latency alone, and a size that every library sends at once.
const SMALL_BYTES: [u64; 2] = [8, 1024];
/// Benchmarks that send small messages there and back, and their calls.
const PING_PONGS: [(Benchmark, &str); 2] = [
    (Benchmark::ThreadLoad, "MPI_Send and MPI_Recv"),
    (Benchmark::BothSides, "MPI_Isend, MPI_Irecv and MPI_Wait"),
];
/// Repetitions of each, within so many seconds in a launch.
const REPETITIONS: u32 = 101;
const SECONDS: f64 = 0.2;

/// Reason why a setting must not be deployed; `None` if it slows nothing down. Only functions that it can touch are
/// measured. An error is a failure that the setting does not explain.
pub(super) fn refusal(
    parts: LaunchSearch<'_, '_>,
    label: &str,
    launch: &Setup,
    assignments: &[Assignment],
) -> anyhow::Result<Option<NotDeployed>> {
    let label = format!("{label}/targets/side effects");
    let messages = blocks(derived_seed(parts.jobs.run.seed, &label));
    let change = Deployment {
        assignments: assignments.to_vec(),
        ..Deployment::default()
    };
    let touched = |subject: &Subject| change.touches(subject, &parts.jobs.site.library);
    let mut trials = Trials::new(parts, label, &[], launch.clone())
        .beside(messages)
        .within(&touched);
    let both = [Vec::new(), assignments.to_vec()];
    let samples = trials.in_turn("look for side effects", &both)?;
    Ok(objection(&samples[0], &samples[1], parts.facts.noise_seconds()))
}

/// Ping-pongs: a block for each size, so that the ways to send it are interleaved.
fn blocks(seed: u64) -> Vec<Block> {
    let item = |bytes, (benchmark, calls): (Benchmark, &str)| Item {
        id: calls.to_owned(),
        task: Task::plain(Functionality::Transfer),
        bytes,
        implementation: Implementation::Overlap(Overlap {
            benchmark,
            part: Part::Communication,
            computation_ns: 0,
            model: Model::FixedWork,
            threads: 1,
            requests: 1,
        }),
        settings: Vec::new(),
        arrival: None,
        deployed: Vec::new(),
    };
    let block = |bytes: u64| {
        let id = format!("messages/{bytes}B");
        Block {
            seed: derived_seed(seed, &id),
            items: PING_PONGS.into_iter().map(|ping_pong| item(bytes, ping_pong)).collect(),
            repetitions: Repetitions::fixed(REPETITIONS, SECONDS * PING_PONGS.len() as f64),
            id,
        }
    };
    SMALL_BYTES.into_iter().map(block).collect()
}

/// Objection to a setting by launches without and with it: the functions that became slower by more than launches
/// differ, and by more than the empty operation varies.
fn objection(without: &Samples, with: &Samples, noise_seconds: f64) -> Option<NotDeployed> {
    if with.is_empty() && !without.is_empty() {
        return Some(NotDeployed::Failed {
            what: FaultKind::Refused,
        });
    }
    let slowed = with.iter().filter_map(|(subject, after)| {
        let before = without.get(subject)?;
        let (from, to) = (before.median(), after.median());
        let name = if is_message(subject) {
            format!("{} of {}", subject.text, format::bytes(subject.bytes))
        } else if is_library(subject) {
            subject.item_id()
        } else {
            return None;
        };
        let is_slowed = is_slower(before, after) && to - from > noise_seconds;
        is_slowed.then_some(Slowed {
            what: name,
            before_seconds: from,
            after_seconds: to,
        })
    });
    let slowed: Vec<Slowed> = slowed.collect();
    (!slowed.is_empty()).then_some(NotDeployed::SideEffect { slowed })
}

fn is_message(subject: &Subject) -> bool {
    PING_PONGS.iter().any(|(_, calls)| *calls == subject.text)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_stats::sample::Sample;

    use super::*;

    const NOISE_SECONDS: f64 = 5e-8;

    /// Subjects timed in a launch: a message of 8 B by either kind of calls, one of 1 KiB, a broadcast.
    fn subjects() -> [Subject; 4] {
        let items: Vec<Item> = blocks(1).into_iter().flat_map(|block| block.items).collect();
        let message = |index: usize| Subject::timed_by(&items[index]);
        [
            message(0),
            message(1),
            message(2),
            Subject::library(Collective::Bcast, 8),
        ]
    }

    /// Five launches of each, with these medians in microseconds.
    fn scripted(us: [f64; 4]) -> Samples {
        let launches = |middle: f64| {
            [0.98, 0.99, 1.0, 1.01, 1.02]
                .map(|factor| factor * middle * 1e-6)
                .to_vec()
        };
        let samples = subjects().into_iter().zip(us);
        samples
            .map(|(subject, us)| (subject, Sample::new(launches(us)).unwrap()))
            .collect()
    }

    const USUAL_US: [f64; 4] = [0.4, 0.5, 1.0, 2.0];

    fn against(us: [f64; 4]) -> Option<String> {
        objection(&scripted(USUAL_US), &scripted(us), NOISE_SECONDS).map(|why| why.to_string())
    }

    #[test]
    fn a_setting_that_slows_small_messages_is_refused_and_says_by_how_much() {
        assert_eq!(
            against([0.4, 1.5, 1.0, 2.0]).unwrap(),
            "would slow MPI_Isend, MPI_Irecv and MPI_Wait of 8 B (500 ns -> 1.50 us)"
        );
        let all = against([0.9, 0.5, 1.3, 3.0]).unwrap();
        for what in [
            "MPI_Send and MPI_Recv of 8 B (400 ns -> 900 ns)",
            "MPI_Send and MPI_Recv of 1 KiB (1.00 us -> 1.30 us)",
            "bcast(n) @8 (2.00 us -> 3.00 us)",
        ] {
            assert!(all.contains(what), "{all}");
        }
    }

    #[test]
    fn what_launches_and_the_clock_vary_by_is_no_side_effect() {
        assert_eq!(against(USUAL_US), None);
        assert_eq!(against([0.2, 0.5, 0.9, 1.0]), None, "faster is welcome");
        // It is slower in every launch, but by less than launches on a shared machine differ.
        assert_eq!(against([0.4, 0.5, 1.08, 2.0]), None);
        // It is slower by a tenth and more, but within the noise of the empty operation.
        assert_eq!(against([0.445, 0.5, 1.0, 2.0]), None);
        assert!(against([0.46, 0.5, 1.0, 2.0]).is_some());
    }

    #[test]
    fn one_slow_launch_is_none_of_the_setting_s_doing() {
        let mut with = scripted(USUAL_US);
        let erratic = Sample::new(vec![0.4e-6, 0.9e-6, 0.9e-6, 0.9e-6, 0.9e-6]).unwrap();
        with.insert(subjects()[0].clone(), erratic);
        assert_eq!(objection(&scripted(USUAL_US), &with, NOISE_SECONDS), None);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = objection(&scripted(USUAL_US), &Samples::new(), NOISE_SECONDS);
        let refused = refused.unwrap().to_string();
        assert!(refused.starts_with("could not be run"), "{refused}");
        assert_eq!(objection(&Samples::new(), &Samples::new(), NOISE_SECONDS), None);
    }

    #[test]
    fn small_messages_are_sent_by_calls_that_a_progress_thread_sees() {
        let blocks = blocks(1);
        let ids: Vec<&str> = blocks.iter().map(|block| block.id.as_str()).collect();
        assert_eq!(ids, ["messages/8B", "messages/1024B"]);
        for (block, bytes) in blocks.iter().zip(SMALL_BYTES) {
            assert_eq!(block.items.len(), 2);
            for item in &block.items {
                let Implementation::Overlap(overlap) = &item.implementation else {
                    panic!("{item:?}")
                };
                assert_eq!((item.bytes, overlap.part), (bytes, Part::Communication));
                assert!(is_message(&Subject::timed_by(item)) && !is_library(&Subject::timed_by(item)));
            }
        }
    }
}
