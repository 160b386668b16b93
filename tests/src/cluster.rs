//! The virtual cluster of a test: taken down whatever happens, and its test ignored where it cannot be made.

use std::process::Command;

use super::left_out;

/// A cluster of its own, with a name that no other test has.
#[derive(Debug)]
pub struct Cluster(String);

impl Cluster {
    /// Makes `hosts` hosts with links of 1 Gbit/s and 200 us; `None`, and a reason, where there is no root or no namespaces.
    ///
    /// # Panics
    /// The script failed for another reason.
    #[must_use]
    pub fn up(hosts: &str) -> Option<Cluster> {
        Cluster::up_with(hosts, &[])
    }

    /// The same with further options of the script.
    ///
    /// # Panics
    /// The script failed for another reason.
    #[must_use]
    pub fn up_with(hosts: &str, options: &[&str]) -> Option<Cluster> {
        let name = format!("t{}h", std::process::id());
        let owner = std::process::id().to_string();
        let output = script()
            .args(["up", hosts, "--rate", "1Gbit", "--latency", "200us", "--owner", &owner])
            .args(["--name", &name])
            .args(options)
            .output()
            .expect("the script runs");
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => Some(Cluster(name)),
            Some(3) => {
                left_out(format!("no virtual cluster here: {}", said.trim()));
                None
            }
            code => panic!("up ended with {code:?}: {said}"),
        }
    }

    /// Its name; hosts are called by it and their number.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// `command` as the cluster's first host runs it; `library` is a word of the script's `--mpi`.
    #[must_use]
    pub fn inside(&self, command: &Command, library: Option<&str>) -> Command {
        let mut inside = script();
        inside.args(["run", "--name", &self.0]);
        if let Some(library) = library {
            inside.args(["--mpi", library]);
        }
        inside.arg("--").arg(command.get_program()).args(command.get_args());
        inside
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = script().args(["down", "--name", &self.0]).output();
    }
}

fn script() -> Command {
    super::script("virtual-cluster")
}
