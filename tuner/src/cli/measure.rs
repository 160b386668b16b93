//! What every measuring command can be told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kilter_search::verification::REPETITIONS;

use super::Job;

/// Options of every measuring command.
#[derive(Debug, Clone, Args)]
pub struct Measure {
    /// The library and its launcher, and where everything is written.
    #[command(flatten)]
    pub job: Job,
    /// Number of ranks.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2)]
    pub ranks: usize,
    /// Simulated machine, with `smpirun`: a name such as ib-32x1, or a file like those in configs/platforms. Simulated times are exact:
    /// one launch of one repetition is made, whatever --launches and the options of repetitions say.
    #[arg(long, value_name = "NAME", env = "KILTER_PLATFORM", conflicts_with = "hostfile")]
    pub platform: Option<String>,
    /// Ranks that wait for a repetition to start spin or sleep.
    #[arg(long, value_enum, env = "KILTER_WAIT", default_value_t = WaitChoice::Auto)]
    pub wait: WaitChoice,
    /// Ranks start a repetition together by this method. A barrier under-reports.
    #[arg(long, value_enum, env = "KILTER_SYNC", default_value_t = SyncChoice::Auto)]
    pub sync: SyncChoice,
    /// Caches at the start of a repetition: warm or swept.
    #[arg(long, value_enum, default_value_t = CacheChoice::Warm)]
    pub cache: CacheChoice,
    /// Rule for the number of repetitions. `variance` derives it from the screening's variances and costs. Methods (rse=T,
    /// cov-mean=T/WINDOW, cov-median=T/WINDOW) predict the number after which all of them hold. `none` makes --max-repetitions.
    #[arg(long, value_name = "METHODS", default_value = "variance")]
    pub repetitions: String,
    /// Least repetitions of an item in a launch (default: 3 with `variance`, else 8).
    #[arg(long, value_name = "N")]
    pub min_repetitions: Option<u32>,
    /// Most repetitions of an item in a launch.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub max_repetitions: u32,
    /// Repetitions between two checks whether there are enough.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repetition_step: u32,
    /// Most seconds for the repetitions of an item in a launch. Slow items get fewer repetitions.
    #[arg(long, value_name = "SECONDS", default_value_t = REPETITIONS.seconds)]
    pub repetition_seconds: f64,
    /// Total volumes n in bytes: a list such as 1,4K,1MiB, a range of powers of two such as 1..1M, or of powers of four such as
    /// 1..1M:x4. K, M and G (in either case), as well as KiB, MiB and GiB, are powers of 1024.
    #[arg(long, value_name = "SIZES", default_value = "1..1MiB:x4")]
    pub sizes: String,
    /// Guidelines by id, family, or the beginning of an id, such as GL8,III,TGT35* (default: all).
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub guidelines: Vec<String>,
    /// A site's own guideline file (TOML). Repeatable.
    #[arg(long, value_name = "FILE")]
    pub guideline_file: Vec<PathBuf>,
    /// Only guidelines whose left side is one of these functions, such as reduce,gather,isend (default: all).
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub functions: Vec<String>,
    /// Call mix of an application (TOML, see configs/mixes/example.toml): function, volume, number of calls, ranks of the communicator.
    /// Nothing else is measured, and cells weigh by the time that the application would save. A range of volumes stands for the
    /// --sizes within it.
    #[arg(long, value_name = "FILE")]
    pub mix: Option<PathBuf>,
    /// Make all launches of all cells, and judge once, at their end.
    #[arg(long)]
    pub fixed: bool,
    /// Root of rooted collectives: a rank, or rotating for each rank in turn.
    #[arg(long, value_name = "RANK", default_value = "0")]
    pub root: String,
    /// Elements that are moved and combined: bytes by a bitwise OR, numbers by a sum.
    #[arg(long = "type", value_enum, value_name = "TYPE", default_value_t = ElementChoice::Byte)]
    pub element: ElementChoice,
    /// Most launches per verification (R). Cells that are decided earlier get fewer. The default is 20, and up to 60 on a machine that
    /// the screening finds so noisy that 20 would miss slowdowns by 30 %.
    #[arg(long, value_name = "R")]
    pub launches: Option<usize>,
    /// Judge the mean of each batch job's launches, not single launches. A command that was cut off goes on in the next job, on other
    /// nodes. Without this option, jobs are judged so only if their launches resemble each other.
    #[arg(long)]
    pub allocations: bool,
    /// Wall-clock seconds for the whole command, starts of jobs and checks included.
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    pub budget: f64,
    /// Begin anew instead of resuming an interrupted run of the same command. Its samples stay in the database, unused.
    #[arg(long)]
    pub fresh: bool,
    /// Print what would be measured and how the budget is divided; launch nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Seed of all random orders (default: drawn, and reported).
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Significance level after correction for all tests of the run.
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    pub alpha: f64,
    /// Statistical test of "the left side is slower". The default pairs both sides launch by launch.
    #[arg(long, value_enum, value_name = "TEST", default_value_t = TestChoice::Pairs)]
    pub test: TestChoice,
    /// Correction for multiple tests over the run.
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = CorrectionChoice::Holm)]
    pub correction: CorrectionChoice,
    /// Smallest slowdown that counts, as a fraction.
    #[arg(long, value_name = "FRACTION", default_value_t = 0.05)]
    pub effect_floor: f64,
}

/// Tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestChoice {
    /// Signed ranks of the ratios within launches, or the unpaired test, at half the level each. Sides may share their noise or not.
    Pairs,
    /// Rank sum and trimmed Welch test; both must reject. Assumes independent sides; spreads may differ.
    Unpaired,
    /// Signed ranks of the ratios within launches. Sides may share anything; n launches reach a p-value of 2^-n.
    SignedRank,
    /// Wilcoxon's rank sum. Assumes independent sides of equal spread.
    RankSum,
    /// Brunner-Munzel, permuted. Assumes independent sides; spreads may differ. For a few cells.
    BrunnerMunzel,
    /// Kolmogorov-Smirnov. Assumes independent sides; sees differences of shape, too.
    #[value(alias = "ks")]
    KolmogorovSmirnov,
}

/// Corrections for multiple tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CorrectionChoice {
    /// Holm: bounds the probability of one or more false violations.
    Holm,
    /// Benjamini-Hochberg: bounds the expected share of false ones among the violations.
    Bh,
}

/// Types of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ElementChoice {
    /// MPI_BYTE.
    Byte,
    /// MPI_INT.
    Int,
    /// MPI_FLOAT.
    Float,
    /// MPI_DOUBLE.
    Double,
}

/// How ranks wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WaitChoice {
    /// Spin if the ranks fit the cores of this host, else sleep.
    Auto,
    /// Spin.
    Spin,
    /// Sleep.
    Sleep,
}

/// How ranks start together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SyncChoice {
    /// The shared clock where there is one, else the round time.
    Auto,
    /// All ranks read one clock.
    SharedClock,
    /// Every rank learns rank 0's clock by messages and translates.
    RoundTime,
    /// Ranks leave a barrier and take local times.
    Barrier,
}

/// What the caches hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheChoice {
    /// The buffers of the repetition before are in them, as far as they fit.
    Warm,
    /// Twice the last-level cache is swept before each repetition.
    Cold,
}
