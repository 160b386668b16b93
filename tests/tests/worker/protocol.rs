//! The two files: order of the lines, growth while the job runs, silence, nonsense, and the end of whoever started the job.

use kilter_algorithms::Collective;
use kilter_protocol::plan::PlanLine;
use kilter_protocol::report::Event;
use kilter_tests::{PATIENCE, wait_until};

use crate::worker::job::{Job, block, item};

fn kinds(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Start(_) => Some("start".to_owned()),
            Event::Noise { .. } => Some("noise".to_owned()),
            Event::Enter { item, .. } => Some(format!("enter {item}")),
            Event::Settings { item, .. } => Some(format!("settings {item}")),
            Event::Failed { item, .. } => Some(format!("failed {item}")),
            Event::Samples { item, .. } => Some(format!("samples {item}")),
            Event::BlockEnd { block, .. } => Some(format!("end of {block}")),
            Event::Heartbeat => None,
            Event::End(_) => Some("end".to_owned()),
        })
        .collect()
}

fn lines_come_in_order_while_the_plan_grows() {
    let first = block(
        "first",
        vec![
            item("a", Collective::Scan, 8, "scan(n)"),
            item("b", Collective::Scan, 8, "bcast(n)"),
        ],
    );
    let second = block("second", vec![item("c", Collective::Reduce, 8, "reduce(n)")]);
    let mut job = Job::new(2);
    job.header.noise_repetitions = 3;
    let job = job.start(&[PlanLine::Block(first)]);
    job.wait_for("end of the first block", |events| {
        kinds(events).contains(&"end of first".to_owned())
    });
    // The tuner is thinking: the job says that it is alive.
    job.wait_for("heartbeat", |events| matches!(events.last(), Some(Event::Heartbeat)));
    job.append(&[PlanLine::Block(second)]);
    job.wait_for("end of the second block", |events| {
        kinds(events).contains(&"end of second".to_owned())
    });
    job.append(&[PlanLine::End]);
    let finished = job.finish();
    assert!(finished.status.success(), "{}", finished.stderr);
    let expected = [
        "start",
        "noise",
        "enter a",
        "enter b",
        "failed b",
        "samples a",
        "end of first",
        "enter c",
        "samples c",
        "end of second",
        "end",
    ];
    assert_eq!(kinds(&finished.events), expected);
}

fn a_long_block_has_heartbeats_and_keeps_to_its_time() {
    let mut long = block("long", vec![item("a", Collective::Bcast, 8, "bcast(n)")]);
    (long.repetitions.min, long.repetitions.max) = (u32::MAX, u32::MAX);
    long.repetitions.seconds = 1.5;
    let finished = Job::new(2).run_well(&[long]);
    let inside = finished
        .events
        .iter()
        .skip_while(|event| !matches!(event, Event::Enter { .. }));
    let beats = inside.take_while(|event| !matches!(event, Event::BlockEnd { .. }));
    assert!(
        beats.filter(|event| matches!(event, Event::Heartbeat)).count() >= 2,
        "{:?}",
        kinds(&finished.events)
    );
    let end = finished.events.iter().find_map(|event| match event {
        Event::BlockEnd { seconds, .. } => Some(*seconds),
        _ => None,
    });
    // Far below what it would take by the number of its repetitions.
    assert!(end.is_some_and(|seconds| (1.5..60.0).contains(&seconds)), "{end:?}");
}

fn silence_ends_the_job() {
    let mut job = Job::new(2);
    job.header.idle_seconds = 0.2;
    let finished = job.start(&[]).finish();
    assert!(finished.status.success(), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("the plan has not grown for 0.2 s"),
        "{}",
        finished.stderr
    );
    assert_eq!(kinds(&finished.events), ["start", "end"]);
}

fn a_plan_that_makes_no_sense_ends_the_job_and_names_its_line() {
    for (change, message) in [
        (
            Box::new(|job: &mut Job| job.header.v = 99) as Box<dyn Fn(&mut Job)>,
            "plan.jsonl:1: the plan has version 99",
        ),
        (
            Box::new(|job| job.header.root = kilter_protocol::plan::Root::Fixed(2)),
            "plan.jsonl:1: the header: root 2 is none of the 2 ranks",
        ),
        (Box::new(|job| job.header.idle_seconds = -1.0), "idle_seconds is -1"),
    ] {
        let mut job = Job::new(2);
        change(&mut job);
        let finished = job.run(&[]);
        assert!(
            !finished.status.success() && finished.stderr.contains(message),
            "{message}: {}",
            finished.stderr
        );
    }
    let job = Job::new(2);
    let header = PlanLine::Header(job.header.clone());
    let finished = job.start(&[header]).finish();
    assert!(
        !finished.status.success() && finished.stderr.contains("plan.jsonl:2: a second header"),
        "{}",
        finished.stderr
    );
}

/// `mpirun` killed outright cannot end its ranks; they end themselves.
fn ranks_die_with_mpirun() {
    let marker = format!("KILTER_TEST_MARKER=worker-{}", std::process::id());
    let job = Job::new(2).option(&["-x", &marker]).start(&[]);
    job.wait_for("start", |events| !events.is_empty());
    let ranks = || {
        let all = kilter_tests::processes_with(&marker);
        all.into_iter()
            .filter(|line| line.contains("kilter-worker") && !line.contains("mpirun"))
            .count()
    };
    assert_eq!(ranks(), 2);
    job.kill_mpirun();
    wait_until(|| "ranks have not gone".to_owned(), || ranks() == 0);
    assert!(!job.finish().status.success());
}

/// Some libraries notice by themselves that `mpirun` has gone; a rank without one has only the kernel to tell it.
fn a_rank_dies_with_what_started_it() {
    let mut job = Job::new(1);
    // Not silence shall end it.
    job.header.idle_seconds = 2.0 * PATIENCE.as_secs_f64();
    let job = job.start_alone(&[]);
    job.wait_for("start", |events| !events.is_empty());
    let rank = std::path::PathBuf::from(format!("/proc/{}/exe", job.child()));
    assert!(std::fs::read_link(&rank).is_ok_and(|program| program.ends_with("kilter-worker")));
    job.kill_starter();
    // The link of a zombie cannot be read either.
    wait_until(
        || "the rank has not gone".to_owned(),
        || std::fs::read_link(&rank).is_err(),
    );
}

kilter_tests::cases![
    lines_come_in_order_while_the_plan_grows,
    a_long_block_has_heartbeats_and_keeps_to_its_time,
    silence_ends_the_job,
    a_plan_that_makes_no_sense_ends_the_job_and_names_its_line,
    ranks_die_with_mpirun,
    a_rank_dies_with_what_started_it,
];
