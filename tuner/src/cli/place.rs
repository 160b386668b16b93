//! Where files are installed, and whether they are: of `apply` and of `rollback`.

use std::path::PathBuf;

use clap::Args;

/// Where files are installed, and whether it is done.
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
    /// Show the changes and make none.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
}
