//! `apply` as typed.

use std::path::PathBuf;

use clap::Args;

use super::Place;

/// Options of `apply`.
#[derive(Debug, Args)]
pub struct Apply {
    /// The directory of emitted files, such as kilter-out/emit.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Place of installation.
    #[command(flatten)]
    pub place: Place,
    /// Move lines aside in which the site or the user sets the same parameters to other values; `rollback` restores them.
    #[arg(long = "override")]
    pub put_aside: bool,
    /// Install even if the library of --mpirun has another version than the one that was tuned, or cannot be asked.
    #[arg(long)]
    pub other_version: bool,
    /// Launcher of the library. Its version must be the one that was tuned. The library's other programs lie beside it.
    #[arg(long, value_name = "PATH", env = "KILTER_MPIRUN", default_value = "mpirun")]
    pub mpirun: PathBuf,
}
