//! `report` as typed.

use std::path::PathBuf;

use clap::Args;

/// Options of `report`.
#[derive(Debug, Args)]
pub struct Render {
    /// A report.json.
    pub file: PathBuf,
    /// Where to write the HTML (default: the text goes to standard output; with -v tables of any length).
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
