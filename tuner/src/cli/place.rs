//! Options of `apply` and `rollback`: the place of the files, and consent.

use std::path::PathBuf;

use clap::Args;

/// Place of the files, and consent to the changes.
#[derive(Debug, Args)]
pub struct Place {
    /// Install for you, in your home directory (default).
    #[arg(long, conflicts_with_all = ["system", "prefix"])]
    pub user: bool,
    /// Install for everybody: the library's site file, and /usr/local/share/kilter.
    #[arg(long, conflicts_with = "prefix")]
    pub system: bool,
    /// Install below this directory only. Its module files carry the parameters as well, unless it is the library's own prefix.
    #[arg(long, value_name = "PATH")]
    pub prefix: Option<PathBuf>,
    /// With --system: install into a system image whose root is this directory. Paths inside the files are those of the running image.
    #[arg(long, value_name = "DIR", requires = "system")]
    pub root: Option<PathBuf>,
    /// Show the changes without making any.
    #[arg(long)]
    pub dry_run: bool,
    /// Make the changes without asking.
    #[arg(short, long)]
    pub yes: bool,
}
