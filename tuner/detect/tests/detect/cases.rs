//! Tables of programs, and what is found in them.

use kilter_detect::model::finding::Collective::{self, *};
use kilter_detect::model::finding::{Confidence, Root};

use crate::chance_lookalikes as chance;
use crate::fixture::Rank;
use crate::further_lookalikes as more;
use crate::lookalikes as like;
use crate::more_lookalikes as last;
use crate::patterns::*;

/// Collective that a program has.
pub(crate) struct Expected {
    pub(crate) collective: Collective,
    pub(crate) root: Root,
    pub(crate) instances: usize,
    pub(crate) least: Confidence,
}

/// Program with what it has.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) program: fn(&mut Rank),
    pub(crate) expected: Vec<Expected>,
    /// Ranks on which it runs.
    pub(crate) ranks: &'static [u32],
}

const BOTH: &[u32] = &[4, 7];

fn has(name: &'static str, program: fn(&mut Rank), collective: Collective, root: Root, instances: u64) -> Case {
    Case {
        name,
        program,
        expected: vec![Expected {
            collective,
            root,
            instances: instances as usize,
            least: Confidence::Likely,
        }],
        ranks: BOTH,
    }
}

impl Case {
    fn on(mut self, ranks: &'static [u32]) -> Self {
        self.ranks = ranks;
        self
    }

    fn at_least(mut self, least: Confidence) -> Self {
        self.expected.iter_mut().for_each(|one| one.least = least);
        self
    }
}

fn broadcasts() -> Vec<Case> {
    let zero = || Root::One(0);
    vec![
        has(
            "broadcast: chain with noise",
            broadcast::chain_with_noise,
            Broadcast,
            zero(),
            TIMES,
        )
        .at_least(Confidence::Certain),
        has(
            "broadcast: redundant message",
            broadcast::redundant,
            Broadcast,
            Root::Either(vec![0, 1]),
            1,
        ),
        has("broadcast: repeated", broadcast::repeated, Broadcast, zero(), TIMES).at_least(Confidence::Certain),
        has("broadcast: flat", broadcast::flat, Broadcast, Root::One(2), TIMES).at_least(Confidence::Certain),
        has(
            "broadcast: binomial",
            broadcast::binomial_tree,
            Broadcast,
            zero(),
            TIMES,
        )
        .at_least(Confidence::Certain),
        has(
            "broadcast: rotating roots",
            broadcast::rotating_roots,
            Broadcast,
            Root::Varies,
            TIMES,
        )
        .at_least(Confidence::Certain),
        has(
            "broadcast: small, copied",
            broadcast::small_through_copies,
            Broadcast,
            zero(),
            TIMES,
        ),
        has(
            "broadcast: segmented chain",
            broadcast::segmented_chain,
            Broadcast,
            zero(),
            TIMES,
        ),
        has(
            "broadcast: spread and roll",
            broadcast::spread_and_roll,
            Broadcast,
            zero(),
            TIMES,
        ),
        has(
            "broadcast: spread and roll, repacked",
            broadcast::spread_and_roll_repacked,
            Broadcast,
            zero(),
            2,
        ),
    ]
}

fn personalised() -> Vec<Case> {
    let zero = || Root::One(0);
    vec![
        has("gather: linear", gather::linear, Gather, zero(), TIMES),
        has(
            "gather: linear to the middle",
            gather::linear_to_the_middle,
            Gather,
            Root::One(2),
            TIMES,
        ),
        has("gather: linear, shown", gather::linear_shown, Gather, zero(), TIMES).at_least(Confidence::Certain),
        has("gather: binomial", gather::binomial_tree, Gather, zero(), TIMES).at_least(Confidence::Possible),
        has(
            "gather: binomial, large",
            gather::binomial_tree_large,
            Gather,
            zero(),
            TIMES,
        ),
        has("gather: chain", gather::chain, Gather, zero(), TIMES).at_least(Confidence::Possible),
        has("gather: chain, large", gather::chain_large, Gather, zero(), TIMES),
        has("scatter: linear", scatter::linear, Scatter, Root::One(1), TIMES),
        has("scatter: linear, shown", scatter::linear_shown, Scatter, zero(), TIMES).at_least(Confidence::Certain),
        has("scatter: binomial", scatter::binomial_tree, Scatter, zero(), TIMES).at_least(Confidence::Possible),
        has(
            "scatter: binomial, large",
            scatter::binomial_tree_large,
            Scatter,
            zero(),
            TIMES,
        ),
        has("scatter: chain", scatter::chain, Scatter, zero(), TIMES).at_least(Confidence::Possible),
        has("scatter: chain, large", scatter::chain_large, Scatter, zero(), TIMES),
        has("all-to-all: linear", alltoall::linear, Alltoall, Root::None, TIMES).at_least(Confidence::Certain),
        has("all-to-all: pairwise", alltoall::pairwise, Alltoall, Root::None, TIMES).at_least(Confidence::Certain),
        has("all-to-all: Bruck", alltoall::bruck, Alltoall, Root::None, 2),
    ]
}

fn to_all() -> Vec<Case> {
    let certain = Confidence::Certain;
    vec![
        has("allgather: linear", allgather::linear, Allgather, Root::None, TIMES).at_least(certain),
        has("allgather: ring", allgather::ring, Allgather, Root::None, TIMES).at_least(certain),
        has(
            "allgather: recursive doubling",
            allgather::recursive_doubling,
            Allgather,
            Root::None,
            TIMES,
        )
        .on(&[4, 8])
        .at_least(certain),
        has("allgather: Bruck", allgather::bruck, Allgather, Root::None, TIMES).at_least(certain),
        has(
            "allgather: gather and broadcast, large",
            allgather::gather_and_broadcast_large,
            Allgather,
            Root::None,
            TIMES,
        ),
        has(
            "allgather: gather and broadcast, shown",
            allgather::gather_and_broadcast_shown,
            Allgather,
            Root::None,
            TIMES,
        )
        .at_least(certain),
        has("allgather: in turn", allgather::in_turn, Allgather, Root::None, TIMES),
        has("barrier: linear", barrier::linear, Barrier, Root::None, TIMES).at_least(certain),
        has("barrier: tree", barrier::tree, Barrier, Root::None, TIMES),
        has(
            "barrier: dissemination",
            barrier::dissemination,
            Barrier,
            Root::None,
            TIMES,
        )
        .at_least(certain),
        has("barrier: all to all", barrier::all_to_all, Barrier, Root::None, TIMES).at_least(certain),
    ]
}

fn reductions() -> Vec<Case> {
    let zero = || Root::One(0);
    let certain = Confidence::Certain;
    vec![
        has("reduce: linear, shown", reduction::linear_shown, Reduce, zero(), TIMES).at_least(certain),
        has("reduce: binomial, shown", reduction::tree_shown, Reduce, zero(), TIMES).at_least(certain),
        has(
            "reduce: binomial, maxima",
            reduction::tree_of_maxima,
            Reduce,
            zero(),
            4 * TIMES,
        )
        .at_least(Confidence::Possible),
        has("reduce: chain, shown", reduction::chain_shown, Reduce, zero(), TIMES).at_least(certain),
        has(
            "allreduce: linear, shown",
            reduction::allreduce_linear_shown,
            Allreduce,
            Root::None,
            TIMES,
        )
        .at_least(certain),
        has(
            "allreduce: trees, shown",
            reduction::allreduce_trees_shown,
            Allreduce,
            Root::None,
            TIMES,
        )
        .at_least(certain),
        has(
            "allreduce: recursive doubling",
            reduction::allreduce_recursive_doubling,
            Allreduce,
            Root::None,
            TIMES,
        ),
        has(
            "scan: chain, shown",
            reduction::scan_chain_shown,
            Scan,
            Root::None,
            TIMES,
        ),
        has("scan: doubling", reduction::scan_doubling, Scan, Root::None, TIMES),
    ]
}

/// Program with two collectives.
fn both(name: &'static str, program: fn(&mut Rank), collectives: [(Collective, Root, Confidence); 2]) -> Case {
    let mut case = has(name, program, Barrier, Root::None, TIMES);
    let expected = |(collective, root, least)| Expected {
        collective,
        root,
        instances: TIMES as usize,
        least,
    };
    case.expected = collectives.into_iter().map(expected).collect();
    case
}

/// A gather and a broadcast that are no allgather, or not for certain.
fn gathers_and_broadcasts() -> Vec<Case> {
    let zero = || Root::One(0);
    let pair = |gather: Confidence, broadcast: Confidence| [(Gather, zero(), gather), (Broadcast, zero(), broadcast)];
    let (certain, likely, possible) = (Confidence::Certain, Confidence::Likely, Confidence::Possible);
    vec![
        both(
            "gather and broadcast",
            allgather::gather_and_broadcast,
            pair(possible, certain),
        ),
        both(
            "gather, work, broadcast",
            allgather::gather_and_work,
            pair(possible, certain),
        ),
        both(
            "gather, work, broadcast, large",
            allgather::gather_and_work_large,
            pair(likely, certain),
        ),
        both(
            "gather, work, broadcast, shown",
            allgather::gather_and_work_shown,
            pair(certain, certain),
        ),
        both(
            "equal numbers",
            programs::broadcast_and_gather_of_equal_numbers,
            pair(likely, likely),
        ),
        both("one wrapper", variants::through_a_wrapper, pair(likely, certain)),
    ]
}

/// Further forms, which were written after the detector found the others.
fn further() -> Vec<Case> {
    use variants as more;
    let certain = Confidence::Certain;
    vec![
        has(
            "broadcast: binary tree",
            more::broadcast_binary,
            Broadcast,
            Root::One(1),
            TIMES,
        )
        .at_least(certain),
        has(
            "broadcast: to both sides",
            more::broadcast_to_both_sides,
            Broadcast,
            Root::One(0),
            TIMES,
        ),
        has(
            "broadcast: large",
            more::broadcast_large,
            Broadcast,
            Root::One(0),
            TIMES,
        )
        .at_least(certain),
        has("gather: lengths", more::gather_of_lengths, Gather, Root::One(1), TIMES),
        has(
            "scatter: lengths",
            more::scatter_of_lengths,
            Scatter,
            Root::One(0),
            TIMES,
        ),
        has(
            "allgather: counts",
            more::allgather_of_counts,
            Allgather,
            Root::None,
            TIMES,
        ),
        has("allgather: large", more::allgather_large, Allgather, Root::None, TIMES),
        has(
            "all-to-all: numbers",
            more::alltoall_of_numbers,
            Alltoall,
            Root::None,
            TIMES,
        ),
        has(
            "allreduce: integer",
            more::allreduce_of_an_integer,
            Allreduce,
            Root::None,
            TIMES,
        )
        .on(&[4, 8]),
        has(
            "barrier: recursive doubling",
            more::barrier_recursive_doubling,
            Barrier,
            Root::None,
            TIMES,
        )
        .on(&[4, 8]),
        has(
            "reduce: binomial, unseen",
            more::reduce_tree_unseen,
            Reduce,
            Root::One(0),
            5,
        )
        .at_least(Confidence::Possible),
        has("solver", more::solver, Allreduce, Root::None, 4),
    ]
}

/// Collectives as they stand in programs, written last.
fn of_programs() -> Vec<Case> {
    vec![
        has(
            "broadcast: count",
            programs::broadcast_of_a_count,
            Broadcast,
            Root::One(0),
            TIMES,
        ),
        has(
            "gather: with oneself",
            programs::gather_with_oneself,
            Gather,
            Root::One(0),
            TIMES,
        ),
        has(
            "all-to-all: store and forward",
            programs::alltoall_by_store_and_forward,
            Alltoall,
            Root::None,
            TIMES,
        ),
        has(
            "allgather: neighbours",
            programs::allgather_by_neighbours,
            Allgather,
            Root::None,
            TIMES,
        )
        .on(&[4, 8]),
        has(
            "barrier: there and back",
            programs::barrier_there_and_back,
            Barrier,
            Root::None,
            TIMES,
        ),
    ]
}

/// Programs that came when a part of the detector was found to be needed by no other.
fn for_its_parts() -> Vec<Case> {
    vec![
        has(
            "gather: binomial, medium",
            gather::binomial_tree_medium,
            Gather,
            Root::One(0),
            TIMES,
        )
        .at_least(Confidence::Possible),
        has(
            "scatter: binomial, medium",
            scatter::binomial_tree_medium,
            Scatter,
            Root::One(0),
            TIMES,
        )
        .at_least(Confidence::Possible),
        has(
            "broadcast: flooding",
            broadcast::flooding,
            Broadcast,
            Root::One(0),
            TIMES,
        ),
        has(
            "allreduce: maxima",
            reduction::allreduce_of_maxima,
            Allreduce,
            Root::None,
            TIMES,
        )
        .on(&[4, 8]),
    ]
}

/// Programs with one kind of collective each, and the nested one with two.
pub(crate) fn collectives() -> Vec<Case> {
    let mut all = broadcasts();
    all.extend(personalised());
    all.extend(to_all());
    all.extend(reductions());
    all.extend(further());
    all.extend(of_programs());
    all.extend(gathers_and_broadcasts());
    all.extend(for_its_parts());
    let mut nested = has("broadcast: nested", broadcast::nested, Broadcast, Root::One(0), 1);
    nested.expected.push(Expected {
        collective: Broadcast,
        root: Root::Varies,
        instances: 0,
        least: Confidence::Likely,
    });
    all.push(nested);
    all
}

/// Programs that have none.
pub(crate) fn lookalikes() -> Vec<Case> {
    let none = |name: &'static str, program: fn(&mut Rank)| Case {
        name,
        program,
        expected: Vec::new(),
        ranks: BOTH,
    };
    vec![
        none("halo in a circle", like::halo_in_a_circle),
        none("halo on a line", like::halo_on_a_line),
        none("halo of one cell", like::halo_of_one_cell),
        none("halo on a grid", like::halo_on_a_grid),
        none("ping-pong", like::ping_pong),
        none("ring of zeros", like::ring_of_zeros),
        none("ring of a number", like::ring_of_a_number),
        none("ring of a number by parity", like::ring_of_a_number_by_parity),
        none("master and workers", like::master_and_workers),
        none("master in step", like::master_in_step),
        none("pipeline", like::pipeline),
        none("random messages", like::random_messages),
        none("random messages of one number", like::random_messages_of_one_number),
        none("token ring", like::token_ring),
        none("neighbours in step", like::neighbours_in_step),
        none("half a ring", like::half_a_ring),
        none("partners", like::partners),
        none("wavefront", like::wavefront),
        none("table server", like::table_server),
        none("reports of some", like::reports_of_some),
        none("transposition sort", more::transposition_sort),
        none("butterfly of new data", more::butterfly_of_new_data),
        none("halo of zeros", more::halo_of_zeros),
        none("wave", more::wave),
        none("server of weights", more::server_of_weights),
        none("particles", more::particles),
        none("growing pipeline", more::growing_pipeline),
        none("relay", more::relay),
        none("shift of new blocks", more::shift_of_new_blocks),
        none("logs", more::logs),
        none("agreement", last::agreement),
        none("merge tree", last::merge_tree),
        none("averages", last::averages),
        none("counters", last::counters),
        none("adding token", last::adding_token),
        none("subscriptions", last::subscriptions),
        none("checkpoints", last::checkpoints),
        none("columns in turn", last::columns_in_turn),
        none("stencil of equal borders", last::stencil_of_equal_borders),
        none("counts of atoms", chance::counts_of_atoms),
        none("atoms that move on", chance::atoms_that_move_on),
        none("tasks and votes", chance::tasks_and_votes),
        none("sorts", chance::sorts),
        none("ping-pong of all pairs", chance::ping_pong_of_all_pairs),
    ]
}
