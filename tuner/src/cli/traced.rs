//! A command whose ranks load the tracer, as typed: for `profile` and `trace`.

use std::path::PathBuf;

use clap::Args;

/// The command, and the library of its ranks.
#[derive(Debug, Args)]
pub struct Traced {
    /// Launcher of the MPI library, if the command names none itself, or that of another library.
    #[arg(long, value_name = "PATH", env = "KILTER_MPIRUN")]
    pub mpirun: Option<PathBuf>,
    /// Directory of Kilter's programs and libraries; by default as for `check`.
    #[arg(long, value_name = "DIR", env = "KILTER_LIBEXEC")]
    pub libexec: Option<PathBuf>,
    /// The command, after `--`: a launcher with its options and the program.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
