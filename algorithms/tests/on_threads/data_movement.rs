//! Messages, bytes and copies of the rows that only move data, by arguments of their own; all rows are in `counting.rs`.

use kilter_algorithms::threads::{Network, Outcome, Statistics};
use kilter_algorithms::{Algorithm, Parameter, alias, registry};

use crate::common::Case;

fn messages(outcome: &Outcome<Vec<u8>>) -> u64 {
    outcome.ranks.iter().map(|rank| rank.statistics.messages_sent).sum()
}

fn bytes(outcome: &Outcome<Vec<u8>>) -> u64 {
    outcome.ranks.iter().map(|rank| rank.statistics.bytes_sent).sum()
}

fn with_radix(algorithm: &Algorithm, radix: u64) -> Vec<u64> {
    let value = |of: &Parameter| if of.name == "radix" { radix } else { of.default };
    algorithm.parameters.iter().map(value).collect()
}

/// The cost of each radix: what is sent is a matter of digits and of remainders.
#[test]
fn cost_functions_are_exact_for_every_radix() {
    let has_radix = |row: &&Algorithm| row.parameters.iter().any(|parameter| parameter.name == "radix");
    let mut rows = 0;
    for algorithm in registry::algorithms().filter(has_radix) {
        for p in (1..=16).filter(|&p| algorithm.unmet(p, true, true).is_none()) {
            let range = algorithm.parameters.iter().find(|parameter| parameter.name == "radix");
            for radix in (2..=17).filter(|radix| range.is_some_and(|range| *radix <= range.max)) {
                let case = Case {
                    parameters: with_radix(algorithm, radix),
                    root: if algorithm.collective.has_root() { p / 2 } else { 0 },
                    ..Case::new(algorithm.id, p, 4)
                };
                assert_eq!(case.check(Network::FREE).critical_path(), case.cost(), "{case}");
            }
        }
        rows += 1;
    }
    assert!(rows >= 3, "{rows} rows have a radix");
}

/// Each rank sends, copies and keeps as much, and is done at the same time, whichever name the row is called by.
#[test]
fn a_row_with_two_names_is_one_row() {
    let network = Network {
        latency: 16.0,
        alpha: 64.0,
        beta: 0.25,
        gamma: 0.125,
    };
    for alias in alias::ALIASES {
        for p in 1..=17 {
            for root in [0, p / 2, p - 1] {
                let named = |id, parameters: &[u64]| Case {
                    root,
                    parameters: parameters.to_vec(),
                    ..Case::new(id, p, 24)
                };
                let (one, other) = (named(alias.id, alias.parameters), named(alias.plain, &[]));
                let of_ranks = |case: &Case| -> Vec<Statistics> {
                    let ranks = case.check(network).ranks.into_iter();
                    ranks.map(|rank| rank.statistics).collect()
                };
                assert_eq!(of_ranks(&one), of_ranks(&other), "{one}\n{other}");
                assert_eq!(one.cost(), other.cost(), "{one}\n{other}");
            }
        }
    }
    assert_eq!(alias::plain_name("bcast.k_nomial", &[2]), Some("bcast.binomial"));
    let others = [
        ("bcast.k_nomial", &[4][..]),
        ("bcast.binomial", &[]),
        ("reduce.k_nomial", &[2]),
    ];
    assert!(
        others
            .iter()
            .all(|(id, values)| alias::plain_name(id, values).is_none())
    );
}

/// Messages and bytes over all ranks, for blocks of `n` bytes.
#[test]
fn totals() {
    (2..=16).for_each(totals_of);
}

fn totals_of(p: usize) {
    let n = 32;
    let total = |id: &str| {
        let outcome = Case::new(id, p, n / 4).check(Network::FREE);
        (messages(&outcome) as usize, bytes(&outcome) as usize)
    };
    for id in ["gatherv.linear", "scatterv.linear"] {
        assert_eq!(total(id), (p - 1, (p - 1) * n), "{id}, p = {p}");
    }
    // Every rank has a block for every other.
    for id in [
        "allgatherv.linear",
        "allgatherv.ring",
        "alltoall.linear",
        "alltoall.pairwise",
        "alltoallv.linear",
        "alltoallv.pairwise",
    ] {
        assert_eq!(total(id), (p * (p - 1), p * (p - 1) * n), "{id}, p = {p}");
    }
    if p.is_multiple_of(2) {
        let (messages, bytes) = total("allgather.neighbour_exchange");
        assert_eq!((messages, bytes), (p * p / 2, p * (p - 1) * n), "p = {p}");
    }
    // A message for each bit that a distance below p can have; a block crosses as many links as its distance has bits set.
    let bits = kilter_algorithms::schedule::ceil_log2(p) as usize;
    let crossings: usize = (0..p).map(|distance: usize| distance.count_ones() as usize).sum();
    assert_eq!(total("allgatherv.bruck"), (p * bits, p * (p - 1) * n), "p = {p}");
    assert_eq!(total("alltoall.bruck"), (p * bits, p * crossings * n), "p = {p}");
    // A message on each link of the tree; in the tree of radix 4, the same both ways.
    let up = total("gather.k_nomial");
    assert_eq!((up.0, total("scatter.k_nomial")), (p - 1, up), "p = {p}");
    match p {
        4 => assert_eq!(up.1, 3 * n, "all straight to the root"),
        // Twelve blocks have one hop in each of three groups of four, nine of them another one.
        16 => assert_eq!(up.1, (12 + 12) * n, "digits of relative ranks to base 4 that are not 0"),
        _ => {}
    }
    // As without lengths, and a word on each link that does not end at the root.
    let (plain, crossed) = total("gather.binomial");
    let below_the_root = p - 1 - bits;
    assert_eq!(
        total("gatherv.binomial"),
        (plain + below_the_root, crossed + 8 * below_the_root),
        "p = {p}"
    );
    // Down, a rank's length crosses all links that its block does but the last, one more message on each link to an inner
    // rank.
    let inner = (1..p).filter(|&rank| is_inner(rank, p)).count();
    let (plain, crossed) = total("scatter.binomial");
    let told = crossed / n - (p - 1);
    assert_eq!(
        total("scatterv.binomial"),
        (plain + inner, crossed + 8 * told),
        "p = {p}"
    );
}

/// True if a rank has children in the tree of halved ranks with root 0.
fn is_inner(rank: usize, p: usize) -> bool {
    let (mut low, mut high) = (0, p);
    while high - low > 1 {
        let middle = low + (high - low).div_ceil(2);
        if rank < middle {
            high = middle;
        } else {
            low = middle;
        }
        if low == rank {
            return high - low > 1;
        }
    }
    false
}

/// Copies that a better placement of the data would have saved.
#[test]
fn data_in_place_is_not_copied() {
    let copied = |case: Case| -> Vec<u64> {
        case.check(Network::FREE)
            .ranks
            .iter()
            .map(|rank| rank.statistics.bytes_copied / (4 * case.count as u64))
            .collect()
    };
    let inner_root = |id| {
        copied(Case {
            root: 1,
            ..Case::new(id, 6, 100)
        })
    };
    for id in [
        "allgather.neighbour_exchange",
        "allgatherv.linear",
        "allgatherv.ring",
        "alltoall.linear",
        "alltoall.pairwise",
        "alltoallv.linear",
        "alltoallv.pairwise",
    ] {
        assert_eq!(copied(Case::new(id, 6, 100)), [1; 6], "{id}: a rank's own block");
        if !id.contains("neighbour") {
            assert_eq!(copied(Case::new(id, 5, 100)), [1; 5], "{id}: a rank's own block");
        }
    }
    for id in ["gatherv.linear", "scatterv.linear"] {
        assert_eq!(inner_root(id), [0, 1, 0, 0, 0, 0], "{id}");
    }
    for id in ["gatherv.binomial", "scatterv.binomial"] {
        assert_eq!(inner_root(id), [0, 1, 0, 1, 0, 0], "{id}");
    }
    // Parts of four: ranks 0 and 1 with the root, 2, 3, and 4 with 5.
    for id in ["gather.k_nomial", "scatter.k_nomial"] {
        assert_eq!(inner_root(id), [0, 1, 0, 0, 1, 0], "{id}");
    }
    // The own block, and the others into and out of a message for each of their bits.
    assert_eq!(copied(Case::new("alltoall.bruck", 4, 100)), [1 + 2 * (1 + 1 + 2); 4]);
}
