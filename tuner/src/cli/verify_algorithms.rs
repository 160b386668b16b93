//! `verify-algorithms` as typed.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Options of `verify-algorithms`.
#[derive(Debug, Args)]
pub struct VerifyAlgorithms {
    /// Rows by id, such as bcast.binomial, or all rows of a collective, such as bcast (default: all of the plugin). An id may
    /// carry values of its parameters, such as bcast.pipelined_chain@8192.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Numbers of ranks; each is a job of its own.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "1,2,3,4,5,7,8"
    )]
    pub ranks: Vec<usize>,
    /// The plugin (default: Kilter's own, libkilter_collectives.so).
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Only this case, as a failure names it; all parts that are left out have a default.
    #[arg(long, value_name = "CASE")]
    pub case: Option<String>,
    /// A second's worth of the matrix, which is what `tune` runs.
    #[arg(long)]
    pub reduced: bool,
    /// The launcher of the MPI library to verify on.
    #[arg(long, value_name = "PATH", env = "KILTER_MPIRUN", default_value = "mpirun")]
    pub mpirun: PathBuf,
    /// Hosts to run on, in the launcher's own format.
    #[arg(long, value_name = "FILE", env = "KILTER_HOSTFILE")]
    pub hostfile: Option<PathBuf>,
    /// Program that starts the launcher's daemons on other hosts, instead of ssh.
    #[arg(long, value_name = "PATH", env = "KILTER_LAUNCH_AGENT")]
    pub launch_agent: Option<PathBuf>,
    /// How ranks are started inside an allocation of a batch system, as for `check`.
    #[arg(long, value_name = "NAME", env = "KILTER_LAUNCHER")]
    pub launcher: Option<String>,
    /// The process management interface that the launcher offers to the library, as for `check`.
    #[arg(long, value_name = "NAME", env = "KILTER_PMI", requires = "launcher")]
    pub pmi: Option<String>,
    /// A parameter of the library that every launch needs on this site. Repeatable; in the variable separated by `;`.
    #[arg(long = "mca", value_name = "NAME=VALUE", env = "KILTER_MCA", value_delimiter = ';')]
    pub mca: Vec<String>,
    /// An environment variable that every rank needs on this site. Repeatable; in the variable separated by `;`.
    #[arg(long = "env", value_name = "NAME=VALUE", env = "KILTER_ENV", value_delimiter = ';')]
    pub environment: Vec<String>,
    /// Directory of everything that is written.
    #[arg(long, value_name = "DIR", default_value = "kilter-out")]
    pub out: PathBuf,
    /// Database (default: kilter.db in the output directory).
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
    /// Seconds after which a row that has not finished a case counts as hung.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    pub stall_timeout: f64,
    /// Directory of kilter-verify, kilter-worker and libkilter_collectives.so (default: as for `check`).
    #[arg(long, value_name = "DIR", env = "KILTER_LIBEXEC")]
    pub libexec: Option<PathBuf>,
}
