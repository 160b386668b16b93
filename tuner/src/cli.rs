//! What can be typed. Nothing below [`crate::options`] sees these types.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
    /// List guidelines, algorithms, mock-ups or libraries.
    List(List),
    /// Say what a guideline means, why it should hold and where it comes from.
    Explain(Explain),
    /// Render a stored report again.
    Report(Render),
    /// Show the error rates, the power and the cost of the verdicts on scripted times whose truth is known.
    ///
    /// Exit status: 0 every rate is within what is promised, 1 one is not.
    ValidateStatistics(ValidateStatistics),
}

/// Options of every measuring command.
#[derive(Debug, Args)]
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
    /// Program that starts the launcher's daemons on other hosts, instead of ssh.
    #[arg(long, value_name = "PATH", env = "KILTER_LAUNCH_AGENT")]
    pub launch_agent: Option<PathBuf>,
    /// A parameter that every launch needs on this site, such as `btl=tcp,self`. Repeatable; in the variable separated by `;`.
    #[arg(long = "mca", value_name = "NAME=VALUE", env = "KILTER_MCA", value_delimiter = ';')]
    pub mca: Vec<String>,
    /// An environment variable that every rank needs on this site. Repeatable; in the variable separated by `;`.
    #[arg(long = "env", value_name = "NAME=VALUE", env = "KILTER_ENV", value_delimiter = ';')]
    pub environment: Vec<String>,
    /// How ranks wait for the start of a repetition: spin where each has a core, sleep where they share cores.
    #[arg(long, value_enum, env = "KILTER_WAIT", default_value_t = WaitChoice::Auto)]
    pub wait: WaitChoice,
    /// Total volumes n in bytes: a list such as 1,4096,1MiB, or a range 1..1MiB of powers of two, or 1..1MiB:x4 of powers of four.
    #[arg(long, value_name = "SIZES", default_value = "1..1MiB:x4")]
    pub sizes: String,
    /// Guidelines by id or family, such as GL8,GL12 (default: all).
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub guidelines: Vec<String>,
    /// A site's own guideline file (TOML). Repeatable.
    #[arg(long, value_name = "FILE")]
    pub guideline_file: Vec<PathBuf>,
    /// Only guidelines whose left side is one of these collectives, such as reduce,gather (default: all).
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub functions: Vec<String>,
    /// Launches per verification (R).
    #[arg(long, value_name = "R", default_value_t = 10)]
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
    /// Directory of kilter-worker, libkilter.so and libkilter_collectives.so (default: where kilter itself is).
    #[arg(long, value_name = "DIR", env = "KILTER_LIBEXEC")]
    pub libexec: Option<PathBuf>,
}

/// Options of `tune`.
#[derive(Debug, Args)]
pub struct Tune {
    /// Measuring.
    #[command(flatten)]
    pub measure: Measure,
    /// Use only this kind of fix.
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<Only>,
    /// Put this collective at this size through the contest even if it breaks no guideline, such as reduce@512KiB. Repeatable.
    #[arg(long, value_name = "FUNCTION@SIZE")]
    pub contest: Vec<String>,
    /// Rounds of search and verification at most.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub rounds: usize,
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
    /// Guideline id, such as GL8.
    pub id: String,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct Render {
    /// A report.json.
    pub file: PathBuf,
    /// Where to write the HTML (default: the text goes to standard output).
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
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
}
