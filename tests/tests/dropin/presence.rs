//! Ranks that have not loaded the drop-in at all: the others do not wait for them for ever, and say who they are.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::dropin::job::{Deployed, Mpi, Output, rule};

const RANKS: usize = 4;

/// Seconds that a rank waits for others here.
const WAIT: (&str, &str) = ("KILTER_INIT_WAIT", "1");

fn deployed(mpi: Mpi, ranks: &[usize]) -> Deployed {
    let rules = ranks
        .iter()
        .map(|ranks| rule("allreduce", *ranks, 1..=u64::MAX, "allreduce.recursive_doubling"));
    Deployed::for_library(mpi, rules.collect())
}

/// Runs a program where these ranks have no `LD_PRELOAD`.
fn without_on(mpi: Mpi, program: &Path, lacking: &[usize]) -> Output {
    let deployed = deployed(mpi, &[RANKS]);
    let script = deployed.directory.path().join("start.sh");
    let numbers: Vec<String> = lacking.iter().map(usize::to_string).collect();
    let text = format!(
        "#!/bin/sh\ncase ' {} ' in *\" ${{OMPI_COMM_WORLD_RANK-$PMI_RANK}} \"*) unset LD_PRELOAD;; esac\nexec {}\n",
        numbers.join(" "),
        program.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let variables: &[_] = if lacking.is_empty() { &[] } else { &[WAIT] };
    deployed.run(mpi, &[&script], RANKS, variables)
}

fn ranks_without_the_drop_in_are_named_and_not_waited_for() {
    for mpi in Mpi::installed() {
        let sums = mpi.built("mpicc", "sums.c", &["-std=c11"], "sums");
        for (lacking, words) in [
            (&[1][..], "rank 1 did not load libkilter.so"),
            (&[1, 3], "ranks 1, 3 did not load"),
            (&[0], "rank 1: rank 0 did not load"),
        ] {
            // It has receives from anybody with any tag, which what is sent to a rank that does not know of it would match.
            let brief = mpi.brief();
            let program = if lacking == [1] { &brief } else { &sums };
            let output = without_on(mpi, program, lacking);
            let case = format!("{mpi:?}, without it on {lacking:?}");
            if lacking == [0] && mpi.wants_all_messages_received() {
                // The other ranks' messages to rank 0 stay unreceived: no rank can know beforehand that rank 0 lacks the drop-in.
                let end = output.lines("MPIR_Comm_delete_internal");
                assert!(
                    end.iter().any(|line| line.ends_with("3 unmatched message(s)")),
                    "{case}: {output:?}"
                );
            } else {
                assert!(output.ok && output.stdout.ends_with("OK\n"), "{case}: {output:?}");
            }
            let said = output.lines("kilter:");
            assert!(said.len() == 1 && said[0].contains(words), "{case}: {said:?}");
            assert!(said[0].ends_with("the library's own collectives are used"), "{said:?}");
        }
        let output = without_on(mpi, &sums, &[]);
        assert!(
            output.calls()["allreduce.recursive_doubling"] > 0,
            "{mpi:?}: {output:?}"
        );
    }
}

fn processes_of_another_world_are_left_alone() {
    // Debian's MPICH 4.0.2 spawns nothing: `Error in spawn call`, whatever the program.
    for mpi in Mpi::installed().into_iter().filter(|mpi| *mpi != Mpi::Mpich) {
        let program = mpi.built("mpicc", "spawned.c", &["-std=c11"], "spawned");
        // Intel MPI spawns nothing over shared memory alone, which it takes on one host.
        let fabrics = [("I_MPI_FABRICS", "shm:ofi")];
        let output = deployed(mpi, &[2, 3]).run(mpi, &[&program], 2, &fabrics);
        assert!(output.ok && output.stdout.ends_with("OK\n"), "{mpi:?}: {output:?}");
        assert_eq!(output.lines("kilter: warning"), [""; 0], "{mpi:?}");
        assert_eq!(
            output.calls()["allreduce.recursive_doubling"],
            5,
            "{mpi:?}: on the world alone"
        );
    }
}

kilter_tests::cases![
    ranks_without_the_drop_in_are_named_and_not_waited_for,
    processes_of_another_world_are_left_alone,
];
