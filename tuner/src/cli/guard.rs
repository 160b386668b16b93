//! `guard` as typed.

use std::path::PathBuf;

use clap::{Arg, Args};

use super::Measure;

/// Options of `guard`.
#[derive(Debug, Args)]
#[command(mut_args(for_guard))]
pub struct Guard {
    /// Accept what is found: later nights are compared with this one. The first night in a database is always accepted.
    #[arg(long)]
    pub accept: bool,
    /// Measure pairs of hosts as well, by a rank of each, and name hosts that are slower than the others. Takes four hosts or more.
    #[arg(long)]
    pub per_node: bool,
    /// Write the results as tests in JUnit's form, too.
    #[arg(long, help_heading = super::OUTPUT, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the results as a page by itself, too: what changed, times beside the accepted ones, and with --per-node the map of hosts.
    #[arg(long, help_heading = super::OUTPUT, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Same as --format json.
    #[arg(long, help_heading = super::OUTPUT)]
    pub json: bool,
    /// Write files that call this command every night into the directory, and measure nothing: a script, a service and a timer for systemd, a line
    /// for Slurm's `scrontab`, a check for ReFrame.
    #[arg(long, help_heading = super::OUTPUT, value_name = "DIR")]
    pub install_hints: Option<PathBuf>,
    /// Options of the measurement.
    #[command(flatten)]
    pub measure: Measure,
}

/// Gives the options of the measurement their meaning for `guard`, and hides those that have none there.
fn for_guard(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "budget" => option.default_value("300"),
        "launches" => option.help("Launches of all watched calls in a night, four times as many when they are accepted (default: 5). What seems slower gets 15 more"),
        "alpha" => option.help("Probability of even one false alarm of a time in ten nights in which nothing changed"),
        "effect_floor" => option
            .default_value("0.1")
            .help("Smallest slowdown that counts, as a fraction. Calls whose nights differ more count from three times that spread"),
        "mix" => option.help("Call mix of an application: the calls that it makes most are watched as well"),
        "profile" => option.help("Profile of an application, made by `kilter profile`: the calls that it makes most are watched as well"),
        "sizes" | "guidelines" | "guideline_file" | "functions" | "platform" | "fixed" | "root" | "element"
        | "allocations" | "dry_run" | "fresh" | "retry_quarantined" | "test" | "correction" | "repetitions"
        | "min_repetitions" | "max_repetitions" | "repetition_step" | "repetition_seconds" | "cache" => option.hide(true),
        _ => option,
    }
}
