//! `detect` as typed.

use std::path::PathBuf;

use clap::Args;

/// Options of `detect`.
#[derive(Debug, Args)]
pub struct Detect {
    /// A trace that `kilter trace` made.
    #[arg(value_name = "DIR", default_value = "kilter-trace")]
    pub directory: PathBuf,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = super::Format::Text)]
    pub format: super::Format,
}
