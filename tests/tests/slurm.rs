//! Inside an allocation of Slurm: real daemons on the hosts of the virtual cluster (`scripts/virtual-slurm`), by mpirun and by srun.

use std::path::Path;
use std::process::Command;

use kilter_tests::cluster::Cluster;
use kilter_tests::{ONE_LAUNCH, cells, in_path, kilter, left_out, report, root, run};

/// Stopped whatever happens; in a directory of its own.
struct VirtualSlurm<'d> {
    directory: &'d Path,
    cluster: &'d Cluster,
}

impl VirtualSlurm<'_> {
    /// `scripts/virtual-slurm WORDS`, ended after five minutes.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "300"]);
        command.arg(root().join("scripts/virtual-slurm")).args(words);
        command.env("VIRTUAL_SLURM", self.directory);
        command.env("VIRTUAL_CLUSTER", self.cluster.name());
        command
    }

    /// `words` with the environment of the check, in its directory.
    fn with(&self, words: &[&str], check: &Command) -> Command {
        let mut command = self.command(words);
        command.current_dir(self.directory);
        for (name, value) in check.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}

/// A check of one cell, into `out`.
fn check(out: &Path) -> Command {
    let mut check = kilter("check", out);
    check
        .args(["--mpirun", "mpirun.openmpi", "--guidelines", "GL8", "--sizes", "4096"])
        .args(["--min-repetitions", "5", "--max-repetitions", "10"])
        .args(ONE_LAUNCH);
    check
}

impl Drop for VirtualSlurm<'_> {
    fn drop(&mut self) {
        let _ = self.command(&["stop"]).output();
    }
}

/// The launch of a report on so many ranks, all of whose cells were measured.
fn launch(out: &Path, ranks: u64) -> String {
    let report = report(out);
    assert_eq!(report["ranks"], ranks);
    let cells = cells(&report, "GL8", 4096);
    assert!(!cells.is_empty(), "{report:#}");
    for cell in cells {
        assert!(cell["before"]["seconds"].as_f64().unwrap() > 0.0, "{cell:#}");
    }
    report["provenance"]["launch_before"].as_str().unwrap().to_owned()
}

fn hosts_and_layouts_are_found_in_an_allocation() {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root || !["slurmctld", "slurmd", "munged"].into_iter().all(in_path) {
        left_out("no root, or no `slurmctld`, `slurmd` and `munged` in PATH: apt-get install slurm-wlm munge");
        return;
    }
    // Jobs are asked for and handed in on the first host, which is outside of every allocation.
    let Some(cluster) = Cluster::up("3") else { return };
    let directory = tempfile::tempdir().unwrap();
    let slurm = VirtualSlurm {
        directory: directory.path(),
        cluster: &cluster,
    };
    run(&mut slurm.command(&["start", "--login", "2"]), &[0]);
    // Told nothing: a rank on each host, and one on each CPU. Where ranks lie otherwise, the command fails.
    let out = directory.path().join("found");
    let command = check(&out);
    let mut inside = slurm.with(&["run"], &command);
    inside.arg(command.get_program()).args(command.get_args());
    run(&mut inside, &[0, 1]);
    for (layout, ranks, per_node) in [("2x1", 2, 1), ("2x2", 4, 2)] {
        let launch = launch(&out.join(layout), ranks);
        assert!(launch.contains(&format!("--map-by ppr:{per_node}:node")), "{launch}");
        assert!(!launch.contains("--oversubscribe"), "{launch}");
    }
    // The same by a batch script that asks for whole hosts, and begins on the first of them; srun starts the ranks.
    let out = directory.path().join("batch");
    let command = check(&out);
    let mut batch = Command::new(command.get_program());
    batch
        .args(["batch", "slurm", "--nodes", "2", "--minutes", "4", "--"])
        .args(command.get_args());
    let script = directory.path().join("kilter.sbatch");
    std::fs::write(&script, run(&mut batch, &[0]).stdout).unwrap();
    let submitted = run(
        &mut slurm.with(&["submit", script.to_str().unwrap()], &command),
        &[0, 1],
    );
    println!("{}", String::from_utf8_lossy(&submitted.stderr));
    for (layout, ranks, per_node) in [("2x1", 2, 1), ("2x2", 4, 2)] {
        let launch = launch(&out.join(layout), ranks);
        let wanted = format!("--nodes 2 --ntasks-per-node {per_node} --ntasks {ranks}");
        assert!(launch.contains("srun ") && launch.contains(&wanted), "{launch}");
    }
}

kilter_tests::cases![hosts_and_layouts_are_found_in_an_allocation,];
