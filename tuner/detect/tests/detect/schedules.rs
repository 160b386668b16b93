//! Any schedule will do: collectives by trees, orders and routes that are drawn.

use std::ops::Range;

use kilter_detect::detect;
use kilter_detect::model::finding::{Collective, Confidence, Root};
use proptest::prelude::*;

use crate::findings::only;
use crate::fixture::{Rank, on_world};

/// Tree over ranks in a drawn order: each has one before it as its parent.
#[derive(Debug, Clone)]
struct Tree {
    order: Vec<u32>,
    /// Index in the order of the parent of each but the first.
    parents: Vec<usize>,
}

impl Tree {
    fn root(&self) -> u32 {
        self.order[0]
    }

    fn parent(&self, rank: u32) -> Option<u32> {
        let at = self.order.iter().position(|one| *one == rank).unwrap();
        (at > 0).then(|| self.order[self.parents[at - 1]])
    }

    fn children(&self, rank: u32) -> Vec<u32> {
        self.order
            .iter()
            .copied()
            .filter(|one| self.parent(*one) == Some(rank))
            .collect()
    }

    /// Ranks of a subtree, ascending.
    fn below(&self, rank: u32) -> Vec<u32> {
        let mut all = vec![rank];
        for child in self.children(rank) {
            all.extend(self.below(child));
        }
        all.sort_unstable();
        all
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    (4..8_u32).prop_flat_map(|size| {
        let order = Just((0..size).collect::<Vec<u32>>()).prop_shuffle();
        let parents = (1..size as usize).map(|at| 0..at).collect::<Vec<Range<usize>>>();
        (order, parents).prop_map(|(order, parents)| Tree { order, parents })
    })
}

const BYTES: usize = 56;

fn block(rank: u32) -> Range<usize> {
    rank as usize * BYTES..(rank as usize + 1) * BYTES
}

/// Broadcast, and the ranks' own exchanges between its messages.
fn broadcast(rank: &mut Rank, tree: &Tree, time: u64) {
    match tree.parent(rank.rank) {
        Some(parent) => rank.receive(parent, 1, 0..BYTES),
        None => rank.fill(0..BYTES, time),
    }
    for child in tree.children(rank.rank) {
        rank.send(child, 1, 0..BYTES);
    }
}

/// Gather in which every rank sends each block that it has in a message of its own.
fn gather(rank: &mut Rank, tree: &Tree, time: u64) {
    rank.fill(block(rank.rank), time);
    for child in tree.children(rank.rank) {
        for below in tree.below(child) {
            rank.receive(child, 1, block(below));
        }
    }
    if let Some(parent) = tree.parent(rank.rank) {
        for below in tree.below(rank.rank) {
            rank.send(parent, 1, block(below));
        }
    }
}

fn scatter(rank: &mut Rank, tree: &Tree, time: u64) {
    match tree.parent(rank.rank) {
        Some(parent) => tree
            .below(rank.rank)
            .into_iter()
            .for_each(|below| rank.receive(parent, 1, block(below))),
        None => rank.fill(0..rank.size as usize * BYTES, time),
    }
    for child in tree.children(rank.rank) {
        tree.below(child)
            .into_iter()
            .for_each(|below| rank.send(child, 1, block(below)));
    }
}

/// The root shows its block, which travels in no message of the gather.
fn allgather(rank: &mut Rank, tree: &Tree, time: u64) {
    gather(rank, tree, time);
    if tree.parent(rank.rank).is_none() {
        rank.show(block(rank.rank));
    }
    let all = 0..rank.size as usize * BYTES;
    if let Some(parent) = tree.parent(rank.rank) {
        rank.receive(parent, 2, all.clone());
    }
    for child in tree.children(rank.rank) {
        rank.send(child, 2, all.clone());
    }
}

/// Sum of numbers, which every rank shows.
fn reduce(rank: &mut Rank, tree: &Tree, time: u64) {
    rank.of(kilter_detect::model::trace::Class::Real, 8);
    let own = (f64::from(rank.rank) * 1.7 + time as f64).sin();
    rank.put(0, &[own, own * own + 2.0]);
    rank.show(0..16);
    for child in tree.children(rank.rank) {
        rank.receive(child, 1, 64..80);
        rank.combine(0..16, 64, |a, b| a + b);
    }
    match tree.parent(rank.rank) {
        Some(parent) => rank.send(parent, 1, 0..16),
        None => rank.show(0..16),
    }
}

/// Message of a drawn exchange: sender, receiver, length, tag, and places of the data at both.
type Drawn = (u32, u32, usize, i32, usize, usize);

/// Messages between two ranks each, of new data every time.
fn exchange(rank: &mut Rank, messages: &[Drawn]) {
    rank.of(kilter_detect::model::trace::Class::Real, 8);
    for (at, &(from, to, words, tag, place, other)) in (0..).zip(messages) {
        if from == to {
            continue;
        }
        let range = |place: usize| place * 32..place * 32 + words * 8;
        if rank.rank == from {
            rank.fill(range(place), at);
            rank.send(to, tag, range(place));
        } else if rank.rank == to {
            rank.receive(from, tag, 1000 + range(other).start..1000 + range(other).end);
        }
    }
}

type Once = fn(&mut Rank, &Tree, u64);

fn check(once: Once, tree: &Tree, collective: Collective, has_root: bool, least: Confidence) {
    let program = |rank: &mut Rank| (0..3).for_each(|time| once(rank, tree, time));
    let detection = detect(&on_world(tree.order.len() as u32, &program));
    let finding = only(&detection);
    assert_eq!(
        (finding.collective, finding.instances.len()),
        (collective, 3),
        "{}",
        crate::table::shown(finding)
    );
    assert_eq!(finding.root, if has_root { Root::One(tree.root()) } else { Root::None });
    assert!(finding.confidence >= least, "{}", crate::table::shown(finding));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_broadcast_by_any_tree_is_found(tree in tree()) {
        check(broadcast, &tree, Collective::Broadcast, true, Confidence::Certain);
    }

    #[test]
    fn a_gather_by_any_tree_is_found(tree in tree()) {
        check(gather, &tree, Collective::Gather, true, Confidence::Likely);
    }

    #[test]
    fn a_scatter_by_any_tree_is_found(tree in tree()) {
        check(scatter, &tree, Collective::Scatter, true, Confidence::Likely);
    }

    #[test]
    fn an_allgather_by_any_tree_is_found(tree in tree()) {
        check(allgather, &tree, Collective::Allgather, false, Confidence::Likely);
    }

    #[test]
    fn a_sum_by_any_tree_is_found(tree in tree()) {
        // A chain from rank 0 to the last one sends what a scan does.
        let is_scan = tree.order.iter().rev().copied().eq(0..tree.order.len() as u32) && tree.parents.iter().copied().eq(0..tree.parents.len());
        prop_assume!(!is_scan);
        check(reduce, &tree, Collective::Reduce, true, Confidence::Certain);
    }

    /// Messages that are drawn may by chance be those of a gather, once: of such a finding nothing but that it is possible is said.
    #[test]
    fn drawn_messages_of_new_data_are_possible_at_most(
        messages in proptest::collection::vec((0..6_u32, 0..6_u32, 1..7_usize, 0..2_i32, 0..12_usize, 0..12_usize), 20..160)
    ) {
        let detection = detect(&on_world(6, &|rank: &mut Rank| exchange(rank, &messages)));
        let found = detection.findings.iter();
        let more = found.filter(|one| one.confidence > Confidence::Possible || one.instances.len() > 1);
        let shown: Vec<String> = more.map(crate::table::shown).collect();
        prop_assert!(shown.is_empty(), "{:#?}", shown);
    }
}
