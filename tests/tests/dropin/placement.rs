//! Rules for layouts: as many ranks, which lie otherwise, follow another rule.

use std::path::Path;

use kilter_profile::{Communicators, Rule};
use kilter_tests::left_out;

use crate::dropin::job::{Deployed, Mpi, Output, rule};

/// Starts a program under another name of the host, by its rank: the first word that begins so many ranks on a node.
const ON_NODES: &str = "name=node$(echo $1 | cut -d, -f$((OMPI_COMM_WORLD_RANK + 1))); shift; \
                        exec unshare --uts sh -c 'hostname $0 && exec \"$@\"' $name \"$@\"";

fn on(nodes: usize, ranks_per_node: usize, implementation: &str) -> Rule {
    Rule {
        communicators: Communicators::of_layout(nodes, ranks_per_node),
        ..rule("bcast", 0, 1..=u64::MAX, implementation)
    }
}

/// Containers of one host with names of their own count as nodes: so ranks of one machine lie on several.
fn layouts_of_as_many_ranks_follow_rules_of_their_own() {
    let may = std::process::Command::new("unshare").args(["--uts", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        left_out("a name of its own for each rank needs root (`unshare --uts`)");
        return;
    }
    let mpi = Mpi::OpenMpi;
    let program = mpi.built("mpicc", "placed.c", &["-std=c11"], "placed");
    let deployed = Deployed::rules(vec![
        on(2, 2, "bcast.binomial"),
        on(4, 1, "bcast.linear"),
        on(1, 2, "bcast.pipelined_chain"),
        on(2, 1, "bcast.binary"),
    ]);
    let run = |nodes: &str| -> Output {
        let line = ["sh", "-c", ON_NODES, "sh", nodes].map(Path::new);
        deployed.run(mpi, &[&line[..], &[program.as_path()]].concat(), 4, &[])
    };
    let ran = |nodes: &str| -> Vec<String> {
        let output = run(nodes);
        assert!(output.ok && output.stdout.ends_with("OK\n"), "{nodes}: {output:?}");
        assert!(output.lines("kilter: warning").is_empty(), "{nodes}: {}", output.stderr);
        let calls = output.calls().into_iter().filter(|(_, calls)| *calls > 0);
        calls.map(|(id, calls)| format!("{id}: {calls}")).collect()
    };
    // The world, and its first two ranks: on one node, then on two.
    assert_eq!(ran("a,a,b,b"), ["bcast.binomial: 10", "bcast.pipelined_chain: 10"]);
    assert_eq!(ran("a,b,c,d"), ["bcast.binary: 10", "bcast.linear: 10"]);
    // Two nodes, but not with two ranks each: the library's own.
    assert_eq!(ran("a,b,b,b"), ["bcast.binary: 10"]);
}

kilter_tests::cases![layouts_of_as_many_ranks_follow_rules_of_their_own,];
