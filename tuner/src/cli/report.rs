//! `report` as typed.

use std::path::PathBuf;

use clap::Args;

/// Options of `report`.
#[derive(Debug, Args)]
pub struct Render {
    /// A report.json.
    pub file: PathBuf,
    /// Write the HTML page to this file. Without it, the text goes to standard output; -v prints tables of any length.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
