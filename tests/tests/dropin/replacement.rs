//! Every implementation in place of the library's collective.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kilter_algorithms::closing::CLOSING;
use kilter_algorithms::{Collective, Need, mockup, registry};
use kilter_profile::Rule;

use crate::dropin::job::{self, Deployed, Mpi, Output, rule};

/// Smallest total volume that is replaced; calls below stay the library's.
const FROM: u64 = 16;

/// Communicators in the tests have at most so many ranks.
const RANKS: std::ops::RangeInclusive<usize> = 1..=5;

/// The ids of a collective's implementations: Kilter's, and one of `library_plugin.c`.
fn candidates(collective: Collective) -> Vec<String> {
    let algorithms = registry::by_collective(collective).map(|row| row.id.to_owned());
    let mockups = mockup::MOCKUPS.iter().filter(|row| row.collective == collective);
    let closing = CLOSING.iter().filter(|row| row.collective == collective);
    algorithms
        .chain(mockups.map(|row| row.id.to_owned()))
        .chain(closing.map(|row| row.id.to_owned()))
        .chain([format!("{collective}.library")])
        .collect()
}

/// True if an implementation can run on this number of ranks.
fn fits(id: &str, ranks: usize) -> bool {
    registry::find(id).is_none_or(|row| row.unmet(ranks, true, true).is_none())
}

/// The `round`-th implementation of each collective that has so many.
fn rules(round: usize) -> Vec<Rule> {
    rules_of(|candidates| candidates.get(round))
}

/// The same, from the first one again where a collective has fewer: no collective is the library's own.
fn rules_of_all(round: usize) -> Vec<Rule> {
    rules_of(|candidates| candidates.get(round % candidates.len()))
}

/// One of the implementations of each collective, for all volumes from [`FROM`] (or all, where they are not known) and
/// communicators of all sizes it serves.
fn rules_of(one_of: impl Fn(&[String]) -> Option<&String>) -> Vec<Rule> {
    let mut rules = Vec::new();
    for collective in Collective::of_several_ranks() {
        let candidates = candidates(collective);
        let Some(id) = one_of(&candidates) else { continue };
        let from = if collective.volume_is_known() { FROM } else { 0 };
        for ranks in RANKS.filter(|ranks| fits(id, *ranks)) {
            rules.push(rule(collective.name(), ranks, from..=u64::MAX, id));
        }
    }
    rules
}

/// Calls that the profile replaces, by what the program says it called on rank 0.
fn expected(output: &Output, rules: &[Rule]) -> BTreeMap<String, u64> {
    let mut expected: BTreeMap<String, u64> = rules.iter().map(|rule| (rule.implementation.clone(), 0)).collect();
    // The one operator of `verify.c` that is its own does not commute, and works on elements of eight bytes.
    let pads = |id: &str, ranks: u64, bytes: u64| {
        let mockup = mockup::MOCKUPS.iter().find(|row| row.id == id);
        let has_padding = mockup.is_some_and(|row| {
            let target = row.collective;
            target.has_operator() && !target.has_blocks() && row.calls.iter().any(|call| call.has_blocks())
        });
        has_padding && !(bytes / 8).is_multiple_of(ranks)
    };
    let needs_commutative = |id: &str| {
        registry::find(id).is_some_and(|row| row.needs.contains(&Need::Commutative))
            || mockup::find(id).is_some_and(mockup::Mockup::needs_commutative)
    };
    let mut called = BTreeSet::new();
    for line in output.stdout.lines().filter_map(|line| line.strip_prefix("CALLS ")) {
        let [collective, ranks, bytes, commutes, number] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let parse = |text: &str| text.parse::<u64>().expect("a number");
        let (ranks, bytes, number) = (parse(ranks), parse(bytes), parse(number));
        called.insert(collective);
        let found = rules.iter().find(|rule| {
            rule.collective == collective
                && rule.communicators.may_have(ranks as usize)
                && (rule.min_bytes..=rule.max_bytes).contains(&bytes)
                && (commutes == "1"
                    || !(needs_commutative(&rule.implementation) || pads(&rule.implementation, ranks, bytes)))
        });
        let is_known = collective
            .parse::<Collective>()
            .expect("a collective")
            .volume_is_known();
        if let Some(rule) = found.filter(|_| bytes > 0 || !is_known) {
            *expected.get_mut(&rule.implementation).expect("put there above") += number;
        }
    }
    let uncalled = rules.iter().find(|rule| !called.contains(rule.collective.as_str()));
    assert!(uncalled.is_none(), "the program does not call {uncalled:?}: {called:?}");
    expected
}

fn check(round: usize, ranks: usize) {
    check_on(Mpi::OpenMpi, round, ranks, false);
}

fn check_on(mpi: Mpi, round: usize, ranks: usize, large_counts: bool) {
    let rules = rules(round);
    let deployed = Deployed::for_library(mpi, rules.clone());
    // A collective whose implementations have all had their round is the library's own, which is not the subject.
    let collectives: BTreeSet<&str> = rules.iter().map(|rule| rule.collective.as_str()).collect();
    let collectives: String = collectives.iter().map(|name| format!(" {name} ")).collect();
    let only = [("KILTER_TEST_COLLECTIVES", collectives.as_str())];
    let output = deployed.run(mpi, &[&mpi.verify(large_counts)], ranks, &only);
    let case = format!("{mpi:?}, round {round}, {ranks} ranks, large counts {large_counts}");
    assert!(
        output.ok && output.stdout.ends_with("OK\n"),
        "{case}: {}\n{}",
        output.stdout,
        output.stderr
    );
    let expected = expected(&output, &rules);
    assert_eq!(output.calls(), expected, "{case}: {}", output.stderr);
    assert!(output.lines("kilter: warning").is_empty(), "{case}: {}", output.stderr);
    let idle = expected.values().filter(|calls| **calls == 0).count();
    assert!(
        idle == 0 || ranks == 1,
        "{case}: {idle} implementations were never called: {expected:?}"
    );
}

fn rounds() -> usize {
    Collective::of_several_ranks()
        .map(|collective| candidates(collective).len())
        .max()
        .expect("sixteen collectives")
}

/// Buffers of absolute addresses, memory that nobody may write, and an operator that looks at places: `legal.c`, on three ranks, where counts
/// are no multiples. The library's own collectives need not take that: a broadcast of MPICH 4.0 crashes.
fn every_implementation_takes_what_is_legal_and_rare() {
    for mpi in Mpi::installed() {
        let program = mpi.built("mpicc", "legal.c", &["-std=gnu11", "-O1"], "legal");
        for round in 0..rounds() {
            let rules = rules_of_all(round);
            // Parts and padded calls are the library's as well.
            let by_library = ["bcast.library", "bcast.split", "bcast.padded"];
            let is_library = rules
                .iter()
                .any(|rule| by_library.contains(&rule.implementation.as_str()));
            let deployed = Deployed::for_library(mpi, rules);
            let variables: &[(&str, &str)] = if is_library {
                &[("KILTER_TEST_LIBRARY_BCAST", "1")]
            } else {
                &[]
            };
            let output = deployed.run(mpi, &[&program], 3, variables);
            assert!(
                output.ok && output.stdout.ends_with("OK\n"),
                "{mpi:?}, round {round}: {}\n{}",
                output.stdout,
                output.stderr
            );
            assert!(
                output.calls().values().sum::<u64>() > 0,
                "{mpi:?}, round {round}: nothing was replaced"
            );
        }
    }
}

fn every_implementation_is_right_and_runs_where_the_profile_says_on_1_rank() {
    (0..rounds()).for_each(|round| check(round, 1));
}

fn every_implementation_is_right_and_runs_where_the_profile_says_on_2_ranks() {
    (0..rounds()).for_each(|round| check(round, 2));
}

fn every_implementation_is_right_and_runs_where_the_profile_says_on_3_ranks() {
    (0..rounds()).for_each(|round| check(round, 3));
}

fn every_implementation_is_right_and_runs_where_the_profile_says_on_4_ranks() {
    (0..rounds()).for_each(|round| check(round, 4));
}

fn every_implementation_is_right_and_runs_where_the_profile_says_on_5_ranks() {
    (0..rounds()).for_each(|round| check(round, 5));
}

/// Most of them spin while they wait, so that more ranks than cores take very long.
fn every_implementation_is_right_on_other_libraries_in_both_forms_of_the_functions() {
    let others = Mpi::installed().into_iter().filter(|mpi| *mpi != Mpi::OpenMpi);
    for mpi in others {
        for round in 0..rounds() {
            check_on(mpi, round, 2, false);
            if mpi.has_large_counts() {
                check_on(mpi, round, 2, true);
            }
        }
    }
}

fn ranges_and_sizes_bound_the_replacement() {
    // Only one volume, only on the communicators of two ranks that the program splits off.
    let rules = vec![
        rule("allreduce", 2, 12..=12, "allreduce.as_reduce_bcast"),
        rule(
            "allreduce",
            2,
            13..=16396,
            "allreduce.as_reduce_scatter_block_allgather",
        ),
        rule("reduce", 4, 0..=u64::MAX, "reduce.as_allreduce"),
    ];
    let output = Deployed::rules(rules.clone()).verify(3, &[]);
    assert!(output.ok, "{}", output.stderr);
    let expected = expected(&output, &rules);
    assert_eq!(output.calls(), expected);
    assert!(expected["allreduce.as_reduce_bcast"] > 0, "{expected:?}");
    assert!(
        expected["allreduce.as_reduce_scatter_block_allgather"] > 0,
        "{expected:?}"
    );
    assert_eq!(expected["reduce.as_allreduce"], 0);
}

fn mode_log_counts_and_replaces_nothing() {
    let rules = rules(0);
    let output = Deployed::rules(rules.clone()).verify(3, &[("KILTER_MODE", "log")]);
    assert!(output.ok, "{}", output.stderr);
    assert_eq!(output.would_have_run(), expected(&output, &rules));
    assert!(output.calls().is_empty());
}

fn mode_off_does_nothing_and_says_nothing() {
    let output = Deployed::rules(rules(0)).verify(2, &[("KILTER_MODE", "off")]);
    assert!(output.ok, "{}", output.stderr);
    assert!(output.lines("kilter").is_empty(), "{}", output.stderr);
}

fn a_program_can_ask_what_ran() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kilter_counts");
    let source = job::source("tests/dropin/counts.c");
    Mpi::OpenMpi.compile(&source, &["-std=c11", "-ldl"], &program);
    let deployed = Deployed::rules(vec![
        rule("allreduce", 2, 1..=64, "allreduce.as_reduce_bcast"),
        rule("bcast", 2, 1..=64, "bcast.as_scatter_allgather"),
    ]);
    let profile = deployed.path.display().to_string();
    let ask = |variables: &[(&str, &str)]| {
        let output = job::run(&program, 2, variables);
        assert!(output.ok, "{output:?}");
        output.stdout
    };
    let replaced = "ran allreduce.as_reduce_bcast 10\nran bcast.as_scatter_allgather 0\nFOUND 2\n";
    assert_eq!(ask(&[("KILTER_PROFILE", &profile)]), replaced);
    let logged = "ran allreduce.as_reduce_bcast 0\nran bcast.as_scatter_allgather 0\nFOUND 2\n";
    assert_eq!(ask(&[("KILTER_PROFILE", &profile), ("KILTER_MODE", "log")]), logged);
    assert_eq!(ask(&[("KILTER_PROFILE", "/nonexistent")]), "FOUND -1\n");
    assert_eq!(ask(&[("KILTER_MODE", "off")]), "FOUND -1\n");
}

/// The drop-in keeps prepared calls for reuse. A prepared call must be used only for calls with the same arguments.
fn a_call_that_differs_from_the_one_before_is_not_taken_for_it() {
    for mpi in Mpi::installed() {
        let rules = ["allreduce.recursive_doubling", "bcast.binomial", "gather.binomial"];
        let of_all = |id: &str| rule(id.split('.').next().unwrap_or_default(), 2, 1..=u64::MAX, id);
        let deployed = Deployed::for_library(mpi, rules.map(of_all).to_vec());
        let program = mpi.built("mpicc", "again.c", &["-std=c11"], "again");
        let output = deployed.run(mpi, &[&program], 2, &[]);
        assert!(output.ok, "{mpi:?}: {output:?}");
        let calls = rules.map(|id| output.calls()[id]);
        assert_eq!(calls, [63, 30, 18], "{mpi:?}: {}", output.stderr);
        assert_eq!(output.stdout, "ALLREDUCE 63 BCAST 30 GATHER 18\n", "{mpi:?}");
    }
}

/// A row that cannot get shared memory must report so on all ranks. The library then makes the calls, with right results.
fn without_shared_memory_the_librarys_own_is_used_and_said_once() {
    for mpi in Mpi::installed() {
        let mut rules: Vec<Rule> = registry::algorithms()
            .filter(|row| row.needs.contains(&Need::OneNode))
            .filter(|row| row.id != "allreduce.shared_memory_parts")
            .map(|row| rule(row.collective.name(), 2, 0..=u64::MAX, row.id))
            .collect();
        assert!(rules.len() > 8, "{rules:?}");
        // This row needs no shared memory, and runs.
        rules.push(rule("alltoallv", 2, 0..=u64::MAX, "alltoallv.pairwise"));
        let options = ["-std=c11", "-shared", "-fPIC"];
        let no_window = mpi.built("mpicc", "no_window.c", &options, "no_window.so");
        let preload = format!("{}:{}", no_window.display(), mpi.library("libkilter.so").display());
        let deployed = Deployed::for_library(mpi, rules.clone());
        let output = deployed.run(mpi, &[&mpi.verify(false)], 2, &[("LD_PRELOAD", &preload)]);
        assert!(output.ok, "{mpi:?}: {}", output.stderr);
        for rule in &rules {
            let id = rule.implementation.as_str();
            let calls = output.calls().get(id).copied().unwrap_or(0);
            let said = output
                .lines(&format!(
                    "kilter: warning: {id} on 2 ranks: the ranks have no memory in common"
                ))
                .len();
            if id == "alltoallv.pairwise" {
                assert!(calls > 0 && said == 0, "{mpi:?} {id}: {}", output.stderr);
            } else {
                assert_eq!(calls, 0, "{mpi:?} {id}: {}", output.stderr);
                // Once for each communicator on which it was tried.
                assert!(said > 0 && said < 20, "{mpi:?} {id} {said}: {}", output.stderr);
            }
        }
    }
}

kilter_tests::cases![
    every_implementation_takes_what_is_legal_and_rare,
    every_implementation_is_right_and_runs_where_the_profile_says_on_1_rank,
    every_implementation_is_right_and_runs_where_the_profile_says_on_2_ranks,
    every_implementation_is_right_and_runs_where_the_profile_says_on_3_ranks,
    every_implementation_is_right_and_runs_where_the_profile_says_on_4_ranks,
    every_implementation_is_right_and_runs_where_the_profile_says_on_5_ranks,
    every_implementation_is_right_on_other_libraries_in_both_forms_of_the_functions,
    ranges_and_sizes_bound_the_replacement,
    mode_log_counts_and_replaces_nothing,
    mode_off_does_nothing_and_says_nothing,
    a_program_can_ask_what_ran,
    a_call_that_differs_from_the_one_before_is_not_taken_for_it,
    without_shared_memory_the_librarys_own_is_used_and_said_once,
];
