//! Options of every command that starts MPI jobs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;

/// Formats of a command's standard output, `text` among them.
pub trait Output: ValueEnum + Copy + Send + Sync + 'static {
    /// True for JSON.
    fn is_json(self) -> bool;
}

impl Output for Format {
    fn is_json(self) -> bool {
        self == Format::Json
    }
}

/// The library, the start of its jobs, and the places of results.
#[derive(Debug, Clone, Args)]
pub struct Job<F: Output = Format> {
    /// Launcher of the MPI library. Where it names none that is known, or another one than its ranks, a short job finds out: its ranks decide which
    /// library is measured.
    #[arg(long, help_heading = super::JOB, value_name = "PATH", env = "KILTER_MPIRUN", default_value = "mpirun")]
    pub mpirun: PathBuf,
    /// File of hosts, in the launcher's own format.
    #[arg(long, help_heading = super::JOB, value_name = "FILE", env = "KILTER_HOSTFILE")]
    pub hostfile: Option<PathBuf>,
    /// Program that starts the launcher's daemons on other hosts, instead of ssh.
    #[arg(long, help_heading = super::JOB, value_name = "PATH", env = "KILTER_LAUNCH_AGENT")]
    pub launch_agent: Option<PathBuf>,
    /// Batch system whose launcher starts the ranks: slurm, pbs, pals, lsf, jsm, sge or flux (default: the library's own launcher starts them).
    /// --mpirun still names the library.
    #[arg(long, help_heading = super::JOB, value_name = "NAME", env = "KILTER_LAUNCHER")]
    pub launcher: Option<String>,
    /// Process management interface that the launcher offers to the library, such as pmix or pmi2 (default: pmix with slurm).
    #[arg(long, help_heading = super::JOB, value_name = "NAME", env = "KILTER_PMI", requires = "launcher")]
    pub pmi: Option<String>,
    /// Parameter of the library that every launch needs on this site, such as `btl=tcp,self` (Open MPI) or
    /// `MPIR_CVAR_CH4_NETMOD=ucx` (MPICH). Repeatable; the environment variable separates several by `;`.
    #[arg(long = "mca", help_heading = super::JOB, value_name = "NAME=VALUE", env = "KILTER_MCA", value_delimiter = ';')]
    pub mca: Vec<String>,
    /// Environment variable that every rank needs on this site. Repeatable; KILTER_ENV separates several by `;`.
    #[arg(long = "env", help_heading = super::JOB, value_name = "NAME=VALUE", env = "KILTER_ENV", value_delimiter = ';')]
    pub environment: Vec<String>,
    /// Output directory of reports, logs and the files to deploy.
    #[arg(long, help_heading = super::OUTPUT, value_name = "DIR", default_value = "kilter-out")]
    pub out: PathBuf,
    /// Database of samples, which several commands may share; `{out}` at its beginning is the output directory (default: kilter.db in the
    /// output directory if there is one, else ~/.local/share/kilter/kilter.db, or below XDG_DATA_HOME).
    #[arg(long, help_heading = super::OUTPUT, value_name = "FILE", env = "KILTER_DB")]
    pub db: Option<PathBuf>,
    /// Format of standard output.
    #[arg(long, help_heading = super::OUTPUT, value_enum, default_value = "text")]
    pub format: F,
    /// Print no progress on standard error.
    #[arg(short, long, help_heading = super::OUTPUT)]
    pub quiet: bool,
    /// Description of the MPI library, instead of the built-in ones.
    #[arg(long, help_heading = super::JOB, value_name = "FILE")]
    pub library_description: Option<PathBuf>,
    /// Seconds without a sign of life after which a job counts as hung. By default 20, and from 5 on for candidates: as their blocks have seconds,
    /// and as the library's own calls and the machine have shown.
    #[arg(long, help_heading = super::JOB, value_name = "SECONDS")]
    pub stall_timeout: Option<f64>,
    /// Directory of kilter-worker, kilter-verify and Kilter's libraries. By default, seen from kilter itself:
    /// `../libexec/kilter/<library>` (made by `scripts/install`), else `../mpi/<library>/release` (made by `scripts/build --mpi`), else
    /// its own directory, else any of these for the launcher's library.
    #[arg(long, help_heading = super::JOB, value_name = "DIR", env = "KILTER_LIBEXEC")]
    pub libexec: Option<PathBuf>,
}
