//! `import` as typed.

use std::path::PathBuf;

use clap::Args;

/// Options of `import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Directory where jobs keep what they learnt (their KILTER_ONLINE_DIR), or one file of it.
    #[arg(long, value_name = "PATH")]
    pub online: PathBuf,
    /// The database (default: kilter-out/kilter.db if it is there, else ~/.local/share/kilter/kilter.db, or below XDG_DATA_HOME).
    #[arg(long, value_name = "FILE", env = "KILTER_DB")]
    pub db: Option<PathBuf>,
}
