//! `detect` as typed.

use std::path::PathBuf;

use clap::{Arg, Args, ValueEnum};

use super::{Measure, Output};

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
    pub measure: Measure<DetectFormat>,
    /// Write to this file instead of standard output.
    #[arg(short = 'o', long, help_heading = super::OUTPUT, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Formats of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DetectFormat {
    /// A few lines for each.
    Text,
    /// JSON for programs.
    Json,
    /// A page by itself with a picture of each.
    Html,
}

impl Output for DetectFormat {
    fn is_json(self) -> bool {
        self == DetectFormat::Json
    }
}

/// Gives the options of the measurement their meaning for `detect`, and hides those that have none there.
fn for_detect(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "budget" => option.default_value("60"),
        "ranks" => option.help("Number of MPI ranks in a job: that of the trace, which is the default"),
        // What a trace's data was says how it is combined; everything else is bytes.
        "element" => option.default_value("byte").hide(true),
        "sizes" | "guidelines" | "guideline_file" | "functions" | "mix" | "profile" | "platform" | "fixed" | "root"
        | "allocations" | "dry_run" => option.hide(true),
        _ => option,
    }
}
