//! A library that delivers wrong data, fails or is slow on one rank, and a rank whose clock is wrong or that oversleeps: a
//! preloaded object plays them.

use kilter_algorithms::Collective;
use kilter_protocol::plan::{Block, Synchronisation};
use kilter_protocol::report::Event;

use crate::worker::job::{Finished, Job, block, item};

/// Runs a reduction of 64 bytes and a broadcast on three ranks with this fault.
fn run(fault: &str) -> Finished {
    let job = Job::new(3);
    let library = job.directory().join("fault.so");
    let (source, library) = (
        kilter_tests::root().join("tests/tests/worker/fault.c"),
        library.display().to_string(),
    );
    kilter_tests::mpicc(&[
        "-shared",
        "-fPIC",
        "-O1",
        "-o",
        &library,
        &source.display().to_string(),
        "-ldl",
    ]);
    let (preload, fault) = (format!("LD_PRELOAD={library}"), format!("KILTER_TEST_FAULT={fault}"));
    job.option(&["-x", &preload, "-x", &fault]).run(&[reductions()])
}

fn reductions() -> Block {
    block(
        "b",
        vec![
            item("reduce", Collective::Reduce, 64, "reduce(n)"),
            item("other", Collective::Bcast, 63, "bcast(n)"),
        ],
    )
}

fn without_a_fault_the_preloaded_function_is_measured_and_counted() {
    let finished = run("none");
    assert!(finished.status.success(), "{}", finished.stderr);
    assert_eq!(finished.failures(), []);
    let Some(Event::End(end)) = finished.events.last() else {
        panic!("{:?}", finished.events)
    };
    // The check, two or three repetitions, void ones besides, and two warm-ups, which slow calls on a busy machine do without.
    assert!(
        end.dropin_calls.get("reduce.fault").is_some_and(|calls| *calls >= 3),
        "{:?}",
        end.dropin_calls
    );
}

fn wrong_data_is_found_wherever_it_is() {
    for (fault, reason) in [
        ("output", "wrong data: rank 0 byte 63: got 0x"),
        // Right in the check before measuring, wrong while measuring.
        ("output later", "wrong data: rank 0 byte 63: got 0x"),
        ("input", "wrong data: rank 1 input byte 0: got 0x"),
        (
            "behind",
            "wrong data: rank 0 output buffer, behind its end, byte 0: got 0x",
        ),
        (
            "other rank",
            "wrong data: rank 1 output buffer, behind its end, byte 0: got 0x01, expected 0x",
        ),
    ] {
        let finished = run(fault);
        assert!(finished.status.success(), "{fault}: {}", finished.stderr);
        assert!(
            finished.failure("reduce").starts_with(reason),
            "{fault}: {}",
            finished.failure("reduce")
        );
        assert_eq!(finished.failures().len(), 1, "{fault}");
        assert!(finished.was_repeated("b", "other"), "{fault}");
    }
}

fn a_time_is_that_of_the_slowest_rank() {
    // Rank 0 is through at once where rank 1 sleeps after its part.
    for fault in ["slow", "slow leaf"] {
        let finished = run(fault);
        let seconds = finished.samples("b", "reduce");
        assert!(
            !seconds.is_empty() && seconds.iter().all(|seconds| *seconds >= 0.02),
            "{fault}: {seconds:?}"
        );
    }
}

fn an_error_on_one_rank_ends_the_job_with_a_message() {
    let finished = run("error");
    assert!(!finished.status.success());
    assert!(
        finished
            .stderr
            .contains("rank 1 of 3: block `b`, item `reduce` (reduce, 64 bytes)"),
        "{}",
        finished.stderr
    );
    let last = finished
        .events
        .iter()
        .rev()
        .find(|event| !matches!(event, Event::Heartbeat));
    assert!(
        matches!(last, Some(Event::Enter { item, .. }) if item == "reduce"),
        "{:?}",
        finished.events
    );
}

fn a_rank_that_oversleeps_voids_the_repetition() {
    let finished = run("oversleep");
    assert!(finished.status.success(), "{}", finished.stderr);
    let void: u32 = finished
        .events
        .iter()
        .map(|event| {
            if let Event::Samples { void, .. } = event {
                *void
            } else {
                0
            }
        })
        .sum();
    // Two items, two warm-ups and at least two repetitions each: eight good ones between as many void ones.
    assert!(void >= 8, "{void} void: {:?}", finished.events);
    assert!(finished.samples("b", "reduce").len() >= 2 && finished.samples("b", "other").len() >= 2);
}

fn ranks_with_different_clocks_are_measured_in_one_time() {
    let finished = run("clock");
    assert!(finished.status.success(), "{}", finished.stderr);
    assert_eq!(finished.failures(), []);
    let Some(Event::Start(start)) = finished.events.first() else {
        panic!("{:?}", finished.events)
    };
    let sync = start.sync.unwrap();
    assert_eq!(sync.method, Synchronisation::RoundTime);
    assert!(sync.residual_seconds < 0.02 + sync.bound_seconds, "{sync:?}");
    // Five seconds of offset are in no time.
    let times = [finished.samples("b", "reduce"), finished.samples("b", "other")].concat();
    assert!(times.iter().all(|seconds| (1e-9..2.0).contains(seconds)), "{times:?}");
    assert!(!times.is_empty());
}

kilter_tests::cases![
    without_a_fault_the_preloaded_function_is_measured_and_counted,
    wrong_data_is_found_wherever_it_is,
    a_time_is_that_of_the_slowest_rank,
    an_error_on_one_rank_ends_the_job_with_a_message,
    a_rank_that_oversleeps_voids_the_repetition,
    ranks_with_different_clocks_are_measured_in_one_time,
];
