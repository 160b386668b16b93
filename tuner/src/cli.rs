//! What can be typed. Nothing below [`crate::options`] sees these types.

use std::path::PathBuf;

use clap::{Arg, Args, Parser, Subcommand, ValueEnum};

use crate::verification::REPETITIONS;

/// Verifies and tunes the performance guidelines of an MPI library.
///
/// Exit status: 0 every guideline holds, 1 violations remain, 2 error.
#[derive(Debug, Parser)]
#[command(name = "kilter", version, max_term_width = 110)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// More on standard error; twice for still more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

impl Cli {
    /// How often `-v` was given.
    #[must_use]
    pub fn verbosity(&self) -> u8 {
        self.verbose
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify guidelines and report what is violated.
    Check(Measure),
    /// Verify, search fixes, deploy them into a staging directory, verify what is deployed, and report.
    Tune(Tune),
    /// Put the library's own algorithms and Kilter's side by side: for each collective and size of --functions and --sizes the best
    /// of each, interleaved in the same jobs, with the ratio and its interval.
    ///
    /// Exit status: 0, whoever wins.
    Benchmark(Benchmark),
    /// Explore how far communication runs beside computation, over sizes and computation times (Denis and Trahay 2016): a map of the
    /// overhead ratio for each benchmark, 0 for perfect overlap, 1 for none.
    ///
    /// Writes overlap.json, overlap.csv and overlap.html. Exit status: 0, whatever overlaps.
    Overlap(Overlap),
    /// Examine the machine before measuring: 0 fit, 1 warnings that make verdicts doubtful, 2 nothing can be measured. Takes the
    /// options of `check`.
    Doctor(Measure),
    /// List guidelines, algorithms, mock-ups, libraries or overlap targets.
    List(List),
    /// Say what a guideline or an overlap target means, why it should hold and where it comes from.
    Explain(Explain),
    /// Install what `tune` emitted: shows the difference of every file, asks, keeps what was there.
    ///
    /// Parameters are merged into the library's own file within a marked block, the rest of which stays as it is; the environment
    /// becomes module files. Exit status: 0 done or nothing to do, 2 error, and nothing was changed.
    Apply(Apply),
    /// Take the latest `apply` back.
    ///
    /// Exit status: 0 done, 2 error, and nothing was changed.
    Rollback(Rollback),
    /// Render a stored report again.
    Report(Render),
    /// Print what the database has: runs, launches, cells with their verdicts, raw samples.
    Query(Query),
    /// Put runs side by side: what each violates, what became worse or better, how far their verdicts agree.
    ///
    /// Exit status: 0 nothing became worse, 1 regressions, 2 error.
    Compare(Compare),
    /// Run every algorithm of a plugin through the correctness matrix on this library, compared byte by byte with a sequential
    /// reference; the result is stored, and `kilter tune` deploys only what passed.
    ///
    /// Exit status: 0 every row is right, 1 a row is wrong, crashed or hung, 2 error.
    VerifyAlgorithms(VerifyAlgorithms),
    /// Show the error rates, the power and the cost of the verdicts on scripted times whose truth is known.
    ///
    /// Exit status: 0 every rate is within what is promised, 1 one is not.
    ValidateStatistics(ValidateStatistics),
    /// Write a batch script that runs a command of kilter in an allocation, on standard output.
    Batch(Batch),
    /// Write manual pages and completions of shells below a prefix; `scripts/install` calls it.
    #[command(hide = true)]
    Generate(Generate),
}

/// Options of every measuring command.
#[derive(Debug, Clone, Args)]
pub struct Measure {
    /// The launcher of the MPI library to measure.
    #[arg(long, value_name = "PATH", env = "KILTER_MPIRUN", default_value = "mpirun")]
    pub mpirun: PathBuf,
    /// Number of ranks.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2)]
    pub ranks: usize,
    /// Hosts to run on, in the launcher's own format.
    #[arg(long, value_name = "FILE", env = "KILTER_HOSTFILE")]
    pub hostfile: Option<PathBuf>,
    /// Simulated machine, for a library that is a simulator (`smpirun`): a name such as ib-32x1, or a file like those in
    /// configs/platforms. Its times are exact: one launch of one repetition, whatever --launches and the options of repetitions say.
    #[arg(long, value_name = "NAME", env = "KILTER_PLATFORM", conflicts_with = "hostfile")]
    pub platform: Option<String>,
    /// Program that starts the launcher's daemons on other hosts, instead of ssh.
    #[arg(long, value_name = "PATH", env = "KILTER_LAUNCH_AGENT")]
    pub launch_agent: Option<PathBuf>,
    /// How ranks are started inside an allocation of a batch system: slurm, pbs, lsf or jsm (default: by the library's own launcher,
    /// which --mpirun names; it says which library it is in any case).
    #[arg(long, value_name = "NAME", env = "KILTER_LAUNCHER")]
    pub launcher: Option<String>,
    /// The process management interface that the launcher offers to the library, such as pmix or pmi2 (default: pmix with slurm).
    #[arg(long, value_name = "NAME", env = "KILTER_PMI", requires = "launcher")]
    pub pmi: Option<String>,
    /// A parameter of the library that every launch needs on this site, such as `btl=tcp,self` (Open MPI) or
    /// `MPIR_CVAR_CH4_NETMOD=ucx` (MPICH). Repeatable; in the variable separated by `;`.
    #[arg(long = "mca", value_name = "NAME=VALUE", env = "KILTER_MCA", value_delimiter = ';')]
    pub mca: Vec<String>,
    /// An environment variable that every rank needs on this site. Repeatable; in the variable separated by `;`.
    #[arg(long = "env", value_name = "NAME=VALUE", env = "KILTER_ENV", value_delimiter = ';')]
    pub environment: Vec<String>,
    /// How ranks wait for the start of a repetition: spin where each has a core, sleep where they share cores.
    #[arg(long, value_enum, env = "KILTER_WAIT", default_value_t = WaitChoice::Auto)]
    pub wait: WaitChoice,
    /// How ranks start a repetition together: on one clock, on clocks that were made one, or after a barrier, which under-reports.
    #[arg(long, value_enum, env = "KILTER_SYNC", default_value_t = SyncChoice::Auto)]
    pub sync: SyncChoice,
    /// What the caches hold when a repetition starts: the buffers of the one before, or nothing of them.
    #[arg(long, value_enum, default_value_t = CacheChoice::Warm)]
    pub cache: CacheChoice,
    /// When an item was repeated often enough; all methods named must hold: rse=T, cov-mean=T/WINDOW, cov-median=T/WINDOW; or none.
    #[arg(long, value_name = "METHODS", default_value = "rse=0.02")]
    pub repetitions: String,
    /// Repetitions of an item in a launch at least.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub min_repetitions: u32,
    /// Repetitions of an item in a launch at most.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub max_repetitions: u32,
    /// Repetitions between two looks whether they are enough.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repetition_step: u32,
    /// Seconds that the repetitions of an item may take in a launch; what is slow gets fewer.
    #[arg(long, value_name = "SECONDS", default_value_t = REPETITIONS.seconds)]
    pub repetition_seconds: f64,
    /// Total volumes n in bytes: a list such as 1,4096,1MiB, or a range 1..1MiB of powers of two, or 1..1MiB:x4 of powers of four.
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
    /// Launches per verification (R) at most: cells that are decided earlier get fewer.
    #[arg(long, value_name = "R", default_value_t = 20)]
    pub launches: usize,
    /// Seconds of measuring for the whole command.
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    pub budget: f64,
    /// Seed of every order (default: drawn, and reported).
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Directory of everything that is written.
    #[arg(long, value_name = "DIR", default_value = "kilter-out")]
    pub out: PathBuf,
    /// Database of samples (default: kilter.db in the output directory).
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Significance level after correction for all tests of the run.
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    pub alpha: f64,
    /// Test of "the left side is slower".
    #[arg(long, value_enum, value_name = "TEST", default_value_t = TestChoice::RankSum)]
    pub test: TestChoice,
    /// Correction for all tests of the run: of the chance of any false violation, or of their expected share.
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = CorrectionChoice::Holm)]
    pub correction: CorrectionChoice,
    /// Smallest slowdown that counts, as a fraction.
    #[arg(long, value_name = "FRACTION", default_value_t = 0.05)]
    pub effect_floor: f64,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
    /// Describe the MPI library by this file instead of the built-in descriptions.
    #[arg(long, value_name = "FILE")]
    pub library_description: Option<PathBuf>,
    /// Seconds without any sign of life after which a job counts as hung.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    pub stall_timeout: f64,
    /// Directory of kilter-worker, libkilter.so and libkilter_collectives.so (default: from where kilter is
    /// `../libexec/kilter/<library>`, as `scripts/install` makes it, or `../mpi/<library>/release`, as `scripts/build --mpi`
    /// makes it, else where kilter itself is).
    #[arg(long, value_name = "DIR", env = "KILTER_LIBEXEC")]
    pub libexec: Option<PathBuf>,
}

/// Options of `verify-algorithms`.
#[derive(Debug, Args)]
pub struct VerifyAlgorithms {
    /// Rows by id, such as bcast.binomial, or all rows of a collective, such as bcast (default: all of the plugin). An id may
    /// carry values of its parameters, such as bcast.pipelined_chain@8192.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Numbers of ranks; each is a job of its own.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "1,2,3,4,5,7,8"
    )]
    pub ranks: Vec<usize>,
    /// The plugin (default: Kilter's own, libkilter_collectives.so).
    #[arg(long, value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Only this case, as a failure names it; all parts that are left out have a default.
    #[arg(long, value_name = "CASE")]
    pub case: Option<String>,
    /// A second's worth of the matrix, which is what `tune` runs.
    #[arg(long)]
    pub reduced: bool,
    /// The launcher of the MPI library to verify on.
    #[arg(long, value_name = "PATH", env = "KILTER_MPIRUN", default_value = "mpirun")]
    pub mpirun: PathBuf,
    /// Hosts to run on, in the launcher's own format.
    #[arg(long, value_name = "FILE", env = "KILTER_HOSTFILE")]
    pub hostfile: Option<PathBuf>,
    /// Program that starts the launcher's daemons on other hosts, instead of ssh.
    #[arg(long, value_name = "PATH", env = "KILTER_LAUNCH_AGENT")]
    pub launch_agent: Option<PathBuf>,
    /// How ranks are started inside an allocation of a batch system, as for `check`.
    #[arg(long, value_name = "NAME", env = "KILTER_LAUNCHER")]
    pub launcher: Option<String>,
    /// The process management interface that the launcher offers to the library, as for `check`.
    #[arg(long, value_name = "NAME", env = "KILTER_PMI", requires = "launcher")]
    pub pmi: Option<String>,
    /// A parameter of the library that every launch needs on this site. Repeatable; in the variable separated by `;`.
    #[arg(long = "mca", value_name = "NAME=VALUE", env = "KILTER_MCA", value_delimiter = ';')]
    pub mca: Vec<String>,
    /// An environment variable that every rank needs on this site. Repeatable; in the variable separated by `;`.
    #[arg(long = "env", value_name = "NAME=VALUE", env = "KILTER_ENV", value_delimiter = ';')]
    pub environment: Vec<String>,
    /// Directory of everything that is written.
    #[arg(long, value_name = "DIR", default_value = "kilter-out")]
    pub out: PathBuf,
    /// Database (default: kilter.db in the output directory).
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// No progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
    /// Describe the MPI library by this file instead of the built-in descriptions.
    #[arg(long, value_name = "FILE")]
    pub library_description: Option<PathBuf>,
    /// Seconds after which a row that has not finished a case counts as hung.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    pub stall_timeout: f64,
    /// Directory of kilter-verify, kilter-worker and libkilter_collectives.so (default: as for `check`).
    #[arg(long, value_name = "DIR", env = "KILTER_LIBEXEC")]
    pub libexec: Option<PathBuf>,
}

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
}

/// Options of `benchmark`.
#[derive(Debug, Args)]
pub struct Benchmark {
    /// Measuring.
    #[command(flatten)]
    pub measure: Measure,
    /// A plugin whose algorithms compete on Kilter's side, each only after it has passed the correctness matrix here. Repeatable.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Instead of the best with the best, compare each of Kilter's algorithms with the library forced to the same one.
    #[arg(long)]
    pub same: bool,
    /// Instead of Kilter's collectives, put the search to the test: its launches, its seconds and what it finds, against measuring
    /// every candidate with every value of its knobs in a launch of its own. Takes long; --budget ends it.
    #[arg(long, conflicts_with_all = ["same", "latency", "plugins"])]
    pub search: bool,
    /// Seconds that a message of no length takes through the network: with --bandwidth, adds the lower bound of each cell.
    #[arg(long, value_name = "SECONDS", requires = "bandwidth")]
    pub latency: Option<f64>,
    /// Bytes per second that a host's link carries in each direction.
    #[arg(long, value_name = "BYTES", requires = "latency")]
    pub bandwidth: Option<f64>,
    /// Hosts that the ranks are spread over evenly, for the lower bound (default: as many as ranks).
    #[arg(long, value_name = "N", requires = "latency")]
    pub hosts: Option<usize>,
}

/// Options of `overlap`.
#[derive(Debug, Args)]
#[command(mut_args(for_overlap))]
pub struct Overlap {
    /// Measuring.
    #[command(flatten)]
    pub measure: Measure,
    /// What is measured: names such as sender,receiver,iallreduce; paper for the six of the paper; or all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "paper")]
    pub benchmarks: Vec<String>,
    /// Computation times: a list such as 10us,1ms, or a range 1us..10ms of powers of the square root of 2, or 1us..10ms:x4 of powers
    /// of four.
    #[arg(long, value_name = "TIMES", default_value = "1us..10ms")]
    pub computation: String,
    /// Measure every cell, as the paper does, rather than refine where the picture changes and fill in the rest.
    #[arg(long)]
    pub full: bool,
    /// What computing is: a fixed amount of work, calibrated before the library starts, or spinning until the clock says so, as in the
    /// paper, which does not notice stolen cycles.
    #[arg(long, value_enum, value_name = "MODEL", default_value_t = ModelChoice::Fixed)]
    pub model: ModelChoice,
    /// Requests under way at once (many-requests).
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub requests: u32,
    /// Computing threads at most (thread-load; default: the processing units of rank 0's host, as hwloc counts them).
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Measure every cell, and then adaptively, and say how far the two pictures agree and what the second one costs.
    #[arg(long, conflicts_with = "full")]
    pub benchmark_adaptive: bool,
}

/// What the options of measuring mean for `overlap`, and which of them mean nothing there.
fn for_overlap(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "sizes" => option.default_value("8..4MiB").help(
            "Sizes of messages in bytes: a list such as 8,4096,1MiB, or a range 8..4MiB of powers of the square root of 2, or 8..4MiB:x4 \
             of powers of four",
        ),
        "repetitions" => option
            .value_name("N")
            .default_value("50")
            .help("Repetitions of a cell, of which the median counts"),
        "repetition_seconds" => option
            .default_value("1")
            .help("Seconds that the repetitions of a part of a cell may take; what is slow gets fewer"),
        "guidelines" | "guideline_file" | "functions" | "mix" | "platform" | "fixed" | "root" | "element" | "launches" | "alpha"
        | "test" | "correction" | "effect_floor" | "sync" | "cache" | "min_repetitions" | "max_repetitions"
        | "repetition_step" => option.hide(true),
        _ => option,
    }
}

/// Options of `list`.
#[derive(Debug, Args)]
pub struct List {
    /// What to list.
    #[arg(value_enum)]
    pub what: Listed,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// Id of a guideline, such as GL8, or of an overlap target, such as OV_SENDER.
    pub id: String,
}

/// Options of `batch`.
#[derive(Debug, Args)]
pub struct Batch {
    /// The batch system and its launcher: slurm, pbs, lsf or jsm.
    #[arg(value_name = "LAUNCHER")]
    pub launcher: String,
    /// Hosts of the allocation.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub nodes: usize,
    /// Ranks on each host.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub ranks_per_node: usize,
    /// Minutes of the allocation; the budget of the command is what is left of them after a tenth for starting and ending.
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    pub minutes: u32,
    /// Name of the job.
    #[arg(long, value_name = "NAME", default_value = "kilter")]
    pub job: String,
    /// Account or project that pays.
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// Queue or partition.
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Module to load, such as openmpi/4.1.4. Repeatable, in order.
    #[arg(long = "module", value_name = "NAME")]
    pub modules: Vec<String>,
    /// The process management interface, for slurm: pmix or pmi2.
    #[arg(long, value_name = "NAME")]
    pub pmi: Option<String>,
    /// The command with its options, after `--`: check, tune, doctor or verify-algorithms (default: check).
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Options of `generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// The prefix, such as /usr/local.
    #[arg(value_name = "DIR")]
    pub prefix: PathBuf,
}

/// Options of `apply`.
#[derive(Debug, Args)]
pub struct Apply {
    /// The directory of emitted files, such as kilter-out/emit.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// For whom.
    #[command(flatten)]
    pub place: Place,
    /// Put lines of the site or the user aside that set the same parameters to something else; `rollback` brings them back.
    #[arg(long = "override")]
    pub put_aside: bool,
    /// Install although the library of --mpirun is another version than was tuned, or cannot be asked.
    #[arg(long)]
    pub other_version: bool,
    /// The launcher of the library: its version must be the one that was tuned, and beside it are the library's other programs.
    #[arg(long, value_name = "PATH", env = "KILTER_MPIRUN", default_value = "mpirun")]
    pub mpirun: PathBuf,
}

/// Options of `rollback`.
#[derive(Debug, Args)]
pub struct Rollback {
    /// For whom.
    #[command(flatten)]
    pub place: Place,
}

/// Where files are installed, and whether it is done.
#[derive(Debug, Args)]
pub struct Place {
    /// For you, in your home directory (default).
    #[arg(long, conflicts_with_all = ["system", "prefix"])]
    pub user: bool,
    /// For everybody: the library's site file, and /usr/local/share/kilter.
    #[arg(long, conflicts_with = "prefix")]
    pub system: bool,
    /// Below this directory only; its module files carry the parameters, too, unless it is the library's own prefix.
    #[arg(long, value_name = "PATH")]
    pub prefix: Option<PathBuf>,
    /// With --system: the directory that will be the root of the system, such as an image's; files go below it and name what they will
    /// name then.
    #[arg(long, value_name = "DIR", requires = "system")]
    pub root: Option<PathBuf>,
    /// Show what would be changed, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct Render {
    /// A report.json.
    pub file: PathBuf,
    /// Where to write the HTML (default: the text goes to standard output; with -v tables of any length).
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Options of `query`.
#[derive(Debug, Args)]
pub struct Query {
    /// What to print.
    #[arg(value_enum, default_value_t = Queried::Runs)]
    pub what: Queried,
    /// The database.
    #[arg(long, value_name = "FILE", default_value = "kilter-out/kilter.db")]
    pub db: PathBuf,
    /// Runs by number, or `last`, such as 3,last.
    #[arg(long, value_name = "RUNS", value_delimiter = ',')]
    pub run: Vec<String>,
    /// Libraries whose version string contains this, in any case.
    #[arg(long, value_name = "TEXT")]
    pub library: Option<String>,
    /// Guidelines by id (of cells).
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub guidelines: Vec<String>,
    /// Collectives, such as reduce,gather (of cells and samples).
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub functions: Vec<String>,
    /// Sizes or ranges of sizes, ends included, such as 8,1KiB..1MiB (of cells and samples).
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub sizes: Vec<String>,
    /// Numbers of ranks.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub ranks: Vec<u32>,
    /// Verdicts (of cells): holds, violated, undecided, unstable.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',')]
    pub verdict: Vec<String>,
    /// Not before this day or time in UTC, such as 2026-11-21 or 2026-11-21T12:00:00Z.
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Not after this day or time in UTC; the whole day counts.
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// Runs that reached a host whose name contains this, in any case.
    #[arg(long, value_name = "TEXT")]
    pub host: Option<String>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = QueryFormat::Text)]
    pub format: QueryFormat,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// What to compare with the others: a report.json, a database (its last finished run), or DATABASE:RUN.
    #[arg(value_name = "BASE")]
    pub base: PathBuf,
    /// What is compared with it, in the same forms.
    #[arg(value_name = "OTHER", required = true)]
    pub others: Vec<PathBuf>,
    /// Which verdicts of a tuned run count.
    #[arg(long, value_enum, default_value_t = Stage::Now)]
    pub stage: Stage,
    /// Smallest change that counts, as a fraction (default: the larger effect floor of the two runs).
    #[arg(long, value_name = "FRACTION")]
    pub tolerance: Option<f64>,
    /// Write the comparison as a page, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
}

/// What `query` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Queried {
    /// A line per run.
    Runs,
    /// A line per launch.
    Launches,
    /// A line per cell and phase, with its verdict.
    Cells,
    /// A line per repetition.
    Samples,
}

/// Formats of `query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// Columns for people.
    Text,
    /// RFC 4180, times in seconds, sizes in bytes.
    Csv,
    /// An array of objects.
    Json,
}

/// Formats of `compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Tables.
    Text,
    /// For programs.
    Json,
    /// A line per cell that is in any of them.
    Csv,
    /// For tickets.
    Markdown,
}

/// Which verdicts of a tuned run count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// With what is deployed; without, where nothing was.
    Now,
    /// Of the untouched library.
    Before,
}

/// Options of `validate-statistics`.
#[derive(Debug, Args)]
pub struct ValidateStatistics {
    /// Comparisons per condition; whole runs are simulated a fraction of that.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: u32,
    /// Seed of all times.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Format of standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Guidelines.
    Guidelines,
    /// Kilter's algorithms.
    Algorithms,
    /// Compositions that can stand for a collective.
    Mockups,
    /// MPI libraries with a description.
    Libraries,
    /// Targets for the overlap of communication and computation.
    Targets,
}

/// Tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestChoice {
    /// Wilcoxon's rank-sum test.
    RankSum,
    /// Kolmogorov's and Smirnov's test.
    Ks,
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

/// What computing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModelChoice {
    /// A fixed amount of work.
    Fixed,
    /// Until the clock says so.
    Clock,
}

/// Formats of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables.
    Text,
    /// The report as JSON.
    Json,
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
