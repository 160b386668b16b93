//! Options of every measuring command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kilter_search::verification::REPETITIONS;

use super::{Format, Job, Output};

/// Volumes where nobody says which.
pub const DEFAULT_SIZES: &str = "1..1MiB:x4";

/// Options of every measuring command.
#[derive(Debug, Clone, Args)]
pub struct Measure<F: Output = Format> {
    /// The library, its launcher, and the places of results.
    #[command(flatten)]
    pub job: Job<F>,
    /// Number of MPI ranks in a job (default: 2; with --profile that of the communicators in which the program spends most time).
    #[arg(short = 'n', long, help_heading = super::JOB, value_name = "N")]
    pub ranks: Option<usize>,
    /// Simulated machine, with `smpirun`: a name such as ib-32x1, or a file like those in configs/platforms. Simulated times are exact:
    /// one launch of one repetition is made, whatever --launches and the options of repetitions say.
    #[arg(long, help_heading = super::JOB, value_name = "NAME", env = "KILTER_PLATFORM", conflicts_with = "hostfile")]
    pub platform: Option<String>,
    /// Total volumes n in bytes: a list such as 1,4K,1MiB, a range of powers of two such as 1..1M, or of powers of four such as
    /// 1..1M:x4. K, M and G (in either case), as well as KiB, MiB and GiB, are powers of 1024.
    #[arg(long, help_heading = super::SCOPE, value_name = "SIZES", default_value = DEFAULT_SIZES)]
    pub sizes: String,
    /// Guidelines by id, family, or the beginning of an id, such as GL8,III,TGT35* (default: all).
    #[arg(long, help_heading = super::SCOPE, value_name = "IDS", value_delimiter = ',')]
    pub guidelines: Vec<String>,
    /// A site's own guideline file (TOML). Repeatable.
    #[arg(long, help_heading = super::SCOPE, value_name = "FILE")]
    pub guideline_file: Vec<PathBuf>,
    /// Verify only guidelines whose left side is one of these functions, such as reduce,gather,isend (default: all).
    #[arg(long, help_heading = super::SCOPE, value_name = "NAMES", value_delimiter = ',')]
    pub functions: Vec<String>,
    /// Call mix of an application (TOML, see configs/mixes/example.toml): function, volume, number of calls, ranks of the communicator.
    /// Only these calls are measured, and cells weigh by the time that the application would save. A range of volumes stands for
    /// the --sizes within it.
    #[arg(long, help_heading = super::SCOPE, value_name = "FILE")]
    pub mix: Option<PathBuf>,
    /// Profile of an application, made by `kilter profile`: as --mix with the calls of that run. `tune` then tunes the layouts of its
    /// communicators, unless --ranks or --layouts says otherwise, and the report says how much of the run time should be saved.
    #[arg(long, help_heading = super::SCOPE, value_name = "FILE", conflicts_with = "mix")]
    pub profile: Option<PathBuf>,
    /// Root of rooted collectives: a rank, or `rotating` for each rank in turn.
    #[arg(long, help_heading = super::SCOPE, value_name = "RANK", default_value = "0")]
    pub root: String,
    /// Elements that are combined: bytes by a bitwise OR, numbers by a sum. Data that is only moved is counted in bytes.
    #[arg(long = "type", help_heading = super::SCOPE, value_enum, value_name = "TYPE", default_value_t = ElementChoice::Double)]
    pub element: ElementChoice,
    /// Wall-clock time for the whole command, including starts of jobs and checks: seconds, or with a unit, such as 90m or 4h.
    #[arg(long, help_heading = super::RUN, value_name = "TIME", default_value = "600", value_parser = super::duration::seconds, allow_negative_numbers = true)]
    pub budget: f64,
    /// Most launches per verification (R). Cells that are decided earlier get fewer. The default is 20. It rises up to 60 on a machine
    /// so noisy that 20 would miss slowdowns by 30 %.
    #[arg(long, help_heading = super::RUN, value_name = "R")]
    pub launches: Option<usize>,
    /// Start a new run instead of resuming an interrupted one of the same command. The old samples stay in the database, unused.
    #[arg(long, help_heading = super::RUN)]
    pub fresh: bool,
    /// Try candidates again that hung, crashed or gave wrong data in earlier runs on this library and machine, and forget that they did.
    #[arg(long, help_heading = super::RUN)]
    pub retry_quarantined: bool,
    /// Print the plan and the division of the budget; launch nothing.
    #[arg(long, help_heading = super::RUN)]
    pub dry_run: bool,
    /// Seed of all random orders (default: drawn, and reported).
    #[arg(long, help_heading = super::RUN, value_name = "S")]
    pub seed: Option<u64>,
    /// Make all launches of all cells and judge once, at the end, instead of deciding clear cells early.
    #[arg(long, help_heading = super::VERDICTS)]
    pub fixed: bool,
    /// Judge the mean of each batch job's launches, not single launches. A command that was cut off goes on in the next job, on other
    /// nodes. Without this option, jobs are judged so only if their launches resemble each other.
    #[arg(long, help_heading = super::VERDICTS)]
    pub allocations: bool,
    /// Significance level after correction for all tests of the run.
    #[arg(long, help_heading = super::VERDICTS, value_name = "P", default_value_t = 0.05)]
    pub alpha: f64,
    /// Statistical test of "the left side is slower". The default pairs both sides launch by launch.
    #[arg(long, help_heading = super::VERDICTS, value_enum, value_name = "TEST", default_value_t = TestChoice::Pairs)]
    pub test: TestChoice,
    /// Correction for multiple tests over the run.
    #[arg(long, help_heading = super::VERDICTS, value_enum, value_name = "METHOD", default_value_t = CorrectionChoice::Holm)]
    pub correction: CorrectionChoice,
    /// Smallest slowdown that counts, as a fraction.
    #[arg(long, help_heading = super::VERDICTS, value_name = "FRACTION", default_value_t = 0.05)]
    pub effect_floor: f64,
    /// Behaviour of ranks that wait for a repetition to start.
    #[arg(long, help_heading = super::MEASUREMENT, value_enum, env = "KILTER_WAIT", default_value_t = WaitChoice::Auto)]
    pub wait: WaitChoice,
    /// Method by which ranks start a repetition together. With a barrier, times come out too short.
    #[arg(long, help_heading = super::MEASUREMENT, value_enum, env = "KILTER_SYNC", default_value_t = SyncChoice::Auto)]
    pub sync: SyncChoice,
    /// Contents of the caches at the start of a repetition.
    #[arg(long, help_heading = super::MEASUREMENT, value_enum, default_value_t = CacheChoice::Warm)]
    pub cache: CacheChoice,
    /// Rule for the number of repetitions. `variance` derives it from the screening's variances and costs. Methods (rse=T,
    /// cov-mean=T/WINDOW, cov-median=T/WINDOW) predict the number after which all of them hold. `none` makes --max-repetitions.
    #[arg(long, help_heading = super::MEASUREMENT, value_name = "METHODS", default_value = "variance")]
    pub repetitions: String,
    /// Fewest repetitions of an item in a launch (default: 3 with `variance`, fewer where calls take 6 ms or more; else 8).
    #[arg(long, help_heading = super::MEASUREMENT, value_name = "N")]
    pub min_repetitions: Option<u32>,
    /// Most repetitions of an item in a launch.
    #[arg(long, help_heading = super::MEASUREMENT, value_name = "N", default_value_t = 60)]
    pub max_repetitions: u32,
    /// Repetitions between two checks of that rule.
    #[arg(long, help_heading = super::MEASUREMENT, value_name = "N", default_value_t = 1)]
    pub repetition_step: u32,
    /// Most seconds for the repetitions of an item in a launch. Slow items get fewer repetitions.
    #[arg(long, help_heading = super::MEASUREMENT, value_name = "SECONDS", default_value_t = REPETITIONS.seconds)]
    pub repetition_seconds: f64,
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

/// Behaviour of waiting ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WaitChoice {
    /// Spin if the ranks fit the cores of this host, else sleep.
    Auto,
    /// Poll, and keep the processor.
    Spin,
    /// Sleep, and leave the processor to others.
    Sleep,
}

/// Methods by which ranks start a repetition together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SyncChoice {
    /// `shared-clock` if all ranks have one, else `round-time`.
    Auto,
    /// All ranks read the same clock and start at an agreed time.
    SharedClock,
    /// Every rank learns by messages how its clock differs from rank 0's, and starts at an agreed time.
    RoundTime,
    /// Ranks leave a barrier and take local times.
    Barrier,
}

/// Contents of the caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheChoice {
    /// Buffers of the previous repetition, as far as they fit.
    Warm,
    /// None of the buffers: twice the last-level cache is swept before each repetition.
    Cold,
}
