//! A replaced call allocates nothing after the first one, and neither does one that is left alone: counted at the C library's own
//! functions, and told apart from what the MPI library allocates (`allocations.c`).

use std::collections::BTreeMap;

use kilter_algorithms::closing::{self, CLOSING, Way};
use kilter_algorithms::{Collective, mockup, registry};
use kilter_profile::Rule;

use crate::dropin::job::{Deployed, Mpi, Output, rule};

const RANKS: usize = 2;
/// Calls of one item of the program, the first one included.
const CALLS: u64 = 11;
/// Elements of the first implementation's calls; those of the others are multiples.
const COUNT: usize = 16;
/// No implementation's.
const UNTOUCHED: usize = 7;

/// The collective's implementations that run on two ranks.
fn implementations(collective: Collective) -> Vec<&'static str> {
    let algorithms = registry::by_collective(collective)
        .filter(|row| row.unmet(RANKS, true, true).is_none())
        .map(|row| row.id);
    let mockups = mockup::MOCKUPS.iter().filter(|row| row.collective == collective);
    let closing = CLOSING.iter().filter(|row| row.collective == collective);
    let composed = mockups.map(|row| row.id).chain(closing.map(|row| row.id));
    algorithms.chain(composed).collect()
}

/// True if two ranks with equal blocks can call it in place.
fn has_in_place(collective: Collective) -> bool {
    !matches!(collective, Collective::Barrier | Collective::Bcast)
}

/// The total volume of a call.
fn bytes(collective: Collective, count: usize, element_bytes: usize) -> u64 {
    let blocks = if collective.has_blocks() { RANKS } else { 1 };
    (count * element_bytes * blocks) as u64
}

/// A profile in which each implementation has sizes of its own, what the program is to call, and how often each implementation is
/// to run then.
fn everything() -> (Vec<Rule>, Vec<String>, BTreeMap<String, u64>) {
    let (mut rules, mut items, mut calls) = (Vec::new(), Vec::new(), BTreeMap::new());
    for collective in Collective::of_several_ranks() {
        let name = collective.name();
        let mut kinds = vec!["plain"];
        kinds.extend(has_in_place(collective).then_some("in_place"));
        if collective.has_operator() {
            kinds.push("own_operator");
        } else if collective.has_data() {
            kinds.push("derived");
        }
        for (k, id) in implementations(collective).into_iter().enumerate() {
            let count = COUNT * (k + 1);
            if !collective.volume_is_known() {
                // One for all sizes.
                if k > 0 {
                    break;
                }
                rules.push(rule(name, RANKS, 0..=u64::MAX, id));
            } else {
                let bytes = bytes(collective, count, 4);
                let mut rule = rule(name, RANKS, bytes..=bytes, id);
                if closing::find(id).is_some_and(|row| row.way == Way::Split) {
                    // A part is as long as the calls of the first implementation.
                    rule.parameters.insert(
                        Way::Split.parameter().name.to_owned(),
                        self::bytes(collective, COUNT, 4),
                    );
                }
                rules.push(rule);
            }
            for kind in &kinds {
                // Elements of eight bytes.
                let count = if *kind == "derived" { count / 2 } else { count };
                items.push(format!("{name}:{count}:{kind}"));
            }
            calls.insert(id.to_owned(), CALLS * kinds.len() as u64);
        }
        if collective.volume_is_known() {
            items.extend(kinds.iter().map(|kind| format!("{name}:{UNTOUCHED}:{kind}")));
        }
    }
    (rules, items, calls)
}

/// Allocations that the program counted: Kilter's in the first calls of all items, and those in later calls, by item.
fn counted(output: &Output) -> (u64, BTreeMap<String, u64>) {
    let first = output.stdout.lines().find_map(|line| line.strip_prefix("FIRST "));
    let items = output.stdout.lines().filter_map(|line| {
        let mut words = line.strip_prefix("COUNTED ")?.split(' ');
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    });
    (first.and_then(|first| first.parse().ok()).unwrap_or(0), items.collect())
}

fn run(mpi: Mpi, rules: Vec<Rule>, items: &[String]) -> Output {
    let options = ["-std=c11", "-O1", "-rdynamic", "-ldl"];
    let program = mpi.built("mpicc", "allocations.c", &options, "allocations");
    let deployed = Deployed::for_library(mpi, rules);
    let words = std::iter::once(program.as_path()).chain(items.iter().map(std::path::Path::new));
    let output = deployed.run(mpi, &words.collect::<Vec<_>>(), RANKS, &[]);
    assert!(output.ok, "{mpi:?}: {output:?}");
    output
}

fn no_call_after_the_first_allocates() {
    for mpi in Mpi::installed() {
        let (rules, items, calls) = everything();
        let output = run(mpi, rules, &items);
        assert_eq!(output.calls(), calls, "{mpi:?}: {}", output.stderr);
        let (first, found) = counted(&output);
        assert!(
            first > 0,
            "{mpi:?}: the counter does not see the drop-in: {}",
            output.stdout
        );
        assert_eq!(found.len(), items.len(), "{mpi:?}: {}", output.stdout);
        let allocating: Vec<_> = found.iter().filter(|(_, allocations)| **allocations > 0).collect();
        assert!(allocating.is_empty(), "{mpi:?}: {allocating:?}");
    }
}

/// More counts than are kept of a collective.
fn calls_that_take_turns_allocate_nothing() {
    let id = "allreduce.recursive_doubling";
    let item = format!("allreduce:{COUNT}:turns");
    let output = run(
        Mpi::OpenMpi,
        vec![rule("allreduce", RANKS, 1..=u64::MAX, id)],
        std::slice::from_ref(&item),
    );
    assert_eq!(output.calls()[id], 5 * CALLS, "{}", output.stderr);
    assert_eq!(counted(&output).1[&item], 0, "{}", output.stdout);
}

kilter_tests::cases![
    no_call_after_the_first_allocates,
    calls_that_take_turns_allocate_nothing,
];
