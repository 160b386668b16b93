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
    /// For whom.
    #[command(flatten)]
    pub place: Place,
    /// Put lines of the site or the user aside that set the same parameters to something else; `rollback` brings them back.
    #[arg(long = "override")]
    pub put_aside: bool,
    /// Install although the library of --mpirun is another version than was tuned, or cannot be asked.
    #[arg(long)]
    pub other_version: bool,
    /// The launcher of the library: its version must be the one that was tuned, and beside it are the library's other programs.
    #[arg(long, value_name = "PATH", env = "KILTER_MPIRUN", default_value = "mpirun")]
    pub mpirun: PathBuf,
}
