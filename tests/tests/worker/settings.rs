//! Control variables switched inside one job, and what the job says about itself.

use kilter_algorithms::Collective;
use kilter_protocol::report::{Event, Start};

use crate::worker::job::{Finished, Job, block, item, with_settings};

fn read_back<'f>(finished: &'f Finished, wanted: &str) -> &'f [(String, String)] {
    let settings = finished.events.iter().find_map(|event| match event {
        Event::Settings { item, read_back, .. } if item == wanted => Some(read_back),
        _ => None,
    });
    settings.unwrap_or_else(|| panic!("no settings of {wanted}: {:?}", finished.events))
}

fn start(finished: &Finished) -> &Start {
    match finished.events.first() {
        Some(Event::Start(start)) => start,
        other => panic!("the first line is {other:?}"),
    }
}

fn an_algorithm_and_its_segment_size_are_switched_in_the_job() {
    let reduce = |id: &str| item(id, Collective::Reduce, 1 << 18, "reduce(n)");
    let items = vec![
        reduce("default"),
        with_settings(
            reduce("binary"),
            &[
                ("coll_tuned_reduce_algorithm", "4"),
                ("coll_tuned_reduce_algorithm_segmentsize", "32768"),
            ],
        ),
        with_settings(reduce("misspelt"), &[("coll_tuned_reduce_algorithmus", "4")]),
        with_settings(
            reduce("half misspelt"),
            &[
                ("coll_tuned_reduce_algorithm", "4"),
                ("coll_tuned_reduce_algorithmus", "4"),
            ],
        ),
        with_settings(reduce("out of range"), &[("coll_tuned_reduce_algorithm", "77")]),
    ];
    let finished = Job::new(2)
        .option(&["--mca", "coll_tuned_use_dynamic_rules", "1"])
        .run_well(&[block("b", items)]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        read_back(&finished, "binary"),
        [
            pair("coll_tuned_reduce_algorithm", "binary"),
            pair("coll_tuned_reduce_algorithm_segmentsize", "32768")
        ]
    );
    for item in ["misspelt", "half misspelt"] {
        assert!(
            finished
                .failure(item)
                .contains("no control variable `coll_tuned_reduce_algorithmus`")
        );
    }
    assert!(
        finished.failure("out of range").contains("`77` is no value"),
        "{}",
        finished.failure("out of range")
    );
    for item in ["default", "binary"] {
        assert!(finished.was_repeated("b", item));
    }
}

/// Algorithm 6 of Allgather runs on two ranks only; so the setting would end the job if it outlived its item.
fn a_setting_ends_with_its_item() {
    let items = vec![
        with_settings(
            item("set", Collective::Bcast, 64, "bcast(n)"),
            &[
                ("coll_tuned_allgather_algorithm", "6"),
                ("coll_tuned_allgather_algorithm_segmentsize", "1024"),
            ],
        ),
        with_settings(
            item("set, then failing", Collective::Bcast, 64, "bcast(n)"),
            &[
                ("coll_tuned_allgather_algorithm", "6"),
                ("coll_tuned_no_such_thing", "1"),
            ],
        ),
        item("after", Collective::Allgather, 63, "allgather(n)"),
    ];
    let finished = Job::new(3)
        .option(&["--mca", "coll_tuned_use_dynamic_rules", "1"])
        .run_well(&[block("b", items)]);
    assert_eq!(finished.failures().len(), 1, "{:?}", finished.failures());
    assert!(finished.was_repeated("b", "after"));
}

/// The same setting on the item itself does end the job: what is switched acts.
fn a_setting_acts_on_the_communicator_of_its_item() {
    let culprit = with_settings(
        item("culprit", Collective::Allgather, 63, "allgather(n)"),
        &[("coll_tuned_allgather_algorithm", "6")],
    );
    let before = item("before", Collective::Allgather, 63, "allgather(n)");
    let finished = Job::new(3)
        .option(&["--mca", "coll_tuned_use_dynamic_rules", "1"])
        .run(&[block("a", vec![before]), block("b", vec![culprit])]);
    assert!(!finished.status.success());
    let message = "item `culprit` (allgather, 63 bytes): PMPI_Allgather failed";
    assert!(finished.stderr.contains(message), "{}", finished.stderr);
    let entered = finished.events.iter().rev().find_map(|event| match event {
        Event::Enter { item, .. } => Some(item.as_str()),
        _ => None,
    });
    assert_eq!(entered, Some("culprit"));
    assert!(finished.was_repeated("a", "before"), "what was measured before is kept");
}

fn the_job_says_what_it_is() {
    let mut job = Job::new(3).option(&[
        "--mca",
        "btl_vader_eager_limit",
        "8192",
        "-x",
        "MALLOC_MMAP_THRESHOLD_=16384",
        "-x",
        "KILTER_TEST_VALUE=a b",
    ]);
    job.header.read_variables = ["btl_vader_eager_limit", "no_such_variable"]
        .map(str::to_owned)
        .to_vec();
    job.header.read_environment = ["KILTER_TEST_VALUE", "KILTER_TEST_UNSET", "OMPI_COMM_WORLD_RANK"]
        .map(str::to_owned)
        .to_vec();
    job.header.noise_repetitions = 25;
    let finished = job.run_well(&[]);
    let start = start(&finished);
    assert!(start.library.contains("Open MPI"), "{}", start.library);
    assert_eq!((start.ranks, start.hosts.len()), (3, 3));
    assert!(
        start
            .hosts
            .iter()
            .all(|host| !host.is_empty() && *host == start.hosts[0]),
        "{:?}",
        start.hosts
    );
    assert!(start.clock_tick_seconds > 0.0 && start.clock_tick_seconds < 1e-3);
    assert_eq!(start.malloc_maps_from_bytes, Some(16384));
    let variable = |name: &str| start.variables.get(name).map(String::as_str);
    assert_eq!(
        (variable("btl_vader_eager_limit"), variable("no_such_variable")),
        (Some("8192"), None)
    );
    let environment = |name: &str| start.environment.get(name).map(String::as_str);
    assert_eq!(environment("KILTER_TEST_VALUE"), Some("a b"));
    assert_eq!(environment("KILTER_TEST_UNSET"), None);
    assert_eq!(
        environment("OMPI_COMM_WORLD_RANK"),
        Some("rank 0: 0; rank 1: 1; rank 2: 2")
    );
    let noise = finished.events.iter().find_map(|event| match event {
        Event::Noise { seconds } => Some(seconds),
        _ => None,
    });
    let seconds = noise.unwrap_or_else(|| panic!("{:?}", finished.events));
    assert_eq!(seconds.len(), 25);
    assert!(
        seconds.iter().all(|seconds| (0.0..1.0).contains(seconds)),
        "{seconds:?}"
    );
}

fn an_allocator_that_never_maps_is_recognised() {
    let thresholds = [
        "-x",
        "MALLOC_MMAP_THRESHOLD_=1073741824",
        "-x",
        "MALLOC_TRIM_THRESHOLD_=4294967296",
    ];
    let finished = Job::new(1).option(&thresholds).run_well(&[]);
    assert_eq!(start(&finished).malloc_maps_from_bytes, None);
}

kilter_tests::cases![
    an_algorithm_and_its_segment_size_are_switched_in_the_job,
    a_setting_ends_with_its_item,
    a_setting_acts_on_the_communicator_of_its_item,
    the_job_says_what_it_is,
    an_allocator_that_never_maps_is_recognised,
];
