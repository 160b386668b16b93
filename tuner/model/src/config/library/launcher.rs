//! Launcher of a library's jobs.

use serde::Deserialize;

use crate::config::launcher::Starts;

/// Launcher of a library's jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
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
    /// Words before the first parameter or variable, such as `env`, if they are words of a program that the launcher starts.
    #[serde(default)]
    pub before_variables: Vec<String>,
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
    /// The variable that sets a parameter of the library.
    #[must_use]
    pub fn variable_of(&self, parameter: &str) -> String {
        if self.variable.is_empty() {
            parameter.to_owned()
        } else {
            self.variable.replace("{name}", parameter)
        }
    }

    /// The parameter that a variable would set; `None` where it is no such variable.
    #[must_use]
    pub fn parameter_of<'v>(&self, variable: &'v str) -> Option<&'v str> {
        let (before, after) = self.variable.split_once("{name}").unwrap_or_default();
        variable.strip_prefix(before)?.strip_suffix(after)
    }

    /// The launcher of MPI's standard, `mpiexec -n N PROGRAM`, for the library of this one. Parameters and variables go through `env`.
    #[must_use]
    pub fn standard(&self) -> Launcher {
        Launcher {
            ranks_flag: "-n".to_owned(),
            before_variables: vec!["env".to_owned()],
            environment: vec!["{name}={value}".to_owned()],
            ..Launcher::default()
        }
        .of_library(self)
    }

    /// A batch system's launcher with its usual process management interface, for the library of this one.
    #[must_use]
    pub fn of_batch_system(&self, starts: &Starts) -> Launcher {
        let pmi = starts.pmi.first().map_or("", String::as_str);
        Launcher {
            arguments: starts.arguments.iter().map(|part| part.replace("{pmi}", pmi)).collect(),
            ranks_flag: starts.ranks_flag.clone(),
            hostfile_flag: starts.hostfile_flag.clone().unwrap_or_default(),
            per_node: starts.per_node.clone(),
            ..self.standard()
        }
    }

    /// This launcher with parameters of another launcher's library, as variables of the ranks.
    #[must_use]
    pub fn of_library(self, other: &Launcher) -> Launcher {
        let variable = match other.variable.as_str() {
            "" => "{name}",
            form => form,
        };
        let parameter = self.environment.iter().map(|word| word.replace("{name}", variable));
        Launcher {
            parameter: parameter.collect(),
            variable: other.variable.clone(),
            program: None,
            ..self
        }
    }

    /// True if it is a simulator: its times are exact, and a preloaded library does not come before the MPI library.
    #[must_use]
    pub fn is_simulator(&self) -> bool {
        !self.platform.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::library::find_for;

    #[test]
    fn a_launcher_of_another_library_gives_its_parameters_as_variables() {
        let openmpi = find_for("mpirun (Open MPI) 4.1.4").unwrap().launcher;
        let hydra = find_for("HYDRA build details: Version: 4.0.2").unwrap().launcher;
        assert_eq!(
            hydra.clone().of_library(&openmpi).parameter,
            ["-genv", "OMPI_MCA_{name}", "{value}"]
        );
        assert_eq!(openmpi.clone().of_library(&hydra).parameter, ["-x", "{name}={value}"]);
        let standard = openmpi.standard();
        assert_eq!(standard.parameter, ["OMPI_MCA_{name}={value}"]);
        assert_eq!(
            (standard.ranks_flag.as_str(), standard.before_variables),
            ("-n", vec!["env".to_owned()])
        );
    }

    #[test]
    fn a_batch_systems_launcher_starts_a_librarys_ranks() {
        let slurm = crate::config::launcher::find("--launcher", "slurm")
            .unwrap()
            .starts
            .unwrap();
        let openmpi = find_for("mpirun (Open MPI) 4.1.4").unwrap().launcher;
        let launcher = openmpi.of_batch_system(&slurm);
        assert_eq!(launcher.arguments, ["--mpi=pmix", "--kill-on-bad-exit=1"]);
        assert_eq!(launcher.parameter, ["OMPI_MCA_{name}={value}"]);
        assert_eq!(launcher.hostfile_flag, "--nodelist");
    }
}
