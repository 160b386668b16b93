//! `generate` as typed.

use std::path::PathBuf;

use clap::Args;

/// Options of `generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// The prefix, such as /usr/local.
    #[arg(value_name = "DIR")]
    pub prefix: PathBuf,
}
