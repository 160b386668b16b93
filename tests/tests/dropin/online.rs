//! Candidates that are tried in the running program (`KILTER_ONLINE`): right results, choices by times that a fixture decides, and knowledge.

use std::path::{Path, PathBuf};

use crate::dropin::job::{Deployed, Mpi, Output, rule};

/// Rows of two collectives, with values of parameters.
const ROWS: &str = "allreduce.recursive_doubling,allreduce.ring,bcast.binomial,bcast.pipelined_chain@256";

/// A millisecond: far more than a call of two ranks takes on a day when nobody loses the processor for a second.
const SLOW: &str = "1000000";

/// A constant that pays for all calls, however long they take on a busy day: what the budget allows is tested elsewhere.
const GENEROUS: &str = "constant=100s";

/// As many arms as there are rows want an epoch of twice as many calls.
const ALL: &str = "epoch=64,adopt-after=2,constant=100s";

fn program(mpi: Mpi) -> PathBuf {
    mpi.built(
        "mpicc",
        "online.c",
        &["-std=gnu11", "-O1", "-lpthread", "-ldl"],
        "online",
    )
}

/// Behind the drop-in, so that what the drop-in calls is slowed down.
fn fixture(mpi: Mpi) -> PathBuf {
    let options = ["-std=gnu11", "-shared", "-fPIC", "-O2", "-ldl"];
    mpi.built(
        "mpicc",
        "../../fixtures/slow_collectives.c",
        &options,
        "slow_collectives",
    )
}

/// Runs `online` with these arguments.
fn run(mpi: Mpi, arguments: &str, ranks: usize, variables: &[(&str, &str)]) -> Output {
    let preload = format!("{}:{}", mpi.library("libkilter.so").display(), fixture(mpi).display());
    let mut all = vec![
        ("LD_PRELOAD", preload.as_str()),
        ("KILTER_ONLINE", "1"),
        ("KILTER_ONLINE_ROWS", ROWS),
        ("KILTER_ONLINE_DIR", "none"),
        ("KILTER_LOG", "1"),
    ];
    all.retain(|(name, _)| variables.iter().all(|(given, _)| given != name));
    all.extend(variables);
    let program = program(mpi);
    let line: Vec<&Path> = std::iter::once(program.as_path())
        .chain(arguments.split(' ').map(Path::new))
        .collect();
    mpi.run(&line, ranks, &all)
}

fn assert_right(output: &Output, case: &str) {
    assert!(output.ok && output.stdout.ends_with("OK\n"), "{case}: {output:?}");
    assert!(output.lines("kilter: warning").is_empty(), "{case}: {}", output.stderr);
}

fn calls(output: &Output, id: &str) -> u64 {
    output.calls().get(id).copied().unwrap_or_default()
}

/// The only line about a collective that was tried.
fn told(output: &Output) -> &str {
    let [line] = output.lines("kilter: online: ")[..] else {
        panic!("{}", output.stderr);
    };
    line
}

fn every_collective_stays_right_while_all_rows_are_tried() {
    for mpi in Mpi::installed() {
        let variables = [("KILTER_ONLINE_ROWS", "all"), ("KILTER_ONLINE", ALL)];
        let output = run(mpi, "all 120", 2, &variables);
        assert_right(&output, &format!("{mpi:?}"));
        let tried: Vec<String> = output
            .calls()
            .into_iter()
            .filter_map(|(id, calls)| (calls > 0).then_some(id))
            .collect();
        assert!(tried.len() > 20, "{mpi:?}: {tried:?}");
        // Not all ranks know how much these move: nothing is tried for them.
        let never = ["alltoallv.", "gatherv.", "scatterv."];
        let in_order = |line: &&str| {
            line.contains("by an operator that allows less")
                && !line.contains(" 0 epochs")
                && !line.contains(" 1 epoch;")
        };
        let told = output.lines("kilter: online: ").into_iter().filter(in_order).count();
        assert!(told >= 3, "{mpi:?}: {}", output.stderr);
        assert!(
            !tried.iter().any(|id| never.iter().any(|begin| id.starts_with(begin))),
            "{mpi:?}: {tried:?}"
        );
    }
}

/// Operators that do not commute, types with holes, data in place, communicators of some ranks.
fn what_an_ordinary_program_does_stays_right() {
    for mpi in Mpi::installed() {
        let variables = [
            ("KILTER_ONLINE", ALL),
            ("KILTER_ONLINE_ROWS", "all"),
            ("KILTER_ONLINE_DIR", "none"),
            ("KILTER_LOG", "1"),
        ];
        let output = mpi.run(&[&mpi.verify(false)], 2, &variables);
        assert_right(&output, &format!("{mpi:?}"));
        assert!(output.calls().values().sum::<u64>() > 0, "{mpi:?}: {}", output.stderr);
    }
}

fn a_fast_row_is_chosen_and_the_next_job_begins_with_it() {
    let known = tempfile::tempdir().unwrap();
    let folder = known.path().display().to_string();
    let variables = [
        ("KILTER_TEST_DELAY_NS", SLOW),
        ("KILTER_ONLINE_DIR", folder.as_str()),
        ("KILTER_ONLINE", GENEROUS),
    ];
    let first = run(Mpi::OpenMpi, "loop 2000 256", 2, &variables);
    assert_right(&first, "from nothing");
    let chosen = ["allreduce.recursive_doubling", "allreduce.ring"].into_iter();
    let chosen = chosen.max_by_key(|id| calls(&first, id)).unwrap();
    assert!(calls(&first, chosen) > 1000, "{}", first.stderr);
    assert!(
        told(&first).contains(&format!("settled on {chosen}")),
        "{}",
        first.stderr
    );
    assert!(told(&first).contains("ahead of the default"), "{}", first.stderr);

    let second = run(Mpi::OpenMpi, "loop 60 256", 2, &variables);
    assert_right(&second, "with knowledge");
    assert!(calls(&second, chosen) >= 50, "{}", second.stderr);
    let without = run(Mpi::OpenMpi, "loop 60 256", 2, &[variables[0], variables[2]]);
    assert!(calls(&without, chosen) < 50, "{}", without.stderr);

    // Another layout knows nothing of it.
    let elsewhere = run(Mpi::OpenMpi, "loop 60 256", 3, &variables);
    assert_right(&elsewhere, "three ranks");
    assert!(calls(&elsewhere, chosen) < 50, "{}", elsewhere.stderr);
}

fn slow_rows_are_left_after_a_few_calls() {
    let slow = [
        ("KILTER_TEST_DELAY_NS", "100000"),
        ("KILTER_TEST_ROW_DELAY_NS", "2000000"),
    ];
    let tried = |output: &Output| output.calls().values().sum::<u64>();
    // The budget for 2000 calls is 10 ms and 3 % of 200 ms: eight calls that take 2 ms longer. On a busy day the agreement on the communicator takes all of it.
    let output = run(Mpi::OpenMpi, "loop 2000 256", 2, &slow);
    assert_right(&output, "slow rows");
    assert!(tried(&output) < 20, "{}", output.stderr);
    assert!(!told(&output).contains("settled on allreduce"), "{}", output.stderr);
    // With a larger one they are tried until it is sure that they are slow.
    let generous = [&slow[..], &[("KILTER_ONLINE", GENEROUS)]].concat();
    let output = run(Mpi::OpenMpi, "loop 2000 256", 2, &generous);
    assert_right(&output, "slow rows, a larger budget");
    assert!((1..200).contains(&tried(&output)), "{}", output.stderr);
    assert!(told(&output).contains("settled on default"), "{}", output.stderr);
}

fn communicators_may_go_while_times_are_exchanged() {
    for mpi in Mpi::installed() {
        let short = [("KILTER_ONLINE", "epoch=8,adopt-after=8")];
        let output = run(mpi, "free 14", 2, &short);
        assert_right(&output, &format!("{mpi:?}"));
        assert!(output.stderr.contains("communicators"), "{mpi:?}: {}", output.stderr);
        let output = run(mpi, "between 60", 2, &short);
        assert_right(&output, &format!("{mpi:?}, several at once"));
    }
    let output = run(Mpi::OpenMpi, "free 8", 3, &[("KILTER_ONLINE", "epoch=8,adopt-after=8")]);
    assert_right(&output, "three ranks");
}

fn threads_try_on_communicators_of_their_own() {
    for mpi in Mpi::installed() {
        let output = run(mpi, "threads 60", 2, &[("KILTER_ONLINE", "epoch=8,adopt-after=3")]);
        if output.stdout == "NO THREADS\n" {
            continue;
        }
        assert_right(&output, &format!("{mpi:?}"));
        assert!(
            output.stderr.contains("of 4 communicators"),
            "{mpi:?}: {}",
            output.stderr
        );
        // Each thread frees its communicator while an exchange is under way: through the drop-in, which completes it before, and so that the drop-in does not see it.
        let late = ("KILTER_ONLINE", "epoch=8,adopt-after=1000");
        let output = run(mpi, "threads 40", 2, &[late]);
        assert_right(&output, &format!("{mpi:?}, freed"));
        let output = run(mpi, "threads 40", 2, &[late, ("KILTER_TEST_FREE_UNSEEN", "1")]);
        assert_right(&output, &format!("{mpi:?}, freed unseen"));
    }
}

fn a_job_may_end_anywhere() {
    // Within the timed calls of an epoch, where the exchange begins, while it is under way, where it is adopted.
    for calls in [2, 9, 10, 12, 17, 18] {
        let output = run(
            Mpi::OpenMpi,
            &format!("loop {calls} 16"),
            2,
            &[("KILTER_ONLINE", "epoch=8,adopt-after=8")],
        );
        assert_right(&output, &format!("{calls} calls"));
        assert!(told(&output).contains(&format!("{calls} calls")), "{}", output.stderr);
    }
}

/// The profile's rule is one candidate; without the variable it is followed.
fn the_rules_of_a_profile_are_tried_with_their_parameters() {
    let ring = rule("allreduce", 2, 1..=u64::MAX, "allreduce.ring");
    let deployed = Deployed::rules(vec![ring]);
    let line = program(Mpi::OpenMpi);
    let line = [line.as_path(), Path::new("loop"), Path::new("100"), Path::new("256")];
    let off = deployed.run(Mpi::OpenMpi, &line, 2, &[("KILTER_ONLINE", "0")]);
    assert_eq!(calls(&off, "allreduce.ring"), 100, "{}", off.stderr);
    let on = [("KILTER_ONLINE", "1"), ("KILTER_ONLINE_DIR", "none")];
    let output = deployed.run(Mpi::OpenMpi, &line, 2, &on);
    assert_right(&output, "with a profile");
    assert!(
        (1..100).contains(&calls(&output, "allreduce.ring")),
        "{}",
        output.stderr
    );
    // Two looks have to speak against the rule before others are tried.
    let line = [line[0], line[1], Path::new("400"), line[3]];
    let rows = ("KILTER_ONLINE_ROWS", "allreduce.recursive_doubling");
    let output = deployed.run(Mpi::OpenMpi, &line, 2, &[rows, ("KILTER_ONLINE", GENEROUS), on[1]]);
    assert!(calls(&output, "allreduce.recursive_doubling") > 0, "{}", output.stderr);
}

/// The library's own collectives run, and rank 0 says why.
fn what_cannot_be_tried_is_said() {
    for (variables, words) in [
        (
            &[("KILTER_ONLINE_ROWS", "")][..],
            "there is nothing to try: name rows in KILTER_ONLINE_ROWS",
        ),
        (
            &[("KILTER_ONLINE_ROWS", "allreduce.rong")],
            "no plugin has a row `allreduce.rong`; of its collective there are: ",
        ),
        (
            &[("KILTER_ONLINE_ROWS", "bcast.pipelined_chain@1")],
            "`segment_bytes` is 256 to ",
        ),
        (&[("KILTER_ONLINE", "alpha=2")], "KILTER_ONLINE: `alpha=2`: allowed is "),
        (
            &[("KILTER_TEST_DIFFER", "1")],
            "are not the same on all ranks; nothing is tried in this program",
        ),
    ] {
        let output = run(Mpi::OpenMpi, "loop 50 16", 2, variables);
        assert!(output.ok && output.stdout.ends_with("OK\n"), "{output:?}");
        let warnings = output.lines("kilter: warning");
        assert!(
            warnings.iter().any(|line| line.contains(words)),
            "{words}: {}",
            output.stderr
        );
        assert_eq!(output.calls().values().sum::<u64>(), 0, "{words}: {}", output.stderr);
    }
}

kilter_tests::cases![
    every_collective_stays_right_while_all_rows_are_tried,
    what_an_ordinary_program_does_stays_right,
    a_fast_row_is_chosen_and_the_next_job_begins_with_it,
    slow_rows_are_left_after_a_few_calls,
    communicators_may_go_while_times_are_exchanged,
    threads_try_on_communicators_of_their_own,
    a_job_may_end_anywhere,
    the_rules_of_a_profile_are_tried_with_their_parameters,
    what_cannot_be_tried_is_said,
];
