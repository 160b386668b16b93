//! Settings of a program's launcher that decide which algorithms run: they are taken over for the jobs that find it out.

use std::path::PathBuf;

use kilter_bench::launch::preload;

/// A command's settings for its jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launched {
    /// The launcher.
    pub mpirun: Option<PathBuf>,
    /// Parameters of the library, as `NAME=VALUE`.
    pub parameters: Vec<String>,
    /// Variables of the ranks, as `NAME=VALUE`.
    pub environment: Vec<String>,
    /// File of hosts.
    pub hostfile: Option<PathBuf>,
}

/// Options with a name and a value: parameters of Open MPI.
const PARAMETERS: [&str; 4] = ["--mca", "-mca", "--gmca", "-gmca"];
/// Options with a name and a value: variables, of MPICH and what descends from it.
const VARIABLES: [&str; 2] = ["-genv", "-env"];
/// Options with `NAME=VALUE`, or a name whose value the launcher hands on as it is.
const EXPORTS: [&str; 1] = ["-x"];
/// Options with a file of hosts.
const HOSTFILES: [&str; 6] = [
    "--hostfile",
    "-hostfile",
    "--machinefile",
    "-machinefile",
    "-f",
    "--default-hostfile",
];
/// Further options that are followed by a value, which is no program.
const WITH_VALUE: [&str; 22] = [
    "-n",
    "-np",
    "--np",
    "--n",
    "-c",
    "-ppn",
    "-perhost",
    "-N",
    "--npernode",
    "-npernode",
    "--host",
    "-host",
    "-H",
    "-hosts",
    "--map-by",
    "--bind-to",
    "--rank-by",
    "-wdir",
    "--wdir",
    "-bind-to",
    "-map-by",
    "-launcher",
];

/// Reads a command up to its program. Whatever stands before the launcher, such as `env X=1`, is read as well.
#[must_use]
pub fn launched(command: &[String]) -> Launched {
    let mut launched = Launched::default();
    let Some(at) = preload::launcher(command) else {
        return launched;
    };
    launched.mpirun = Some(PathBuf::from(&command[at]));
    if command[0].ends_with("env") {
        let pairs = command[1..at]
            .iter()
            .filter(|word| word.contains('=') && !word.starts_with('-'));
        launched.environment.extend(pairs.cloned());
    }
    let mut words = command[at + 1..].iter();
    while let Some(word) = words.next() {
        let (option, joined) = match word.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (option, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || joined.clone().or_else(|| words.next().cloned());
        if PARAMETERS.contains(&option) || VARIABLES.contains(&option) {
            let (Some(name), Some(value)) = (value(), words.next()) else {
                break;
            };
            let list = if PARAMETERS.contains(&option) {
                &mut launched.parameters
            } else {
                &mut launched.environment
            };
            list.push(format!("{name}={value}"));
        } else if EXPORTS.contains(&option) {
            launched.environment.extend(value().filter(|pair| pair.contains('=')));
        } else if HOSTFILES.contains(&option) {
            launched.hostfile = value().map(PathBuf::from);
        } else if WITH_VALUE.contains(&option) {
            value();
        } else if !option.starts_with('-') {
            break;
        }
    }
    launched
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Launched {
        launched(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn settings_of_the_launcher_are_taken_over_and_those_of_the_program_are_not() {
        let open_mpi = of(
            "mpirun -n 4 --mca coll_tuned_reduce_algorithm 1 -x A=1 -x B --hostfile h --oversubscribe ./app --mca x 1",
        );
        assert_eq!(open_mpi.mpirun, Some("mpirun".into()));
        assert_eq!(open_mpi.parameters, ["coll_tuned_reduce_algorithm=1"]);
        assert_eq!(open_mpi.environment, ["A=1"]);
        assert_eq!(open_mpi.hostfile, Some("h".into()));
        let hydra = of("env C=3 /opt/bin/mpiexec.hydra -genv I_MPI_ADJUST_REDUCE 2 -np 4 ./app");
        assert_eq!(hydra.mpirun, Some("/opt/bin/mpiexec.hydra".into()));
        assert_eq!(hydra.environment, ["C=3", "I_MPI_ADJUST_REDUCE=2"]);
        assert_eq!(of("./script -n 4"), Launched::default());
    }
}
