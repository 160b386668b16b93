//! What every command that starts MPI jobs can be told of them.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// The library, how its jobs are started, and where what they report is written.
#[derive(Debug, Clone, Args)]
pub struct Job {
    /// The launcher of the MPI library.
    #[arg(long, value_name = "PATH", env = "KILTER_MPIRUN", default_value = "mpirun")]
    pub mpirun: PathBuf,
    /// File of hosts, in the launcher's own format.
    #[arg(long, value_name = "FILE", env = "KILTER_HOSTFILE")]
    pub hostfile: Option<PathBuf>,
    /// Program that starts the launcher's daemons on other hosts, instead of ssh.
    #[arg(long, value_name = "PATH", env = "KILTER_LAUNCH_AGENT")]
    pub launch_agent: Option<PathBuf>,
    /// Batch system whose launcher starts the ranks: slurm, pbs, lsf or jsm (default: the library's own launcher starts them).
    /// --mpirun names the library in any case.
    #[arg(long, value_name = "NAME", env = "KILTER_LAUNCHER")]
    pub launcher: Option<String>,
    /// The process management interface that the launcher offers to the library, such as pmix or pmi2 (default: pmix with slurm).
    #[arg(long, value_name = "NAME", env = "KILTER_PMI", requires = "launcher")]
    pub pmi: Option<String>,
    /// A parameter of the library that every launch needs on this site, such as `btl=tcp,self` (Open MPI) or
    /// `MPIR_CVAR_CH4_NETMOD=ucx` (MPICH). Repeatable; in the variable separated by `;`.
    #[arg(long = "mca", value_name = "NAME=VALUE", env = "KILTER_MCA", value_delimiter = ';')]
    pub mca: Vec<String>,
    /// An environment variable that every rank needs on this site. Repeatable; in the variable separated by `;`.
    #[arg(long = "env", value_name = "NAME=VALUE", env = "KILTER_ENV", value_delimiter = ';')]
    pub environment: Vec<String>,
    /// Output directory of reports, logs and the files to deploy.
    #[arg(long, value_name = "DIR", default_value = "kilter-out")]
    pub out: PathBuf,
    /// Database of samples (default: kilter.db in the output directory).
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
    /// Describe the MPI library by this file instead of the built-in descriptions.
    #[arg(long, value_name = "FILE")]
    pub library_description: Option<PathBuf>,
    /// A job without a sign of life for so many seconds counts as hung.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    pub stall_timeout: f64,
    /// Directory of kilter-worker, kilter-verify and Kilter's libraries. By default, seen from kilter itself:
    /// `../libexec/kilter/<library>` (made by `scripts/install`), else `../mpi/<library>/release` (made by `scripts/build --mpi`), else
    /// its own directory.
    #[arg(long, value_name = "DIR", env = "KILTER_LIBEXEC")]
    pub libexec: Option<PathBuf>,
}
