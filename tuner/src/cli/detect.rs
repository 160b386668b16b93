//! `detect` as typed.

use std::path::PathBuf;

use clap::{Arg, Args};

use super::Measure;

/// Options of `detect`.
#[derive(Debug, Args)]
#[command(mut_args(for_detect))]
pub struct Detect {
    /// A trace that `kilter trace` made.
    #[arg(value_name = "DIR", default_value = "kilter-trace")]
    pub directory: PathBuf,
    /// Measure the messages of each finding beside the collectives that would replace them, in jobs of as many ranks as the trace has.
    #[arg(long = "measure")]
    pub is_measured: bool,
    /// Options of the measurement.
    #[command(flatten)]
    pub measure: Measure,
}

/// Gives the options of the measurement their meaning for `detect`, and hides those that have none there.
fn for_detect(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "budget" => option.default_value("60"),
        "ranks" => option.help("Number of MPI ranks in a job: that of the trace, which is the default"),
        "sizes" | "guidelines" | "guideline_file" | "functions" | "mix" | "profile" | "platform" | "fixed" | "root"
        | "element" | "allocations" | "dry_run" => option.hide(true),
        _ => option,
    }
}
