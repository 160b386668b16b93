//! `tune` as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Measure, ModelChoice};

/// Options of `tune`.
#[derive(Debug, Args)]
pub struct Tune {
    /// Measuring.
    #[command(flatten)]
    pub measure: Measure,
    /// Layouts to tune in one go, nodes by ranks per node: 8x1,8x16, or 2,4 for ranks of one node; in a Slurm allocation auto, which is
    /// a rank on each node and one on each CPU (as Slurm counts). Each has its report in DIR/NxP and an equal share of --budget; DIR/emit holds the
    /// settings of all.
    #[arg(long, value_name = "NxP,...", conflicts_with = "ranks")]
    pub layouts: Option<String>,
    /// Use only this kind of fix.
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<Only>,
    /// A plugin whose algorithms compete with the rest, each only after it has passed the correctness matrix here. Repeatable.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Functions that no fix may touch, such as reduce,isend: they are verified, and what is violated of them stays. Settings that act
    /// on all functions alike, such as eager limits, are not meant: they are not taken where they slow any.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub leave: Vec<String>,
    /// Take only what leaves the default's results bit by bit on all ranks, and from call to call: algorithms and settings, the library's own
    /// included. The launches of the search then add random doubles as well, at each measured size and the ends of the range that it stands for.
    #[arg(long)]
    pub reproducible: bool,
    /// Scratch that an algorithm or a mock-up may keep on a rank for a communicator, such as 16MiB: who needs more for the size of a
    /// cell is no candidate there.
    #[arg(long, value_name = "SIZE")]
    pub scratch_limit: Option<String>,
    /// Put this collective at this size through the contest even if it breaks no guideline, such as reduce@512KiB. Repeatable.
    #[arg(long, value_name = "FUNCTION@SIZE")]
    pub contest: Vec<String>,
    /// Rounds of search and verification at most.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub rounds: usize,
    /// Overlap targets to meet as well: ids, or all; see `kilter list targets`.
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// A file with a further overlap target. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub target_file: Vec<PathBuf>,
    /// What computing is where targets are measured: a fixed amount of work, or spinning until the clock says so, which does not notice
    /// the cycles that a progress thread, or somebody else on the machine, takes.
    #[arg(long, value_enum, value_name = "MODEL", default_value_t = ModelChoice::Fixed)]
    pub model: ModelChoice,
}

/// Kinds of fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Parameters of the library and its environment.
    Parameters,
    /// Kilter's algorithms and mock-ups, through the drop-in.
    Algorithms,
    /// Mock-ups alone, through the drop-in.
    Mockups,
    /// The algorithms of --plugin alone, through the drop-in.
    Plugins,
}
