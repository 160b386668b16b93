//! Descriptions of launchers that belong to a site's batch system and not to an MPI library: the start of ranks, the
//! variables of an allocation, and the first lines of a batch script. Each is a file in `configs/launchers`.

use serde::{Deserialize, Serialize};

use super::{ConfigError, Embedded, all, parse, parsed};

/// A way of launching inside an allocation of a batch system.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchLauncher {
    /// Such as `slurm`.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Program that starts the ranks; without one, the library's own launcher does.
    #[serde(default)]
    pub starts: Option<Starts>,
    /// Variables of an allocation.
    pub allocation: Allocation,
    /// First lines of a batch script.
    pub script: Script,
}

/// A program that starts ranks in place of the library's own launcher. It hands its environment on. Variables for the
/// ranks alone go through `env`: no shared object of theirs is loaded into the program, and no value needs quoting of
/// its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Starts {
    /// Its name.
    pub program: String,
    /// Arguments of every launch, with `{pmi}` where `pmi` is not empty.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Flag before the number of ranks.
    pub ranks_flag: String,
    /// Flag before the host file; without it, no host file can be given.
    #[serde(default)]
    pub hostfile_flag: Option<String>,
    /// Arguments that put so many ranks on each node, with `{per_node}` and, if need be, `{nodes}`; empty if there are
    /// none.
    #[serde(default)]
    pub per_node: Vec<String>,
    /// Process management interfaces that it offers, the usual one first.
    #[serde(default)]
    pub pmi: Vec<String>,
}

/// Names of the variables that describe an allocation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// Variable that is set inside an allocation.
    pub inside: String,
    /// Variable with the number of hosts.
    #[serde(default)]
    pub hosts: Option<String>,
    /// Variable with the cores of the hosts, as `16(x8),4`.
    #[serde(default)]
    pub cpus: Option<String>,
    /// Variable with the tasks of the hosts, in the same form: so many ranks fit on each for the library's launcher. Where it is not set, one
    /// for each core does.
    #[serde(default)]
    pub tasks: Option<String>,
    /// Variable with the path of the host file.
    #[serde(default)]
    pub hostfile: Option<String>,
    /// Form of that file.
    #[serde(default)]
    pub hostfile_form: HostfileForm,
    /// Program, not a variable, that starts daemons on the hosts.
    #[serde(default)]
    pub agent: Option<String>,
}

/// Forms of a batch system's host file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostfileForm {
    /// A line for each rank, with the name of its host. Launchers of MPI libraries read it.
    #[default]
    Lines,
    /// A line for each host: its name, its slots, and more. The library's launcher knows the batch system, or is told nothing.
    Counted,
}

/// First lines of a batch script. `{job}`, `{nodes}`, `{per_node}`, `{ranks}`, `{hours}` and `{minutes}` (two digits
/// each), and `{all_minutes}` are filled in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A name for the file.
    pub name: String,
    /// Command that submits it.
    pub submit: String,
    /// Variable with the directory of submission, if the script does not start there.
    #[serde(default)]
    pub directory: Option<String>,
    /// First lines of the script after the shell's.
    pub header: Vec<String>,
    /// The same for whole hosts, without a number of ranks, where the batch system has that.
    #[serde(default)]
    pub whole_hosts: Option<Vec<String>>,
    /// The line of an account, with `{value}`.
    pub account: String,
    /// The line of a queue or partition, with `{value}`.
    pub queue: String,
}

impl BatchLauncher {
    /// Reads a file's text. The error names `file`, and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<BatchLauncher, ConfigError> {
        parse(text, file, BatchLauncher::problem)
    }

    /// A mistake that the form alone does not exclude.
    fn problem(&self) -> Option<String> {
        if let Some(starts) = &self.starts {
            let asks = starts.arguments.iter().any(|part| part.contains("{pmi}"));
            if asks == starts.pmi.is_empty() {
                return Some("starts.arguments has {pmi} where starts.pmi names some, and not else".to_owned());
            }
            if starts.program.is_empty() || starts.ranks_flag.is_empty() {
                return Some("starts.program and starts.ranks_flag must not be empty".to_owned());
            }
            let places = |part: &String| part.contains("{per_node}") || part.contains("{nodes}");
            if !starts.per_node.is_empty() && !starts.per_node.iter().any(places) {
                return Some(
                    "starts.per_node must contain {per_node}, or {nodes} where ranks are shared evenly".to_owned(),
                );
            }
        }
        for (key, line) in [("account", &self.script.account), ("queue", &self.script.queue)] {
            if !line.contains("{value}") {
                return Some(format!("script.{key} must contain {{value}}"));
            }
        }
        let known = [
            "{job}",
            "{nodes}",
            "{per_node}",
            "{ranks}",
            "{hours}",
            "{minutes}",
            "{all_minutes}",
        ];
        let unknown = self.script.header.iter().find(|line| {
            let rest = known.iter().fold((*line).clone(), |text, name| text.replace(name, ""));
            !line.starts_with('#') || rest.contains('{')
        })?;
        Some(format!(
            "script.header: `{unknown}` must begin with `#` and may hold {}",
            known.join(", ")
        ))
    }
}

/// The descriptions that come with Kilter.
pub fn load_embedded() -> Result<Vec<BatchLauncher>, ConfigError> {
    static LAUNCHERS: Embedded<Vec<BatchLauncher>> = Embedded::new(|| parsed("launchers", BatchLauncher::parse));
    all(&LAUNCHERS).cloned()
}

/// The description of this name. The error lists the names that there are; `option` is the option that gave the name.
pub fn find(option: &str, id: &str) -> Result<BatchLauncher, ConfigError> {
    let all = load_embedded()?;
    let known: Vec<String> = all
        .iter()
        .map(|launcher| format!("{} ({})", launcher.id, launcher.name))
        .collect();
    all.into_iter()
        .find(|launcher| launcher.id == id)
        .ok_or_else(|| ConfigError {
            file: option.to_owned(),
            message: format!("`{id}` is no launcher; allowed: {}", known.join(", ")),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::embedded;

    #[test]
    fn every_file_is_right_and_has_the_name_that_it_is_asked_for_by() {
        let all = load_embedded().unwrap();
        assert_eq!(
            all.iter().map(|launcher| launcher.id.as_str()).collect::<Vec<_>>(),
            ["flux", "jsm", "lsf", "pals", "pbs", "sge", "slurm"]
        );
        assert_eq!(find("--launcher", "pbs").unwrap().id, "pbs");
        let error = find("--launcher", "oar").unwrap_err().to_string();
        assert!(
            error.starts_with("--launcher: `oar` is no launcher; allowed: flux (Flux), jsm (LSF, by jsrun), lsf"),
            "{error}"
        );
    }

    #[test]
    fn mistakes_name_the_file_and_what_is_allowed() {
        let (_, good) = embedded("launchers")
            .into_iter()
            .find(|(file, _)| file.contains("slurm"))
            .unwrap();
        for (from, to, part) in [
            ("--mpi={pmi}", "--mpi=pmix", "{pmi}"),
            ("pmi = [\"pmix\", \"pmi2\", \"cray_shasta\", \"none\"]", "", "{pmi}"),
            ("ranks_flag = \"--ntasks\"", "ranks_flag = \"\"", "must not be empty"),
            (
                "--ntasks-per-node={per_node}",
                "--ntasks-per-node={pernode}",
                "`#SBATCH --ntasks-per-node={pernode}` must begin",
            ),
            (
                "\"{nodes}\", \"--ntasks-per-node\", \"{per_node}\"]",
                "\"1\"]",
                "starts.per_node must contain {per_node}",
            ),
            ("account={value}", "account=x", "script.account must contain {value}"),
            ("submit =", "submits =", "unknown field `submits`"),
        ] {
            assert!(good.contains(from), "{from}");
            let error = BatchLauncher::parse(&good.replacen(from, to, 1), "x.toml")
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("x.toml: ") && error.contains(part), "{error}");
        }
    }
}
