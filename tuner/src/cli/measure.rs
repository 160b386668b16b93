//! What every measuring command can be told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Job;
use crate::verification::REPETITIONS;

/// Options of every measuring command.
#[derive(Debug, Clone, Args)]
pub struct Measure {
    /// The library and its launcher, and where everything is written.
    #[command(flatten)]
    pub job: Job,
    /// Number of ranks.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2)]
    pub ranks: usize,
    /// Simulated machine, for a library that is a simulator (`smpirun`): a name such as ib-32x1, or a file like those in
    /// configs/platforms. Its times are exact: one launch of one repetition, whatever --launches and the options of repetitions say.
    #[arg(long, value_name = "NAME", env = "KILTER_PLATFORM", conflicts_with = "hostfile")]
    pub platform: Option<String>,
    /// How ranks wait for the start of a repetition: spin where each has a core, sleep where they share cores.
    #[arg(long, value_enum, env = "KILTER_WAIT", default_value_t = WaitChoice::Auto)]
    pub wait: WaitChoice,
    /// How ranks start a repetition together: on one clock, on clocks that were made one, or after a barrier, which under-reports.
    #[arg(long, value_enum, env = "KILTER_SYNC", default_value_t = SyncChoice::Auto)]
    pub sync: SyncChoice,
    /// What the caches hold when a repetition starts: the buffers of the one before, or nothing of them.
    #[arg(long, value_enum, default_value_t = CacheChoice::Warm)]
    pub cache: CacheChoice,
    /// How the number of repetitions is found: `variance`, from the variance components and costs that the screening sees; or predicted three
    /// times, as the number after which all methods named hold: rse=T, cov-mean=T/WINDOW, cov-median=T/WINDOW; or none.
    #[arg(long, value_name = "METHODS", default_value = "variance")]
    pub repetitions: String,
    /// Repetitions of an item in a launch at least (default: 3 where they follow from the variance, else 8).
    #[arg(long, value_name = "N")]
    pub min_repetitions: Option<u32>,
    /// Repetitions of an item in a launch at most.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub max_repetitions: u32,
    /// Repetitions between two looks whether they are enough.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repetition_step: u32,
    /// Seconds that the repetitions of an item may take in a launch; what is slow gets fewer.
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
    /// Only what an application calls, from a file (TOML) that lists function, volume, how often and size of the communicator, as
    /// configs/mixes/example.toml shows: nothing else is measured, and what saves it more time counts for more. A range of volumes
    /// stands for the sizes of --sizes within it.
    #[arg(long, value_name = "FILE")]
    pub mix: Option<PathBuf>,
    /// Make all launches of all cells and judge once at their end, whatever could have been decided earlier.
    #[arg(long)]
    pub fixed: bool,
    /// Root of rooted collectives: a rank, or rotating for each rank in turn.
    #[arg(long, value_name = "RANK", default_value = "0")]
    pub root: String,
    /// Elements that are moved and combined: bytes by a bitwise OR, numbers by a sum.
    #[arg(long = "type", value_enum, value_name = "TYPE", default_value_t = ElementChoice::Byte)]
    pub element: ElementChoice,
    /// Launches per verification (R) at most: cells that are decided earlier get fewer. By default 20, and up to 60 where the screening finds
    /// the machine so noisy that 20 would miss slowdowns by 30 %.
    #[arg(long, value_name = "R")]
    pub launches: Option<usize>,
    /// Judge the means of each batch job's launches, not single launches: a command that was cut off goes on in the next job, on other
    /// nodes. Without it, jobs are judged so where their launches are found to resemble each other.
    #[arg(long)]
    pub allocations: bool,
    /// Seconds of the clock on the wall for the whole command: starts of jobs and checks included, whatever else the machine does.
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    pub budget: f64,
    /// Begins anew, where the same command was interrupted before: what that measured stays in the database and is not used.
    #[arg(long)]
    pub fresh: bool,
    /// Says what would be measured and how the budget is divided, and launches nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Seed of every order (default: drawn, and reported).
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Significance level after correction for all tests of the run.
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    pub alpha: f64,
    /// Test of "the left side is slower": the default pairs both sides launch by launch; --help says what each test assumes.
    #[arg(long, value_enum, value_name = "TEST", default_value_t = TestChoice::Pairs)]
    pub test: TestChoice,
    /// Correction for all tests of the run: of the chance of any false violation, or of their expected share.
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = CorrectionChoice::Holm)]
    pub correction: CorrectionChoice,
    /// Smallest slowdown that counts, as a fraction.
    #[arg(long, value_name = "FRACTION", default_value_t = 0.05)]
    pub effect_floor: f64,
}

/// Tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestChoice {
    /// Signed ranks of the ratios within launches, or the unpaired test, half of the level each: sides may share their noise or not.
    Pairs,
    /// Rank sum and trimmed Welch test, both must reject: independent sides, spreads may differ.
    Unpaired,
    /// Signed ranks of the ratios within launches: sides may share anything; n launches reach 2^-n.
    SignedRank,
    /// Wilcoxon's rank sum: independent sides of equal spread.
    RankSum,
    /// Brunner's and Munzel's, permuted: independent sides, spreads may differ, a few cells.
    BrunnerMunzel,
    /// Kolmogorov's and Smirnov's: independent sides; sees differences of shape too.
    #[value(alias = "ks")]
    KolmogorovSmirnov,
}

/// Corrections for multiple tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CorrectionChoice {
    /// Holm's: the probability of one or more false violations.
    Holm,
    /// Benjamini's and Hochberg's: the expected share of false ones among the violations.
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
    /// Every rank learns rank 0's clock by messages.
    RoundTime,
    /// A barrier and local times.
    Barrier,
}

/// What the caches hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheChoice {
    /// The user's buffers.
    Warm,
    /// Other memory: twice the last-level cache is swept before each repetition.
    Cold,
}
