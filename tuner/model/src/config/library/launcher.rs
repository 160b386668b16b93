//! Launcher of a library's jobs.

use serde::Deserialize;

/// Launcher of a library's jobs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Arguments of every launch.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Arguments of a launch with more ranks than the launcher has slots for, or where nobody knows how many it has.
    #[serde(default)]
    pub over_subscription: Vec<String>,
    /// Arguments when the user is root.
    #[serde(default)]
    pub root_arguments: Vec<String>,
    /// Flag before the number of ranks.
    pub ranks_flag: String,
    /// Flag before the host file.
    pub hostfile_flag: String,
    /// Arguments beside a host file, which make the launcher fill its hosts one after the other as the file says. A
    /// layout's `per_node` replaces them.
    #[serde(default)]
    pub by_hostfile: Vec<String>,
    /// Arguments that put so many ranks on each node, with `{per_node}` and, if need be, `{nodes}`. Empty if the
    /// launcher has none; the order of the host file then decides.
    #[serde(default)]
    pub per_node: Vec<String>,
    /// Name of a host, given once for each rank if there is no host file; `{host}` stands for this host's own name.
    /// Launchers that need no names have none.
    #[serde(default)]
    pub host: Option<String>,
    /// Form of a parameter, with `{name}` and `{value}`; empty if the library has only variables.
    #[serde(default)]
    pub parameter: Vec<String>,
    /// Name of the variable that sets a parameter, with `{name}`, if another launcher than the library's starts the
    /// ranks. Empty if parameters are variables of the same name.
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
    /// File that is launched instead of the worker, beside which it lies.
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
