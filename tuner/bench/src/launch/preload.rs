//! The command of a job, with the tracer preloaded into its ranks.
//!
//! Launchers hand variables on in their own ways, which the library's description knows (`environment`); `srun` takes them by `--export`. Any
//! other command gets them in its own environment: a script that calls a launcher must let it hand them on.

use std::path::Path;

use kilter_model::config::library::Library;

use super::command::CommandSpec;

/// Names of launchers of MPI libraries.
const LAUNCHERS: [&str; 6] = ["mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "mpirun_rsh"];

/// The launcher of a batch system that takes variables by `--export`.
const SRUN: &str = "srun";

const PRELOAD: &str = "LD_PRELOAD";

/// Place of the launcher of an MPI library in a command; `None` if there is none.
#[must_use]
pub fn launcher(command: &[String]) -> Option<usize> {
    command.iter().position(|word| {
        let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy();
        // Debian's alternatives have the library's name behind a dot.
        let is =
            |launcher: &str| name == launcher || name.strip_prefix(launcher).is_some_and(|rest| rest.starts_with('.'));
        LAUNCHERS.into_iter().any(is)
    })
}

fn srun(command: &[String]) -> Option<usize> {
    let is = |word: &String| Path::new(word).file_name().is_some_and(|name| name == SRUN);
    command.iter().position(is)
}

/// The command with the tracer in front of what else is preloaded, and with further variables. `library` is that of the launcher in the
/// command; `preloaded` is what the caller's own environment preloads.
#[must_use]
pub fn traced(
    command: &[String],
    library: Option<&Library>,
    (tracer, preloaded): (&str, Option<&str>),
    variables: &[(String, String)],
) -> CommandSpec {
    let mut argv = command.to_vec();
    let already = preload_in(&mut argv, tracer);
    let preload = match preloaded.filter(|preloaded| !preloaded.is_empty()) {
        Some(preloaded) => format!("{tracer}:{preloaded}"),
        None => tracer.to_owned(),
    };
    let mut all = variables.to_vec();
    if !already {
        all.push((PRELOAD.to_owned(), preload));
    }
    if let Some(at) = srun(command) {
        let mut export = "--export=ALL".to_owned();
        for (name, value) in &all {
            export.push_str(&format!(",{name}={value}"));
        }
        argv.insert(at + 1, export);
        return CommandSpec {
            argv,
            environment: Vec::new(),
        };
    }
    let form = library
        .map(|library| library.launcher.environment.as_slice())
        .unwrap_or_default();
    match launcher(command).filter(|_| !form.is_empty()) {
        Some(at) => {
            let words = all.iter().flat_map(|(name, value)| {
                form.iter()
                    .map(move |part| part.replace("{name}", name).replace("{value}", value))
            });
            argv.splice(at + 1..at + 1, words.collect::<Vec<_>>());
            CommandSpec {
                argv,
                environment: Vec::new(),
            }
        }
        None => CommandSpec { argv, environment: all },
    }
}

/// Puts the tracer in front of what the command itself preloads: `LD_PRELOAD=FILES` as a word or behind a comma, or `LD_PRELOAD` and `FILES`
/// as two words. False if the command preloads nothing.
fn preload_in(argv: &mut [String], tracer: &str) -> bool {
    let mut found = false;
    let assignment = format!("{PRELOAD}=");
    for at in 0..argv.len() {
        let word = argv[at].clone();
        if let Some(begin) = word.find(&assignment) {
            let is_begin = begin == 0 || word[..begin].ends_with([',', '=']);
            if is_begin {
                let value = begin + assignment.len();
                argv[at] = format!("{}{tracer}:{}", &word[..value], &word[value..]);
                found = true;
            }
        } else if word == PRELOAD {
            let is_pair = at > 0 && argv[at - 1].starts_with('-') && argv[at - 1].ends_with("env");
            if let (true, Some(files)) = (is_pair, argv.get_mut(at + 1)) {
                *files = format!("{tracer}:{files}");
                found = true;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;

    use super::*;

    const TRACER: &str = "/k/libkilter_tracer.so";

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn line(command: &str, version: Option<&str>, preloaded: Option<&str>) -> String {
        let library = version.map(|version| find_for(version).unwrap());
        let variables = [("DIR".to_owned(), "/calls".to_owned())];
        traced(&words(command), library.as_ref(), (TRACER, preloaded), &variables).to_string()
    }

    const OPEN_MPI: Option<&str> = Some("mpirun (Open MPI) 4.1.4");
    const MPICH: Option<&str> = Some("HYDRA build details: Version: 4.0.2");

    #[test]
    fn each_launcher_hands_the_variables_on_in_its_own_way() {
        assert_eq!(
            line("mpirun -n 2 app", OPEN_MPI, None),
            format!("mpirun -x DIR=/calls -x LD_PRELOAD={TRACER} -n 2 app")
        );
        assert_eq!(
            line("env A=1 /opt/bin/mpiexec.hydra -n 2 app", MPICH, None),
            format!("env A=1 /opt/bin/mpiexec.hydra -genv DIR /calls -genv LD_PRELOAD {TRACER} -n 2 app")
        );
        assert_eq!(
            line("srun -n 2 app", None, None),
            format!("srun --export=ALL,DIR=/calls,LD_PRELOAD={TRACER} -n 2 app")
        );
        assert_eq!(
            line("./app", None, None),
            format!("DIR=/calls LD_PRELOAD={TRACER} ./app")
        );
    }

    #[test]
    fn the_tracer_comes_before_what_is_preloaded_already() {
        assert_eq!(
            line("mpirun -n 2 app", OPEN_MPI, Some("/a.so")),
            format!("mpirun -x DIR=/calls -x LD_PRELOAD={TRACER}:/a.so -n 2 app")
        );
        assert_eq!(
            line("mpirun -x LD_PRELOAD=/k/libkilter.so -n 2 app", OPEN_MPI, None),
            format!("mpirun -x DIR=/calls -x LD_PRELOAD={TRACER}:/k/libkilter.so -n 2 app")
        );
        assert_eq!(
            line("mpirun.mpich -genv LD_PRELOAD /k/libkilter.so -n 2 app", MPICH, None),
            format!("mpirun.mpich -genv DIR /calls -genv LD_PRELOAD {TRACER}:/k/libkilter.so -n 2 app")
        );
        assert_eq!(
            line("app LD_PRELOAD", None, None),
            format!("DIR=/calls LD_PRELOAD={TRACER} app LD_PRELOAD")
        );
    }

    #[test]
    fn launchers_are_known_by_their_names() {
        assert_eq!(launcher(&words("time mpirun.openmpi -n 2 a")), Some(1));
        assert_eq!(launcher(&words("./mpirunner -n 2 a")), None);
    }
}
