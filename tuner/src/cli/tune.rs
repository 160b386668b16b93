//! `tune` as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Measure, ModelChoice};

/// Options of `tune`.
#[derive(Debug, Clone, Args)]
pub struct Tune {
    /// Use only this kind of fix.
    #[arg(long, help_heading = super::FIXES, value_enum, value_name = "KIND")]
    pub only: Option<Only>,
    /// Plugin whose algorithms compete with the rest. Each must pass the correctness matrix here first. Repeatable.
    #[arg(long = "plugin", help_heading = super::FIXES, value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Functions that no fix may touch, such as reduce,isend. They are verified, and their violations stay. Settings that act on all
    /// functions alike, such as eager limits, may still be taken if they slow none.
    #[arg(long, help_heading = super::FIXES, value_name = "NAMES", value_delimiter = ',')]
    pub leave: Vec<String>,
    /// Take only fixes whose results equal the default's bit by bit, on all ranks and from call to call. The search then combines random
    /// doubles as well, at each measured size and at the ends of the range that it stands for.
    #[arg(long, help_heading = super::FIXES)]
    pub reproducible: bool,
    /// Leave out algorithms of the library that give wrong results for operators that do not commute. Where the library does not look at the operator
    /// when a rule names the algorithm, they are right for all others alone. Kilter's own algorithms look in each call.
    #[arg(long, help_heading = super::FIXES)]
    pub any_operator: bool,
    /// Most scratch memory that an algorithm or a mock-up may keep on a rank for a communicator, such as 16M. An algorithm that needs more
    /// for a cell's size is no candidate there.
    #[arg(long, help_heading = super::FIXES, value_name = "SIZE")]
    pub scratch_limit: Option<String>,
    /// Name runners-up in the drop-in's profile: Kilter's algorithms, mock-ups and rows of --plugin that measuring did not tell from what is chosen, or
    /// that were faster than the library where nothing is chosen. Each passes the correctness matrix first. Jobs try them with KILTER_ONLINE=1
    /// alone.
    #[arg(long, help_heading = super::FIXES, conflicts_with = "reproducible")]
    pub online: bool,
    /// Search the fastest choice for this collective and size even if it breaks no guideline, such as reduce@512K. Repeatable.
    #[arg(long, help_heading = super::FIXES, value_name = "FUNCTION@SIZE")]
    pub contest: Vec<String>,
    /// What to reach: every call that can become faster does and no guideline is broken, or as few calls as possible change so that none is broken.
    #[arg(long, help_heading = super::FIXES, value_enum, value_name = "GOAL", default_value_t = Goal::Fastest)]
    pub goal: Goal,
    /// Most rounds of search and verification. The budget ends them, too, and so does a round that finds nothing more to deploy.
    #[arg(long, help_heading = super::FIXES, value_name = "N", default_value_t = 10)]
    pub rounds: usize,
    /// Overlap targets to meet as well: ids, or all; see `kilter list targets`.
    #[arg(long, help_heading = super::TARGETS, value_name = "ID,...", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// File with a further overlap target. Repeatable.
    #[arg(long, help_heading = super::TARGETS, value_name = "FILE")]
    pub target_file: Vec<PathBuf>,
    /// Model of the computation of overlap targets: a fixed amount of work, or spinning on the clock. A spin does not notice the cycles
    /// that a progress thread, or another program, takes.
    #[arg(long, help_heading = super::TARGETS, value_enum, value_name = "MODEL", default_value_t = ModelChoice::Fixed)]
    pub model: ModelChoice,
    /// Options of the measurement.
    #[command(flatten)]
    pub measure: Measure,
    /// Layouts to tune in one go, as nodes x ranks per node, such as 8x1,8x16, or 2,4 for ranks of one node. Inside an allocation of several
    /// nodes, one rank on each node and one on each CPU, as the batch system counts them, are the default. `auto` chooses by --budget: the ends of
    /// the machine, a layout between them, and then those whose decisions are least certain. Each layout has its report in DIR/NxP and an equal
    /// share of --budget. DIR/emit holds the settings of all layouts.
    #[arg(long, help_heading = super::JOB, value_name = "NxP,...", conflicts_with = "ranks")]
    pub layouts: Option<String>,
    /// Arrival patterns in which no fix may be slower than the default: none, late-one (the last rank, or late-one@RANK), linear, random, or
    /// a file of seconds by rank (text, JSON, or a profile made by `kilter profile`). The last rank comes as much later than the first as
    /// the call takes, or a multiple of that, such as random:x2. All ranks together (none) are always measured.
    #[arg(long, help_heading = super::FIXES, value_name = "PATTERNS", value_delimiter = ',', default_value = "none,random")]
    pub arrival: Vec<String>,
    /// Tune the machine of this allocation, or of --hostfile: as --layouts auto, with as many sizes and functions as --budget has room for, unless
    /// --sizes, --functions, --guidelines or a mix of calls says which. Given again in further allocations, it goes on where it was. The plan is shown
    /// first; --dry-run shows it alone.
    #[arg(long, help_heading = super::JOB, conflicts_with_all = ["ranks", "layouts", "platform"])]
    pub whole_machine: bool,
}

/// What to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    /// Every call that can become faster, and no guideline is broken.
    Fastest,
    /// The smallest deployment under which no guideline is broken.
    Smallest,
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
