//! Operators that do not commute: a description says which of the library's algorithms are wrong for them.

use std::process::Command;

use kilter_algorithms::Collective;
use kilter_model::config::library::find_for;
use kilter_tests::{root, run};

/// Each algorithm is forced in a job of its own, and says the same as the description.
fn algorithms_that_are_wrong_for_operators_that_do_not_commute_are_known() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("ordered").display().to_string();
    let source = root().join("tests/fixtures/ordered_operator.c").display().to_string();
    run(
        Command::new("mpicc.openmpi").args(["-O1", "-o", &program, &source]),
        &[0],
    );
    let library = find_for("mpirun (Open MPI) 4.1.4").unwrap();
    for collective in [
        Collective::Allreduce,
        Collective::Reduce,
        Collective::ReduceScatter,
        Collective::ReduceScatterBlock,
        Collective::Scan,
        Collective::Exscan,
    ] {
        let row = library.algorithms_of(collective).unwrap();
        for choice in row.choices_on(2) {
            let mut job = Command::new("timeout");
            job.args([
                "60",
                "mpirun.openmpi",
                "--allow-run-as-root",
                "--oversubscribe",
                "-np",
                "2",
            ])
            .args(["--mca", "coll_tuned_use_dynamic_rules", "1"])
            .args(["--mca", &row.parameter, &choice.value.to_string()])
            .arg(&program);
            let said = String::from_utf8(run(&mut job, &[0]).stdout).unwrap();
            let own = said
                .lines()
                .find_map(|line| line.strip_prefix(&format!("{collective} ")));
            let known = if choice.commutative { "wrong" } else { "right" };
            assert_eq!(own, Some(known), "{}={} ({})", row.parameter, choice.value, choice.name);
        }
    }
}

kilter_tests::cases![algorithms_that_are_wrong_for_operators_that_do_not_commute_are_known,];
