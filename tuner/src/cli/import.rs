//! `import` as typed.

use std::path::PathBuf;

use clap::Args;

/// Options of `import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Directory where jobs keep what they learnt (their KILTER_ONLINE_DIR), or one file of it.
    #[arg(long, value_name = "PATH")]
    pub online: PathBuf,
    /// The database.
    #[arg(long, value_name = "FILE", default_value = "kilter-out/kilter.db")]
    pub db: PathBuf,
}
