//! Every mock-up proves that it is one: both sides of every guideline run on known data, and the worker compares every byte
//! with what the functionality must deliver.

use std::collections::BTreeSet;

use kilter_algorithms::Collective;
use kilter_model::config::guideline::{self, Kind};
use kilter_model::place::Place;
use kilter_model::plan::{Plan, Subject};
use kilter_protocol::plan::{Block, Element, Item, Repetitions, Root, Synchronisation};

use crate::worker::job::{Job, block, item};

/// Sizes 0, 1, p-1, p, p+1 and beyond a page and an eager limit.
fn sizes(ranks: usize) -> Vec<u64> {
    let p = ranks as u64;
    vec![0, 1, p - 1, p, p + 1, 20_480]
}

/// Both sides of all guidelines, in blocks of one task and volume.
fn blocks(ranks: usize, element: Element) -> Vec<Block> {
    let guidelines = guideline::load_embedded().unwrap();
    let place = Place {
        ranks,
        element_bytes: element.bytes(),
        // So that guidelines of several nodes take part: one node is one part.
        several_nodes: true,
        each_alone: false,
    };
    let plan = Plan::new(&guidelines, &[], &sizes(ranks), place);
    for guideline in guidelines.iter().filter(|guideline| guideline.kind == Kind::Pattern) {
        let stated = plan.cells.iter().any(|cell| cell.guideline == guideline.id);
        assert!(
            stated || plan.left_out.contains_key(&guideline.id),
            "{} on {ranks} ranks",
            guideline.id
        );
    }
    let subjects: BTreeSet<Subject> = plan.subjects();
    let mut blocks: Vec<Block> = Vec::new();
    for subject in subjects {
        let id = format!("{}@{}", subject.task, subject.bytes);
        match blocks.last_mut().filter(|block| block.id == id) {
            Some(block) => block.items.push(subject.item()),
            None => blocks.push(block(&id, vec![subject.item()])),
        }
    }
    blocks
}

/// Sides with lanes, over parts of neighbouring ranks instead of nodes: on one node no lane has more than one rank.
fn over_parts(ranks: usize, element: Element) -> Vec<Block> {
    let all = guideline::load_embedded().unwrap();
    let statements = all.iter().filter_map(|guideline| guideline.expression.as_ref());
    let mut blocks = Vec::new();
    for statement in statements.filter(|statement| statement.right.to_string().contains("{lane}")) {
        let task = statement.left.single().unwrap();
        for volume in [0, 1, 37, 4096] {
            let bytes = volume * ranks as u64 * element.bytes();
            let parts = (2..ranks).filter(|part| ranks.is_multiple_of(*part));
            let items: Vec<Item> = parts
                .map(|part| {
                    let side = statement
                        .right
                        .to_string()
                        .replace("{node}", &format!("{{part:{part}}}"));
                    item(&side, task, bytes, &side)
                })
                .collect();
            if !items.is_empty() {
                blocks.push(block(&format!("{task} {bytes} over parts"), items));
            }
        }
    }
    blocks
}

fn lanes_need_equally_many_ranks_in_every_part() {
    let side = "scatter(n){part:2} + bcast(n*q/p){lane} + allgather(n){part:2}";
    let items =
        ["bcast(n)", side, "scatter(n) + bcast(n*q/p){lane}"].map(|side| item(side, Collective::Bcast, 192, side));
    let finished = Job::new(3).run_well(&[block("uneven", items.into())]);
    let reasons = finished.failures();
    let of = |side: &str| {
        reasons
            .iter()
            .find(|(_, item, _)| *item == side)
            .map(|(.., reason)| reason.clone())
    };
    assert_eq!(of("bcast(n)"), None);
    let uneven = of(side).unwrap();
    let wanted = "not available: lanes need equally many ranks on every node (or in every part), and here some have 1 and others 2";
    assert!(uneven.contains(wanted), "{uneven}");
    let of_nothing = of("scatter(n) + bcast(n*q/p){lane}").unwrap();
    assert!(
        of_nothing.contains("lane of what? a call on node or part:N must be there too"),
        "{of_nothing}"
    );
}

fn prove(ranks: usize, root: Root, element: Element) {
    let mut job = Job::new(ranks);
    job.header.root = root;
    job.header.element = element;
    // The subject is data: every item is compared after its trial and after its one repetition, and ranks need not begin together.
    job.header.sync = Synchronisation::Barrier;
    let mut blocks = [blocks(ranks, element), over_parts(ranks, element)].concat();
    for block in &mut blocks {
        block.repetitions = Repetitions::fixed(1, block.repetitions.seconds);
    }
    let finished = job.run_well(&blocks);
    let (mut absent, mut wrong) = (BTreeSet::new(), Vec::new());
    for (block, item, reason) in finished.failures() {
        if reason.contains("not available: ") {
            absent.insert(reason);
        } else {
            wrong.push(format!("{block}: {item}: {reason}"));
        }
    }
    assert!(wrong.is_empty(), "on {ranks} ranks:\n{}", wrong.join("\n"));
    for reason in absent {
        println!("on {ranks} ranks: {reason}");
    }
}

fn on_one_rank() {
    prove(1, Root::Fixed(0), Element::Byte);
}

fn on_two_ranks() {
    prove(2, Root::Fixed(0), Element::Byte);
}

fn on_three_ranks_with_another_root_and_doubles() {
    prove(3, Root::Fixed(2), Element::Double);
}

fn on_four_ranks_with_rotating_roots() {
    prove(4, Root::Rotating, Element::Byte);
}

fn on_five_ranks_with_ints() {
    prove(5, Root::Fixed(3), Element::Int);
}

fn on_eight_ranks_with_floats() {
    prove(8, Root::Fixed(1), Element::Float);
}

kilter_tests::cases![
    on_one_rank,
    on_two_ranks,
    on_three_ranks_with_another_root_and_doubles,
    on_four_ranks_with_rotating_roots,
    on_five_ranks_with_ints,
    on_eight_ranks_with_floats,
    lanes_need_equally_many_ranks_in_every_part,
];
