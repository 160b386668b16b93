//! Inside a job of PBS whose ranks PALS starts: a stand-in for its `mpiexec` (`tests/fixtures/pals_mpiexec`) on the hosts of the virtual cluster. No PALS
//! was at hand.

use std::fmt::Write as _;
use std::process::Command;

use kilter_tests::cluster::Cluster;
use kilter_tests::{ONE_LAUNCH, cells, kilter, report, root, run};

/// `command` with what PBS sets in a job of these hosts, each with a slot for each of `per_node` ranks, and with PALS in the path.
fn in_job(command: &mut Command, directory: &std::path::Path, hosts: &[String], per_node: usize) {
    let mut nodes = String::new();
    for host in hosts {
        for _ in 0..per_node {
            writeln!(nodes, "{host}").unwrap();
        }
    }
    let file = directory.join("nodes");
    std::fs::write(&file, nodes).unwrap();
    let bin = directory.join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(root().join("tests/fixtures/pals_mpiexec"), bin.join("mpiexec")).unwrap();
    let path = std::env::var("PATH").unwrap();
    command
        .env("PBS_JOBID", "7.server")
        .env("PBS_NODEFILE", &file)
        .env("PATH", format!("{}:{path}", bin.display()));
}

fn layouts_are_found_in_a_job_of_pbs_and_pals_starts_their_ranks() {
    let Some(cluster) = Cluster::up("2") else { return };
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let mut check = kilter("check", &out);
    check
        .args(["--launcher", "pals", "--guidelines", "GL8", "--sizes", "4096"])
        .args(["--min-repetitions", "5", "--max-repetitions", "10"])
        .args(ONE_LAUNCH);
    // The cluster hands its hosts over by a file of its own; here PBS does.
    let mut by_pbs = Command::new("env");
    by_pbs
        .args(["-u", "KILTER_HOSTFILE"])
        .arg(check.get_program())
        .args(check.get_args());
    let mut inside = cluster.inside(&by_pbs, None);
    let hosts = [0, 1].map(|number| format!("{}{number}", cluster.name()));
    in_job(&mut inside, directory.path(), &hosts, 2);
    let output = run(&mut inside, &[0, 1]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("PBS_JOBID=7.server has 2 hosts: layouts 2x1 and 2x2"),
        "{said}"
    );
    for (layout, ranks, per_node) in [("2x1", 2, 1), ("2x2", 4, 2)] {
        let report = report(&out.join(layout));
        assert_eq!(report["ranks"], ranks);
        assert_eq!(
            report["library"]["name"], "Open MPI",
            "the ranks say it: PALS names no library"
        );
        assert_eq!(report["provenance"]["hosts"].as_array().unwrap().len(), 2, "{layout}");
        assert!(!cells(&report, "GL8", 4096).is_empty());
        let launch = report["provenance"]["launch_before"].as_str().unwrap();
        let wanted = format!("--envall --ppn {per_node} -n {ranks} env ");
        assert!(launch.contains("mpiexec") && launch.contains(&wanted), "{launch}");
    }
}

kilter_tests::cases![layouts_are_found_in_a_job_of_pbs_and_pals_starts_their_ranks,];
