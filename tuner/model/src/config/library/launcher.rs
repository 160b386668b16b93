//! Launcher of a library's jobs.

use serde::Deserialize;

/// Launcher of a library's jobs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Arguments of every launch.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Arguments when the user is root.
    #[serde(default)]
    pub root_arguments: Vec<String>,
    /// Before the number of ranks.
    pub ranks_flag: String,
    /// Before the host file.
    pub hostfile_flag: String,
    /// Arguments beside a host file, which make the launcher fill its hosts one after the other as the file says; a layout's `per_node`
    /// replaces them.
    #[serde(default)]
    pub by_hostfile: Vec<String>,
    /// Arguments that put so many ranks on each node, with `{per_node}` and, if need be, `{nodes}`; empty if it cannot be told: the order of
    /// the host file must do.
    #[serde(default)]
    pub per_node: Vec<String>,
    /// A host's name, which is given once for each rank where there is no host file, and `{host}` for this host's own; without it, the
    /// launcher needs none.
    #[serde(default)]
    pub host: Option<String>,
    /// Form of a parameter, with `{name}` and `{value}`; empty where the library has none but variables.
    #[serde(default)]
    pub parameter: Vec<String>,
    /// The variable that sets a parameter, with `{name}`, where another launcher than the library's starts the ranks; empty where
    /// parameters are variables of the same name.
    #[serde(default)]
    pub variable: String,
    /// Form of an environment variable of the ranks, with `{name}` and `{value}`; empty if the launcher hands its own environment on.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Arguments that name the program which starts daemons on other hosts, with `{agent}`; empty if it cannot be named.
    #[serde(default)]
    pub agent: Vec<String>,
    /// Arguments that name the machine a simulator simulates, with `{platform}` and `{hostfile}`; empty if ranks really run.
    #[serde(default)]
    pub platform: Vec<String>,
    /// The file that is launched where it is not the worker itself, which it lies beside.
    #[serde(default)]
    pub program: Option<String>,
}

impl Launcher {
    /// True if it is a simulator: its times are exact, and a preloaded library does not come before the MPI library.
    #[must_use]
    pub fn is_simulator(&self) -> bool {
        !self.platform.is_empty()
    }
}
