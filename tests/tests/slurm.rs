//! Inside an allocation of Slurm, on the virtual one that `scripts/virtual-slurm` makes: two nodes are found and measured on.

use std::path::Path;
use std::process::Command;

use kilter_tests::{cells, in_path, kilter, left_out, report, root, run};

/// Stopped whatever happens; in a directory of its own.
struct VirtualSlurm<'d>(&'d Path);

impl VirtualSlurm<'_> {
    /// `scripts/virtual-slurm WORDS`, ended after five minutes.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "300"]);
        command.arg(root().join("scripts/virtual-slurm")).args(words);
        command.env("VIRTUAL_SLURM", self.0);
        command
    }
}

impl Drop for VirtualSlurm<'_> {
    fn drop(&mut self) {
        let _ = self.command(&["stop"]).output();
    }
}

fn a_check_runs_inside_an_allocation_of_two_nodes() {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root || !["slurmctld", "slurmd", "munged"].into_iter().all(in_path) {
        left_out("no root, or no `slurmctld`, `slurmd` and `munged` in PATH: apt-get install slurm-wlm munge");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let slurm = VirtualSlurm(directory.path());
    run(&mut slurm.command(&["start", "2"]), &[0]);
    let out = directory.path().join("out");
    let mut check = kilter("check", &out);
    check
        .args(["--launcher", "slurm", "--mpirun", "mpirun.openmpi", "-n", "2"])
        // The nodes are one host, whose ranks would find each other's memory.
        .args(["--mca", "btl=tcp,self", "--guidelines", "GL8", "--sizes", "4096"])
        .args(["--sync", "barrier", "--min-repetitions", "5", "--max-repetitions", "10"])
        .args(["--launches", "2", "--quiet"]);
    let mut inside = slurm.command(&["run"]);
    inside.arg(check.get_program()).args(check.get_args());
    for (name, value) in check.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    run(&mut inside, &[0, 1]);
    let report = report(&out);
    let launch = report["provenance"]["launch_before"].as_str().unwrap();
    assert!(launch.contains("srun ") && launch.contains("--ntasks 2"), "{launch}");
    assert_eq!(report["ranks"], 2);
    let cells = cells(&report, "GL8", 4096);
    assert!(!cells.is_empty(), "{report:#}");
    for cell in cells {
        assert!(cell["before"]["seconds"].as_f64().unwrap() > 0.0, "{cell:#}");
    }
}

kilter_tests::cases![a_check_runs_inside_an_allocation_of_two_nodes,];
