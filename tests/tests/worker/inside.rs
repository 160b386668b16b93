//! Calls inside an item run the rows that the item lists: told by the messages that they send.

use kilter_algorithms::{Collective, closing, mockup};
use kilter_protocol::plan::{Block, Deployed, Implementation, Item, Root};

use crate::worker::job::{Finished, Job, block, item};
use crate::worker::messages::{self, counted};

fn deployed(collective: Collective, bytes: u64, id: &str) -> Deployed {
    Deployed {
        collective,
        min_bytes: bytes,
        max_bytes: bytes,
        id: id.to_owned(),
        parameters: Vec::new(),
    }
}

/// An item by a row of this id.
fn row(collective: Collective, bytes: u64, id: &str, parameters: &[u64]) -> Item {
    let implementation = Implementation::Algorithm {
        id: id.to_owned(),
        parameters: parameters.to_vec(),
    };
    Item {
        implementation,
        ..item(id, collective, bytes, "")
    }
}

fn with(mut item: Item, name: &str, rules: &[Deployed]) -> Item {
    name.clone_into(&mut item.id);
    item.deployed = rules.to_vec();
    item
}

fn run(items: Vec<Item>) -> Finished {
    let job = messages::job().option(&["--mca", "pml_monitoring_enable", "1"]);
    let finished = job.run_well(&[block("b", items)]);
    assert_eq!(finished.failures(), []);
    finished
}

/// Four ranks: the linear broadcast and the chain are told apart by who sends.
fn calls_of_rows_and_of_expressions_run_what_is_listed() {
    let linear = [deployed(Collective::Bcast, 64, "bcast.linear")];
    let of_parts = [deployed(Collective::Bcast, 16, "bcast.linear")];
    let finished = run(vec![
        with(row(Collective::Scatter, 64, "scatter.as_bcast", &[]), "mockup", &linear),
        with(row(Collective::Bcast, 64, "bcast.split", &[16]), "split", &of_parts),
        with(row(Collective::Bcast, 32, "bcast.padded", &[64]), "padded", &linear),
        with(
            item("", Collective::Scatter, 64, "bcast(n)"),
            "as an expression",
            &linear,
        ),
        with(item("", Collective::Bcast, 64, "bcast(n)"), "plain", &linear),
        with(item("", Collective::Bcast, 64, "4 * bcast(n/4)"), "parts", &of_parts),
        with(
            item("", Collective::Allgather, 64, "gather(n) + bcast(n)"),
            "two",
            &linear,
        ),
    ]);
    let of = |bytes: u64, calls: u64| {
        let to = |count: u64| format!("0>1:{count} 0>2:{count} 0>3:{count}");
        [to(calls), to(bytes * calls)]
    };
    assert_eq!(counted(&finished, "mockup"), of(64, 1));
    assert_eq!(counted(&finished, "split"), of(16, 4));
    assert_eq!(counted(&finished, "padded"), of(64, 1));
    assert_eq!(counted(&finished, "as an expression"), of(64, 1));
    assert_eq!(counted(&finished, "plain"), of(64, 1));
    assert_eq!(counted(&finished, "parts"), of(16, 4));
    let [messages, _] = &counted(&finished, "two")[..] else {
        panic!("{:?}", finished.events)
    };
    assert!(messages.contains("0>1:1 0>2:1 0>3:1"), "the broadcast: {messages}");
}

/// Rows for every collective, so that those of nearly every call inside run; the worker checks every byte.
fn everything_inside_is_right() {
    for (ranks, root) in [(1, 0), (2, 1), (3, 2), (4, 0)] {
        let mut job = Job::new(ranks);
        job.header.root = Root::Fixed(root);
        let rules: Vec<Deployed> = kilter_algorithms::registry::algorithms()
            .filter(|row| row.unmet(ranks, true, true).is_none())
            .map(|row| Deployed {
                min_bytes: 0,
                max_bytes: u64::MAX,
                parameters: row.default_parameters(),
                ..deployed(row.collective, 0, row.id)
            })
            .collect();
        let blocks = [1, 37, 12_288].map(|length| {
            let bytes = length * ranks as u64;
            let mockups = mockup::MOCKUPS.iter().map(|row| (row.id, row.collective, Vec::new()));
            let rows = closing::CLOSING.iter().flat_map(|row| {
                let values = [bytes / 5 + 1, bytes + bytes / 2 + 64];
                values.map(|value| (row.id, row.collective, vec![value]))
            });
            let items = mockups.chain(rows).map(|(id, collective, values)| {
                with(row(collective, bytes, id, &values), &format!("{id} {values:?}"), &rules)
            });
            block(&format!("inside {bytes}"), items.collect())
        });
        expect_all(job, &blocks);
    }
}

fn expect_all(job: Job, blocks: &[Block]) {
    let finished = job.run_well(blocks);
    assert_eq!(finished.failures(), []);
    for block in blocks {
        assert!(
            block
                .items
                .iter()
                .all(|item| finished.was_repeated(&block.id, &item.id))
        );
    }
}

fn what_is_no_row_is_refused_by_name() {
    let bad = |name: &str, rule: Deployed| with(item("", Collective::Bcast, 64, "bcast(n)"), name, &[rule]);
    let mut value = deployed(Collective::Bcast, 64, "bcast.linear");
    value.parameters.push(3);
    let items = vec![
        bad("unknown", deployed(Collective::Bcast, 64, "bcast.nothing")),
        bad("other", deployed(Collective::Bcast, 64, "reduce.ring")),
        bad("value", value),
    ];
    let finished = Job::new(2).run_well(&[block("b", items)]);
    for (item, reason) in [
        ("unknown", "`bcast.nothing` is not a registered algorithm"),
        ("other", "implements reduce, not bcast"),
        ("value", "takes 0 parameters"),
    ] {
        assert!(finished.failure(item).contains(reason), "{}", finished.failure(item));
    }
}

kilter_tests::cases![
    calls_of_rows_and_of_expressions_run_what_is_listed,
    everything_inside_is_right,
    what_is_no_row_is_refused_by_name,
];
