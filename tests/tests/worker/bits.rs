//! The bits that items leave in results of random doubles.

use kilter_algorithms::Collective;
use kilter_protocol::plan::{Implementation, Item};
use kilter_protocol::report::{BITS, BITS_VARY, Event};

use crate::worker::job::{Finished, Job, block, item, with_settings};

const BYTES: u64 = 4096;

/// The bits that an item reported.
fn bits(finished: &Finished, wanted: &str) -> String {
    let mut said = finished.events.iter().filter_map(|event| match event {
        Event::Settings { item, read_back, .. } if item == wanted => read_back
            .iter()
            .find(|(name, _)| name == BITS)
            .map(|(_, bits)| bits.clone()),
        _ => None,
    });
    said.next().unwrap_or_default()
}

fn allreduce(id: &str) -> Item {
    item(id, Collective::Allreduce, BYTES, "allreduce(n)")
}

fn algorithm(id: &str) -> Item {
    Item {
        implementation: Implementation::Algorithm {
            id: id.to_owned(),
            parameters: Vec::new(),
        },
        ..allreduce(id)
    }
}

fn job() -> Job {
    let mut job = Job::new(4).option(&["--mca", "coll_tuned_use_dynamic_rules", "1"]);
    job.header.bits_at = vec![(BYTES, vec![8, BYTES, 3 * BYTES])];
    job
}

/// On four ranks the textbook's schedules add as `(0 + 1) + (2 + 3)` and as `((0 + 1) + 2) + 3`.
fn one_order_of_adding_leaves_one_digest_whoever_adds() {
    let library =
        |id: &str, algorithm: &str| with_settings(allreduce(id), &[("coll_tuned_allreduce_algorithm", algorithm)]);
    let items = || {
        vec![
            allreduce("default"),
            library("the library's recursive doubling", "3"),
            algorithm("allreduce.recursive_doubling"),
            algorithm("allreduce.linear"),
            item("mock-up", Collective::Allreduce, BYTES, "reduce(n) + bcast(n)"),
            item("exscan", Collective::Exscan, BYTES, "exscan(n)"),
            item("gather", Collective::Gather, BYTES, "gather(n)"),
        ]
    };
    let [first, second] = [
        job().run_well(&[block("b", items())]),
        job().run_well(&[block("b", items())]),
    ];
    for one in items() {
        assert_eq!(
            bits(&first, &one.id),
            bits(&second, &one.id),
            "`{}` from job to job",
            one.id
        );
        assert!(first.was_repeated("b", &one.id), "`{}` is measured as ever", one.id);
    }
    let of = |id: &str| bits(&first, id);
    assert_eq!(of("default").len(), 16, "{}", of("default"));
    assert_eq!(
        of("the library's recursive doubling"),
        of("allreduce.recursive_doubling")
    );
    assert_ne!(of("allreduce.linear"), of("allreduce.recursive_doubling"));
    assert_eq!((of("mock-up").len(), of("exscan").len()), (16, 16));
    // It adds nothing.
    assert_eq!(of("gather"), "");
}

fn what_differs_from_call_to_call_varies() {
    let job = job();
    let library = job.directory().join("varying_allreduce.so").display().to_string();
    let source = kilter_tests::root()
        .join("tests/fixtures/varying_allreduce.c")
        .display()
        .to_string();
    kilter_tests::mpicc(&["-shared", "-fPIC", "-o", &library, &source, "-ldl"]);
    let job = job.option(&["-x", &format!("LD_PRELOAD={library}")]);
    let items = vec![allreduce("default"), algorithm("allreduce.recursive_doubling")];
    let finished = job.run_well(&[block("b", items)]);
    assert_eq!(bits(&finished, "default"), BITS_VARY);
    assert_eq!(bits(&finished, "allreduce.recursive_doubling").len(), 16);
}

/// A job that is not asked says nothing, and costs nothing.
fn nothing_is_said_unasked() {
    let finished = Job::new(2).run_well(&[block("b", vec![allreduce("default")])]);
    assert_eq!(bits(&finished, "default"), "");
}

kilter_tests::cases![
    one_order_of_adding_leaves_one_digest_whoever_adds,
    what_differs_from_call_to_call_varies,
    nothing_is_said_unasked,
];
