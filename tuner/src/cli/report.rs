//! `report` as typed.

use std::path::PathBuf;

use clap::Args;

/// Options of `report`.
#[derive(Debug, Args)]
pub struct Render {
    /// A report.json, DATABASE:RUN, or :RUN for a run of --db, such as :3.
    #[arg(value_name = "RUN", default_value = ":last")]
    pub file: PathBuf,
    /// The database of :RUN (default: kilter-out/kilter.db if it is there, else ~/.local/share/kilter/kilter.db, or below XDG_DATA_HOME).
    #[arg(long, value_name = "FILE", env = "KILTER_DB")]
    pub db: Option<PathBuf>,
    /// Write the HTML page to this file. Without it, the text goes to standard output; -v prints tables of any length.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
