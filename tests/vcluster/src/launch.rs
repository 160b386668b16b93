//! What an MPI launcher needs to know to run on the cluster, and a launcher told so.

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{
    cli::Mpi,
    host,
    state::{Cluster, State},
    tap::INTERFACE,
};

/// Between the settings of a list: values of Open MPI's hold commas.
const SEPARATOR: &str = ";";

/// Settings for a launcher.
pub(crate) struct Launch {
    mpi: Mpi,
    /// Host file in the launcher's form.
    hostfile: String,
    /// Executable with the arguments of rsh.
    agent: String,
    ranks: usize,
    /// Parameters of the library.
    parameters: Vec<(&'static str, String)>,
    /// Variables of every rank.
    environment: Vec<(&'static str, String)>,
}

impl Launch {
    /// Settings for `ppn` ranks on every host; writes the host file. `waiter`: the library that makes ranks wait.
    pub(crate) fn new(mpi: Mpi, state: &State, cluster: &Cluster, ppn: usize, waiter: Option<PathBuf>) -> Result<Self> {
        let hostfile = state.path(&format!("hostfile.{}.{ppn}", mpi.name()));
        let mut lines = String::new();
        for host in 0..cluster.hosts {
            writeln!(lines, "{}", mpi.host_line(&state.host_name(host), ppn))?;
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
            ("KILTER_WAITER_FIFO", "10".to_owned()),
        ];
        environment.extend(mpi.environment());
        Ok(Self {
            mpi,
            hostfile: text(&hostfile)?,
            agent: text(&state.path("agent"))?,
            ranks: cluster.hosts * ppn,
            parameters: mpi.parameters(&text(&state.path("tmp"))?),
            environment,
        })
    }

    /// The variables through which Kilter learns all this.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("KILTER_HOSTFILE", self.hostfile.clone()),
            ("KILTER_LAUNCH_AGENT", self.agent.clone()),
            ("KILTER_WAIT", "sleep".to_owned()),
            ("KILTER_MCA", list(&self.parameters)),
            ("KILTER_ENV", list(&self.environment)),
        ]
    }

    /// The library's launcher with all this on its command line, `ranks` ranks (default: all slots), and then `rest`.
    pub(crate) fn mpirun(&self, ranks: Option<usize>, rest: Vec<OsString>) -> Result<Vec<OsString>> {
        let ranks = ranks.unwrap_or(self.ranks).to_string();
        let mut command = vec![self.mpi.launcher()?];
        command.extend(self.mpi.launcher_arguments(&self.hostfile, &ranks, &self.agent));
        for (name, value) in &self.parameters {
            command.extend(self.mpi.parameter(name, value));
        }
        for (name, value) in &self.environment {
            command.extend(self.mpi.variable(name, value));
        }
        Ok(command.into_iter().map(OsString::from).chain(rest).collect())
    }
}

impl Mpi {
    fn name(self) -> &'static str {
        match self {
            Mpi::Openmpi => "openmpi",
            Mpi::Mpich => "mpich",
        }
    }

    /// A line of the host file.
    fn host_line(self, host: &str, ppn: usize) -> String {
        match self {
            Mpi::Openmpi => format!("{host} slots={ppn}"),
            Mpi::Mpich => format!("{host}:{ppn}"),
        }
    }

    /// Parameters of the library. `tmp`: a directory that `down` removes.
    fn parameters(self, tmp: &str) -> Vec<(&'static str, String)> {
        match self {
            Mpi::Openmpi => [
                // Daemons through the launch agent, each started by mpirun itself.
                ("plm", "rsh"),
                ("plm_rsh_no_tree_spawn", "1"),
                // TCP only: all hosts share this machine's memory, and no host may notice.
                ("pml", "ob1"),
                ("btl", "tcp,self"),
                ("btl_tcp_if_include", INTERFACE),
                ("oob_tcp_if_include", INTERFACE),
                ("mpi_yield_when_idle", "1"),
                ("orte_tmpdir_base", tmp),
            ]
            .map(|(name, value)| (name, value.to_owned()))
            .into(),
            Mpi::Mpich => vec![("MPIR_CVAR_CH4_NETMOD", "ucx".to_owned())],
        }
    }

    /// Variables of every rank that only this library needs.
    fn environment(self) -> Vec<(&'static str, String)> {
        match self {
            Mpi::Openmpi => Vec::new(),
            // TCP only, as above: left alone, UCX finds that "other hosts" share memory with it.
            Mpi::Mpich => vec![
                ("UCX_TLS", "tcp,self".to_owned()),
                ("UCX_NET_DEVICES", INTERFACE.to_owned()),
            ],
        }
    }

    /// What the user names, else the first in PATH.
    fn launcher(self) -> Result<String> {
        if let Some(program) = env::var("KILTER_MPIRUN").ok().filter(|program| !program.is_empty()) {
            return Ok(program);
        }
        let names: &[&str] = match self {
            Mpi::Openmpi => &["mpirun.openmpi", "mpirun"],
            Mpi::Mpich => &["mpirun.mpich", "mpiexec.hydra"],
        };
        match names.iter().find(|name| host::in_path(name)) {
            Some(name) => Ok((*name).to_owned()),
            None => bail!(
                "none of {} is in PATH; install it with `scripts/setup --mpi`, or name it in KILTER_MPIRUN",
                names.join(", ")
            ),
        }
    }

    fn launcher_arguments(self, hostfile: &str, ranks: &str, agent: &str) -> Vec<String> {
        let words: &[&str] = match self {
            Mpi::Openmpi => &[
                "--allow-run-as-root",
                "--hostfile",
                hostfile,
                "-np",
                ranks,
                "--map-by",
                "slot",
                "--bind-to",
                "none",
                "--mca",
                "plm_rsh_agent",
                agent,
            ],
            Mpi::Mpich => &[
                "-launcher",
                "ssh",
                "-launcher-exec",
                agent,
                "-iface",
                INTERFACE,
                "-f",
                hostfile,
                "-n",
                ranks,
            ],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn parameter(self, name: &str, value: &str) -> Vec<String> {
        match self {
            Mpi::Openmpi => vec!["--mca".to_owned(), name.to_owned(), value.to_owned()],
            Mpi::Mpich => self.variable(name, value),
        }
    }

    fn variable(self, name: &str, value: &str) -> Vec<String> {
        match self {
            Mpi::Openmpi => vec!["-x".to_owned(), format!("{name}={value}")],
            Mpi::Mpich => vec!["-genv".to_owned(), name.to_owned(), value.to_owned()],
        }
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

    #[test]
    fn each_launcher_is_told_in_its_own_words() {
        assert_eq!(Mpi::Openmpi.host_line("vc3", 2), "vc3 slots=2");
        assert_eq!(Mpi::Mpich.host_line("vc3", 2), "vc3:2");
        assert_eq!(Mpi::Openmpi.variable("A", "b"), ["-x", "A=b"]);
        assert_eq!(Mpi::Mpich.variable("A", "b"), ["-genv", "A", "b"]);
        assert_eq!(Mpi::Openmpi.parameter("btl", "tcp"), ["--mca", "btl", "tcp"]);
    }
}
