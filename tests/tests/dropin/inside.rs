//! Implementations that are made of collectives run what the profile has for those.

use std::collections::BTreeMap;
use std::path::Path;

use kilter_profile::Rule;

use crate::dropin::job::{Deployed, Mpi, rule};

const RANKS: usize = 3;

/// A rule for one volume; its implementation may have a value for its parameter, as `allreduce.split@16`.
fn at(bytes: u64, implementation: &str) -> Rule {
    let (id, value) = implementation.split_once('@').unwrap_or((implementation, ""));
    let (collective, _) = id.split_once('.').unwrap();
    let mut rule = rule(collective, RANKS, bytes..=bytes, id);
    let name = if id.ends_with(".split") {
        "part_bytes"
    } else {
        "to_bytes"
    };
    let value = value.parse().ok().map(|value: u64| (name.to_owned(), value));
    rule.parameters.extend(value);
    rule
}

/// Calls of the program by implementation, and calls inside others. The program makes ten of each item.
fn counts(rules: Vec<Rule>, items: &[&str]) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
    let mut all = None;
    for mpi in Mpi::installed() {
        let program = mpi.built("mpicc", "inside.c", &["-std=c11", "-O1"], "inside");
        let deployed = Deployed::for_library(mpi, rules.clone());
        let words: Vec<&Path> = std::iter::once(program.as_path())
            .chain(items.iter().map(Path::new))
            .collect();
        let output = deployed.run(mpi, &words, RANKS, &[]);
        assert!(output.ok && output.stdout == "OK\n", "{mpi:?} {rules:?}: {output:?}");
        let found = (output.calls(), output.calls_inside());
        // Every library has the same rules to follow.
        assert_eq!(all.get_or_insert(found.clone()), &found, "{mpi:?}");
    }
    all.unwrap()
}

fn of(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(id, calls)| ((*id).to_owned(), *calls)).collect()
}

fn a_composition_runs_the_rows_of_its_calls() {
    let rules = vec![
        at(64, "reduce.as_allreduce"),
        at(64, "allreduce.recursive_doubling"),
        at(64, "bcast.as_scatter_allgather"),
    ];
    let (calls, inside) = counts(rules, &["reduce:16", "allreduce:8"]);
    assert_eq!(
        calls,
        of(&[
            ("reduce.as_allreduce", 10),
            ("allreduce.recursive_doubling", 0),
            ("bcast.as_scatter_allgather", 0)
        ])
    );
    assert_eq!(inside, of(&[("allreduce.recursive_doubling", 10)]));
}

/// 100 bytes are three parts of 32 and one of 4.
fn parts_run_the_rule_of_their_size() {
    let rules = vec![
        at(100, "allreduce.split@32"),
        at(32, "allreduce.recursive_doubling"),
        at(4, "allreduce.linear"),
    ];
    let (calls, inside) = counts(rules, &["allreduce:25", "allreduce:8"]);
    assert_eq!(
        calls,
        of(&[
            ("allreduce.split", 10),
            ("allreduce.recursive_doubling", 10),
            ("allreduce.linear", 0)
        ])
    );
    assert_eq!(
        inside,
        of(&[("allreduce.recursive_doubling", 30), ("allreduce.linear", 10)])
    );
}

/// Blocks of five elements, 60 bytes on three ranks, are padded to blocks of eight, and cut to blocks of two and one.
fn blocks_are_padded_and_cut() {
    let rules = vec![at(60, "alltoall.padded@96"), at(96, "alltoall.pairwise")];
    let (_, inside) = counts(rules, &["alltoall:5"]);
    assert_eq!(inside, of(&[("alltoall.pairwise", 10)]));
    let rules = vec![
        at(60, "alltoall.split@24"),
        at(24, "alltoall.pairwise"),
        at(12, "alltoall.linear"),
    ];
    let (_, inside) = counts(rules, &["alltoall:5"]);
    assert_eq!(inside, of(&[("alltoall.pairwise", 20), ("alltoall.linear", 10)]));
}

fn rules_that_name_each_other_come_to_an_end() {
    let rules = vec![at(64, "reduce.as_allreduce"), at(64, "allreduce.as_reduce_bcast")];
    let (_, inside) = counts(rules, &["reduce:16", "allreduce:16"]);
    assert_eq!(
        inside,
        of(&[("reduce.as_allreduce", 10), ("allreduce.as_reduce_bcast", 10)])
    );
    let rules = vec![at(64, "allreduce.split@16"), at(16, "allreduce.padded@64")];
    let (_, inside) = counts(rules, &["allreduce:16", "allreduce:4"]);
    assert_eq!(inside, of(&[("allreduce.padded", 40), ("allreduce.split", 10)]));
    // A chain that does not come back ends at the fourth call inside.
    let rules = [4, 8, 16, 32, 64, 128].map(|bytes| at(bytes, &format!("bcast.padded@{}", 2 * bytes)));
    let (calls, inside) = counts(rules.to_vec(), &["bcast:1"]);
    assert_eq!(
        (calls, inside),
        (of(&[("bcast.padded", 10)]), of(&[("bcast.padded", 40)]))
    );
}

/// The operator of the program's does not commute.
fn needs_of_rows_are_those_of_the_calls_inside() {
    let rules = vec![at(64, "reduce.as_allreduce"), at(64, "allreduce.ring")];
    let (calls, inside) = counts(rules.clone(), &["reduce:16:own"]);
    assert_eq!(calls, of(&[("reduce.as_allreduce", 10), ("allreduce.ring", 0)]));
    assert_eq!(inside, BTreeMap::new());
    assert_eq!(counts(rules, &["reduce:16"]).1, of(&[("allreduce.ring", 10)]));
}

kilter_tests::cases![
    a_composition_runs_the_rows_of_its_calls,
    parts_run_the_rule_of_their_size,
    blocks_are_padded_and_cut,
    rules_that_name_each_other_come_to_an_end,
    needs_of_rows_are_those_of_the_calls_inside,
];
