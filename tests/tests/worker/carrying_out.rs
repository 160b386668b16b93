//! Everything that a plan can ask for is carried out with right data (the worker checks every byte) and timed.

use kilter_algorithms::mockup::{self, Mockup};
use kilter_algorithms::{Collective, registry};
use kilter_protocol::plan::{Block, Implementation, Item, Root, Wait};

use crate::worker::job::{Job, block, item};

/// Volumes for `p` ranks: none, one byte a block, odd, and beyond a page and an eager limit.
fn volumes(ranks: usize) -> [u64; 4] {
    [0, 1, 37, 12_288].map(|block| block * ranks as u64)
}

fn expect_all(ranks: usize, root: usize, blocks: &[Block]) {
    let mut job = Job::new(ranks);
    job.header.root = Root::Fixed(root);
    let finished = job.run_well(blocks);
    assert_eq!(finished.failures(), [], "on {ranks} ranks");
    for block in blocks {
        for item in &block.items {
            let seconds = finished.samples(&block.id, &item.id);
            assert!(
                finished.was_repeated(&block.id, &item.id) && seconds.len() <= 3,
                "{} on {ranks} ranks: {seconds:?}",
                item.id
            );
            assert!(
                seconds.iter().all(|seconds| *seconds > 0.0 && *seconds < 30.0),
                "{}: {seconds:?}",
                item.id
            );
        }
    }
}

/// Every collective by itself, whole and in parts.
fn collectives(ranks: usize) -> Vec<Block> {
    let parted = volumes(ranks).map(|bytes| 4 * bytes);
    let blocks = parted.map(|bytes| {
        let items = Collective::of_several_ranks()
            .filter(|collective| collective.has_data())
            .flat_map(|collective| {
                ["C(n)", "4 * C(n/4)", "C(n/2)", "5 * C(n/2)", "C(n/2) + 2 * C(n/4)"].map(|form| {
                    let text = form.replace('C', collective.name());
                    item(&text, collective, bytes, &text)
                })
            })
            .collect();
        block(&format!("collectives {bytes}"), items)
    });
    blocks.into()
}

/// Every row of the registry, with default and with smallest parameters, and as an expression.
fn algorithms(ranks: usize) -> Vec<Block> {
    let blocks = volumes(ranks).map(|bytes| {
        let mut items = Vec::new();
        for row in registry::algorithms().filter(|row| row.unmet(ranks, true, true).is_none()) {
            let smallest = row.parameters.iter().map(|parameter| parameter.min).collect();
            for (which, parameters) in [("default", row.default_parameters()), ("smallest", smallest)] {
                let implementation = Implementation::Algorithm {
                    id: row.id.to_owned(),
                    parameters,
                };
                let id = format!("{} {which}", row.id);
                items.push(Item {
                    id,
                    task: row.collective.into(),
                    bytes,
                    implementation,
                    settings: Vec::new(),
                    arrival: None,
                    deployed: Vec::new(),
                });
            }
            let name = row.id.split_once('.').unwrap().1;
            items.push(item(row.id, row.collective, bytes, &format!("p2p.{name}(n)")));
        }
        assert!(items.len() >= 12, "the registry has at least four rows");
        block(&format!("algorithms {bytes}"), items)
    });
    blocks.into()
}

/// Mock-ups that pad, on volumes that no number of ranks divides.
fn padded(ranks: usize) -> Vec<Block> {
    let blocks = [1, 1 + ranks as u64, 1 + 4099 * ranks as u64].map(|bytes| {
        let pads = |row: &&Mockup| !row.collective.has_blocks() && row.calls.iter().any(|call| call.has_blocks());
        let items = mockup::MOCKUPS
            .iter()
            .filter(pads)
            .map(|row| item(row.id, row.collective, bytes, row.side));
        block(&format!("padded {bytes}"), items.collect())
    });
    blocks.into()
}

fn everything(ranks: usize) -> Vec<Block> {
    [collectives(ranks), algorithms(ranks), padded(ranks)].concat()
}

fn on_one_rank() {
    expect_all(1, 0, &everything(1));
}

fn on_two_ranks() {
    expect_all(2, 0, &everything(2));
}

fn on_three_ranks_with_another_root() {
    expect_all(3, 2, &everything(3));
}

fn on_four_ranks() {
    expect_all(4, 1, &everything(4));
}

fn with_ranks_that_spin() {
    let mut job = Job::new(2);
    job.header.wait = Some(Wait::Spin);
    let finished = job.run_well(&[block("b", vec![item("scan", Collective::Scan, 64, "scan(n)")])]);
    assert_eq!(finished.failures(), []);
    let seconds = finished.samples("b", "scan");
    // None where the machine is so busy that a rank is pre-empted every time.
    assert!(
        seconds.iter().all(|seconds| *seconds > 0.0 && *seconds < 30.0),
        "{seconds:?}"
    );
}

fn what_cannot_be_carried_out_fails_with_its_reason_and_the_rest_goes_on() {
    let algorithm = |id: &str, parameters: Vec<u64>| Item {
        implementation: Implementation::Algorithm {
            id: id.to_owned(),
            parameters,
        },
        ..item(id, Collective::Reduce, 64, "")
    };
    let items = vec![
        item("unread", Collective::Reduce, 64, "reduce(n) +"),
        item("shapes", Collective::Bcast, 64, "gather(n)"),
        item("blocks", Collective::Gather, 63, "gather(n)"),
        item("divisor", Collective::Bcast, 63, "2 * bcast(n/2)"),
        item("k", Collective::Bcast, 64, "k * bcast(n/k)"),
        algorithm("reduce.nothing", Vec::new()),
        algorithm("gather.binomial", Vec::new()),
        item("right", Collective::Bcast, 64, "bcast(n)"),
    ];
    let finished = Job::new(2).run_well(&[
        block("b", items),
        block("c", vec![item("next", Collective::Scan, 64, "scan(n)")]),
    ]);
    for (item, reason) in [
        ("unread", "cannot be read"),
        ("shapes", "no local copy converts that"),
        ("blocks", "63 bytes cannot be divided into 2 blocks"),
        ("divisor", "`n/2` is no whole number for n = 63"),
        ("k", "has a `k`"),
        ("reduce.nothing", "not a registered algorithm"),
        ("gather.binomial", "implements gather, not reduce"),
    ] {
        assert!(
            finished.failure(item).contains(reason),
            "{item}: {}",
            finished.failure(item)
        );
    }
    assert_eq!(finished.failures().len(), 7);
    assert!(finished.was_repeated("b", "right") && finished.was_repeated("c", "next"));
}

kilter_tests::cases![
    on_one_rank,
    on_two_ranks,
    on_three_ranks_with_another_root,
    on_four_ranks,
    with_ranks_that_spin,
    what_cannot_be_carried_out_fails_with_its_reason_and_the_rest_goes_on,
];
