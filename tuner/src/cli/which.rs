//! `which` as typed.

use clap::{Arg, Args};

use super::Measure;

/// Options of `which`.
#[derive(Debug, Args)]
#[command(mut_args(for_which))]
pub struct Which {
    /// Calls as FUNCTION@SIZE, such as reduce@4096, bcast@1..1MiB:x4 or barrier; sizes as in --sizes of `kilter check`. They are made on -n ranks.
    #[arg(
        value_name = "CALLS",
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    pub calls: Vec<String>,
    /// A launcher with its options and a program, after `--`: the calls that the program makes are answered, the ones with most seconds first.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Options of the jobs.
    #[command(flatten)]
    pub measure: Measure,
}

/// Gives the options of the jobs their meaning for `which`, and hides those that have none there.
fn for_which(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "budget" => option
            .default_value("300")
            .help("Wall-clock seconds for the jobs. A program's own run comes on top; calls that are left without an answer are counted"),
        // A program's calls have any number of bytes.
        "element" => option.default_value("byte"),
        "ranks" => option.help("Number of MPI ranks of the calls (default: 2, or those of the allocation; with a command those of its communicators)"),
        "sizes" | "guidelines" | "guideline_file" | "functions" | "mix" | "profile" | "platform" | "fixed" | "allocations" | "dry_run" | "fresh"
        | "launches" | "alpha" | "effect_floor" | "test" | "correction" | "repetitions" | "min_repetitions" | "max_repetitions"
        | "repetition_step" | "repetition_seconds" | "cache" | "wait" | "sync" | "seed" => option.hide(true),
        _ => option,
    }
}
