//! What an MPI launcher needs to know to run on the cluster, and Open MPI's `mpirun` told so.

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{
    host,
    state::{Cluster, State},
    tap::INTERFACE,
};

/// Between the settings of a list: values of Open MPI's hold commas.
const SEPARATOR: &str = ";";

/// Settings for a launcher.
pub(crate) struct Launch {
    /// Host file of Open MPI.
    hostfile: String,
    /// Executable with the arguments of rsh.
    agent: String,
    ranks: usize,
    /// Parameters of Open MPI.
    mca: Vec<(&'static str, String)>,
    /// Variables of every rank.
    environment: Vec<(&'static str, String)>,
}

impl Launch {
    /// Settings for `ppn` ranks on every host; writes the host file. `waiter`: the library that makes ranks wait.
    pub(crate) fn new(state: &State, cluster: &Cluster, ppn: usize, waiter: Option<PathBuf>) -> Result<Self> {
        let hostfile = state.path(&format!("hostfile.{ppn}"));
        let mut lines = String::new();
        for host in 0..cluster.hosts {
            writeln!(lines, "{} slots={ppn}", state.host_name(host))?;
        }
        fs::write(&hostfile, lines).with_context(|| format!("cannot write {}", hostfile.display()))?;

        let waiter = waiter.map_or_else(waiter_beside_this_program, Ok)?;
        let waiter = waiter.canonicalize().with_context(|| {
            let build = "build it with `cargo build -p kilter-waiter`, or name it with --waiter";
            format!("the waiting library {} is missing; {build}", waiter.display())
        })?;
        let mca = [
            // Daemons through the launch agent, each started by mpirun itself.
            ("plm", "rsh".to_owned()),
            ("plm_rsh_no_tree_spawn", "1".to_owned()),
            // TCP only: all hosts share this machine's memory, and no host may notice.
            ("pml", "ob1".to_owned()),
            ("btl", "tcp,self".to_owned()),
            ("btl_tcp_if_include", INTERFACE.to_owned()),
            ("oob_tcp_if_include", INTERFACE.to_owned()),
            ("mpi_yield_when_idle", "1".to_owned()),
            // Session directories that `down` removes.
            ("orte_tmpdir_base", text(&state.path("tmp"))?),
        ];
        let environment = [
            ("LD_PRELOAD", text(&waiter)?),
            ("KILTER_WAITER", "block".to_owned()),
            ("KILTER_WAITER_US", "1000".to_owned()),
            ("KILTER_WAITER_FIFO", "10".to_owned()),
        ];
        Ok(Self {
            hostfile: text(&hostfile)?,
            agent: text(&state.path("agent"))?,
            ranks: cluster.hosts * ppn,
            mca: mca.into(),
            environment: environment.into(),
        })
    }

    /// The variables through which Kilter learns all this.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("KILTER_HOSTFILE", self.hostfile.clone()),
            ("KILTER_LAUNCH_AGENT", self.agent.clone()),
            ("KILTER_WAIT", "sleep".to_owned()),
            ("KILTER_MCA", list(&self.mca)),
            ("KILTER_ENV", list(&self.environment)),
        ]
    }

    /// `mpirun` of Open MPI with all this on its command line, `ranks` ranks (default: all slots), and then `rest`.
    pub(crate) fn mpirun(&self, ranks: Option<usize>, rest: Vec<OsString>) -> Result<Vec<OsString>> {
        let Some(program) = ["mpirun.openmpi", "mpirun"]
            .into_iter()
            .find(|name| host::in_path(name))
        else {
            bail!("neither mpirun.openmpi nor mpirun is in PATH; install Open MPI");
        };
        let ranks = ranks.unwrap_or(self.ranks).to_string();
        let mut command: Vec<String> = [
            program,
            "--allow-run-as-root",
            "--hostfile",
            &self.hostfile,
            "-np",
            &ranks,
        ]
        .into_iter()
        .chain([
            "--map-by",
            "slot",
            "--bind-to",
            "none",
            "--mca",
            "plm_rsh_agent",
            &self.agent,
        ])
        .map(str::to_owned)
        .collect();
        for (name, value) in &self.mca {
            command.extend(["--mca".to_owned(), (*name).to_owned(), value.clone()]);
        }
        for (name, value) in &self.environment {
            command.extend(["-x".to_owned(), format!("{name}={value}")]);
        }
        Ok(command.into_iter().map(OsString::from).chain(rest).collect())
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
