//! Settings with which an MPI launcher runs on the cluster: as variables, and as a command line.

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{
    family::{Family, Mpi, Pairs, filled},
    host,
    state::{Cluster, State},
    tap::INTERFACE,
};

/// Between the settings of a list: values of Open MPI's hold commas.
const SEPARATOR: &str = ";";

/// Settings for a launcher.
pub(crate) struct Launch {
    family: &'static Family,
    /// Host file in the launcher's form.
    hostfile: String,
    /// Executable with the arguments of rsh.
    agent: String,
    ranks: usize,
    /// Parameters of the library.
    parameters: Vec<(&'static str, String)>,
    /// Variables of every rank.
    environment: Vec<(&'static str, String)>,
    /// Variables of the launcher.
    launcher_environment: Vec<(&'static str, String)>,
}

impl Launch {
    /// Settings for `ppn` ranks on every host; writes the host file. `waiter`: the library that makes ranks wait.
    pub(crate) fn new(mpi: Mpi, state: &State, cluster: &Cluster, ppn: usize, waiter: Option<PathBuf>) -> Result<Self> {
        let family = mpi.family();
        let hostfile = state.path(&format!("hostfile.{}.{ppn}", family.name));
        let ranks_per_host = ppn.to_string();
        let mut lines = String::new();
        for host in 0..cluster.hosts {
            let words = [("host", state.host_name(host)), ("ppn", ranks_per_host.clone())];
            let words = words.each_ref().map(|(name, value)| (*name, value.as_str()));
            writeln!(lines, "{}", filled(family.host_line, &words))?;
        }
        fs::write(&hostfile, lines).with_context(|| format!("cannot write {}", hostfile.display()))?;

        let waiter = waiter.map_or_else(waiter_beside_this_program, Ok)?;
        let waiter = waiter.canonicalize().with_context(|| {
            let build = "build it with `cargo build -p kilter-waiter`, or name it with --waiter";
            format!("the waiting library {} is missing; {build}", waiter.display())
        })?;
        let mut environment = vec![
            ("LD_PRELOAD", text(&waiter)?),
            ("KILTER_WAITER", "block".to_owned()),
            ("KILTER_WAITER_US", "1000".to_owned()),
        ];
        let priority = family
            .realtime_priority
            .map(|priority| ("KILTER_WAITER_PRIORITY", priority.to_owned()));
        environment.extend(priority);
        let tmp = text(&state.path("tmp"))?;
        let words = [
            ("interface", INTERFACE),
            ("tmp", tmp.as_str()),
            ("ppn", ranks_per_host.as_str()),
        ];
        let all = |pairs: Pairs| {
            pairs
                .iter()
                .map(|(name, value)| (*name, filled(value, &words)))
                .collect::<Vec<_>>()
        };
        environment.extend(all(family.environment));
        Ok(Self {
            family,
            hostfile: text(&hostfile)?,
            agent: text(&state.path("agent"))?,
            ranks: cluster.hosts * ppn,
            parameters: all(family.parameters),
            environment,
            launcher_environment: all(family.launcher_environment),
        })
    }

    /// The variables through which Kilter learns all this, and those of the launcher.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("KILTER_HOSTFILE", self.hostfile.clone()),
            ("KILTER_LAUNCH_AGENT", self.agent.clone()),
            ("KILTER_WAIT", "sleep".to_owned()),
            ("KILTER_MCA", list(&self.parameters)),
            ("KILTER_ENV", list(&self.environment)),
        ];
        variables.extend(self.launcher_environment.iter().cloned());
        variables
    }

    /// The library's launcher with all this on its command line, `ranks` ranks (default: all slots), and then `rest`.
    pub(crate) fn mpirun(&self, ranks: Option<usize>, rest: Vec<OsString>) -> Result<Vec<OsString>> {
        let ranks = ranks.unwrap_or(self.ranks).to_string();
        let mut command = vec![launcher(self.family)?];
        let words = [
            ("hostfile", self.hostfile.as_str()),
            ("ranks", ranks.as_str()),
            ("agent", self.agent.as_str()),
            ("interface", INTERFACE),
        ];
        command.extend(self.family.arguments.iter().map(|argument| filled(argument, &words)));
        for (pairs, form) in [
            (&self.parameters, self.family.parameter),
            (&self.environment, self.family.variable),
        ] {
            for (name, value) in pairs {
                command.extend(
                    form.iter()
                        .map(|word| filled(word, &[("name", name), ("value", value)])),
                );
            }
        }
        Ok(command.into_iter().map(OsString::from).chain(rest).collect())
    }
}

/// The launcher that the user names in `KILTER_MPIRUN`, else the family's first launcher in PATH.
fn launcher(family: &Family) -> Result<String> {
    if let Some(program) = env::var("KILTER_MPIRUN").ok().filter(|program| !program.is_empty()) {
        return Ok(program);
    }
    match family.launchers.iter().find(|name| host::in_path(name)) {
        Some(name) => Ok((*name).to_owned()),
        None => bail!(
            "none of {} is in PATH; install it with `scripts/setup --mpi`, or name it in KILTER_MPIRUN",
            family.launchers.join(", ")
        ),
    }
}

/// Cargo puts programs and libraries of a workspace side by side.
fn waiter_beside_this_program() -> Result<PathBuf> {
    let program = env::current_exe().context("cannot find the path of this program")?;
    Ok(program.with_file_name("libkilter_waiter.so"))
}

/// A path as text that can stand in a list and in LD_PRELOAD.
fn text(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(text) if !text.contains([';', ':', ' ', '\n']) => Ok(text.to_owned()),
        _ => bail!(
            "{} cannot be passed to an MPI launcher: blanks, ';' and ':' separate there",
            path.display()
        ),
    }
}

fn list(settings: &[(&str, String)]) -> String {
    let parts: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    parts.join(SEPARATOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_commas_of_values() {
        let settings = [("pml", "ob1".to_owned()), ("btl", "tcp,self".to_owned())];
        assert_eq!(list(&settings), "pml=ob1;btl=tcp,self");
    }

    #[test]
    fn paths_that_would_fall_apart_in_a_list_are_refused() {
        assert!(text(Path::new("/a/b.so")).is_ok());
        for path in ["/a b", "/a;b", "/a:b"] {
            assert!(text(Path::new(path)).unwrap_err().to_string().contains(path));
        }
    }
}
