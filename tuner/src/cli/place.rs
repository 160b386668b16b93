//! Where files are installed, and whether they are: of `apply` and of `rollback`.

use std::path::PathBuf;

use clap::Args;

/// Where files are installed, and whether it is done.
#[derive(Debug, Args)]
pub struct Place {
    /// For you, in your home directory (default).
    #[arg(long, conflicts_with_all = ["system", "prefix"])]
    pub user: bool,
    /// For everybody: the library's site file, and /usr/local/share/kilter.
    #[arg(long, conflicts_with = "prefix")]
    pub system: bool,
    /// Below this directory only; its module files carry the parameters, too, unless it is the library's own prefix.
    #[arg(long, value_name = "PATH")]
    pub prefix: Option<PathBuf>,
    /// With --system: the directory that will be the root of the system, such as an image's; files go below it and name what they will
    /// name then.
    #[arg(long, value_name = "DIR", requires = "system")]
    pub root: Option<PathBuf>,
    /// Show what would be changed, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
}
