//! Counts of the messages that the library sends for an item, taken in the job itself.

use kilter_algorithms::Collective;
use kilter_protocol::report::Event;

use crate::worker::job::{Finished, Job, block, item, with_settings};

const COUNTERS: [&str; 2] = ["pml_monitoring_messages_count", "pml_monitoring_messages_size"];

/// Values of the counters for an item, in the order of [`COUNTERS`].
pub(crate) fn counted(finished: &Finished, wanted: &str) -> Vec<String> {
    let said = finished.events.iter().filter_map(|event| match event {
        Event::Settings { item, read_back, .. } if item == wanted => Some(read_back),
        _ => None,
    });
    let said: Vec<&(String, String)> = said.flatten().collect();
    let of = |counter: &str| {
        said.iter()
            .find(|(name, _)| name == counter)
            .map(|(_, text)| text.clone())
    };
    COUNTERS.into_iter().filter_map(of).collect()
}

pub(crate) fn job() -> Job {
    let mut job = Job::new(4).option(&["--mca", "coll_tuned_use_dynamic_rules", "1"]);
    job.header.counters = COUNTERS.map(str::to_owned).to_vec();
    job
}

/// Algorithms are told apart by who sends to whom; the schedules are those of the textbook.
fn every_algorithm_has_its_fingerprint() {
    let bcast = |id: &str, algorithm: &str| {
        let item = item(id, Collective::Bcast, 64, "bcast(n)");
        with_settings(item, &[("coll_tuned_bcast_algorithm", algorithm)])
    };
    let items = vec![
        item("default", Collective::Bcast, 64, "bcast(n)"),
        bcast("linear", "1"),
        bcast("pipeline", "3"),
        bcast("binomial", "6"),
        item("barrier", Collective::Barrier, 0, "barrier"),
    ];
    let mut job = job().option(&["--mca", "pml_monitoring_enable", "1"]);
    job.header.read_variables = vec!["pml_monitoring_enable".to_owned()];
    let finished = job.run_well(&[block("b", items)]);
    let Some(Event::Start(start)) = finished.events.first() else {
        panic!("{:?}", finished.events)
    };
    assert_eq!(start.variables["pml_monitoring_enable"], "1");
    assert_eq!(
        counted(&finished, "linear"),
        ["0>1:1 0>2:1 0>3:1", "0>1:64 0>2:64 0>3:64"]
    );
    assert_eq!(
        counted(&finished, "pipeline"),
        ["0>1:1 1>2:1 2>3:1", "0>1:64 1>2:64 2>3:64"]
    );
    assert_eq!(
        counted(&finished, "binomial"),
        ["0>1:1 0>2:1 1>3:1", "0>1:64 0>2:64 1>3:64"]
    );
    assert_eq!(counted(&finished, "default").len(), 2);
    let [messages, bytes] = &counted(&finished, "barrier")[..] else {
        panic!("{:?}", finished.events)
    };
    assert!(
        !messages.is_empty() && bytes.is_empty(),
        "a barrier sends no data: {messages}, {bytes}"
    );
    assert!(finished.was_repeated("b", "linear"));
}

/// A job without message counters must measure as any other job.
fn without_the_component_that_counts_nothing_is_said() {
    let items = vec![item("default", Collective::Bcast, 64, "bcast(n)")];
    let finished = job().run_well(&[block("b", items)]);
    assert_eq!(counted(&finished, "default"), [""; 0]);
    assert!(
        finished.stderr.contains("messages are not counted"),
        "{}",
        finished.stderr
    );
    assert!(finished.was_repeated("b", "default"));
}

kilter_tests::cases![
    every_algorithm_has_its_fingerprint,
    without_the_component_that_counts_nothing_is_said,
];
