//! Programs that make many communicators keep nearly all that the library has for them.

use std::path::Path;

use crate::dropin::job::{Deployed, Mpi, Output, rule};

/// As many as Kilter may have for itself: `MOST` of the drop-in, and a few for what else goes on.
const MOST: u64 = 260;

fn held(output: &Output, case: &str) -> u64 {
    assert!(output.ok && output.stdout.ends_with("OK\n"), "{case}: {output:?}");
    let line = output.stdout.lines().find_map(|line| line.strip_prefix("HELD "));
    line.and_then(|number| number.parse().ok())
        .expect("the program says it")
}

/// Thousands are made and freed, and as many held as there are; with threads, where none is shared, too.
fn communicators_are_left_to_the_program() {
    for mpi in Mpi::installed() {
        let program = mpi.built("mpicc", "communicators.c", &["-std=c11", "-O1"], "communicators");
        let rules = |ranks| rule("allreduce", ranks, 1..=u64::MAX, "allreduce.recursive_doubling");
        let deployed = Deployed::for_library(mpi, (1..=3).map(rules).collect());
        // Ranks of most libraries spin while they wait.
        let three = mpi.is_open_mpi().then_some(("no", 3));
        for (threads, ranks) in [("no", 2), ("threads", 2)].into_iter().chain(three) {
            let line = [program.as_path(), Path::new(threads)];
            let case = format!("{mpi:?}, {threads}, {ranks} ranks");
            // Intel MPI's own collectives in shared memory end this program by themselves: an assertion fails once their memory is used up.
            let plain = ("I_MPI_COLL_INTRANODE", "pt2pt");
            let alone = held(&mpi.run(&line, ranks, &[("LD_PRELOAD", ""), plain]), &case);
            let output = deployed.run(mpi, &line, ranks, &[("KILTER_PRIVATE_AFTER", ""), plain]);
            let with = held(&output, &case);
            assert!(with + MOST >= alone, "{case}: {with} held, {alone} without the drop-in");
            let calls = output.calls()["allreduce.recursive_doubling"];
            assert!(calls > 3000, "{case}: {calls}");
            println!("{case}: {with} held, {alone} without the drop-in, {calls} calls replaced");
        }
    }
}

kilter_tests::cases![communicators_are_left_to_the_program,];
