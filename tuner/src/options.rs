//! What was meant: the validated form of [`crate::cli`], and the only one that the rest knows.

mod allocation;
mod tune;
mod values;
mod verify_algorithms;

use std::path::{Path, PathBuf};

use kilter_protocol::plan::{Cache, Element, Repetitions, Root, Synchronisation, Wait};

use crate::cli;
use crate::config::launcher::Starts;
use crate::config::mix::Mix;
use crate::config::platform::Platform;
use crate::layouts::Layout;
use crate::plan::Place;
use crate::repetition_rule;
use crate::scope::Scope;
use crate::search::limits::Limits;
use crate::verdict::sequential::DEFAULT_MAX_LAUNCHES;
use crate::verdict::{Correction, Test};

pub use tune::TuneOptions;
pub use values::parse_sizes;
use values::{absolute, pairs};
pub(crate) use values::{functions, parse_bytes, plugins};
pub use verify_algorithms::VerifyOptions;

/// Options that every measuring command shares.
#[derive(Debug, Clone)]
pub struct Options {
    /// The launcher.
    pub mpirun: PathBuf,
    /// Number of ranks, at least 1.
    pub ranks: usize,
    /// How the ranks must lie, where that was said.
    pub layout: Option<Layout>,
    /// Host file.
    pub hostfile: Option<PathBuf>,
    /// Launch agent.
    pub launch_agent: Option<PathBuf>,
    /// What starts the ranks in place of the library's launcher, with the process management interface in its arguments.
    pub starts: Option<Starts>,
    /// Ranks are on several hosts.
    pub several_hosts: bool,
    /// Simulated machine.
    pub platform: Option<Platform>,
    /// Site parameters: name, value.
    pub site_parameters: Vec<(String, String)>,
    /// Site environment of the ranks: name, value.
    pub site_environment: Vec<(String, String)>,
    /// How ranks wait.
    pub wait: Wait,
    /// How ranks start together.
    pub sync: Synchronisation,
    /// What the caches hold.
    pub cache: Cache,
    /// Repetitions of an item in a launch.
    pub repetitions: Repetitions,
    /// Whether the repetitions of a launch follow from the variance that the screening sees, and not from predictors.
    pub by_variance: bool,
    /// Total volumes in bytes, ascending, each once.
    pub sizes: Vec<u64>,
    /// Guideline ids or families; empty for all.
    pub guidelines: Vec<String>,
    /// Guideline files of the site.
    pub guideline_files: Vec<PathBuf>,
    /// Names of functions on left sides; empty for all.
    pub functions: Vec<String>,
    /// The calls of an application, where only they count.
    pub mix: Option<Mix>,
    /// Root of rooted collectives.
    pub root: Root,
    /// What is combined.
    pub element: Element,
    /// Launches per verification.
    pub launches: usize,
    /// Whether a noisy machine gets more than [`Options::launches`]: nobody gave a number.
    pub plans_launches: bool,
    /// One look, after all launches.
    pub fixed: bool,
    /// Allocations of a batch system are the units of verdicts.
    pub allocations: bool,
    /// Seconds of the clock on the wall.
    pub budget_seconds: f64,
    /// Not to resume a run that was interrupted.
    pub fresh: bool,
    /// To say what would be done, and launch nothing.
    pub dry_run: bool,
    /// Seed, where given.
    pub seed: Option<u64>,
    /// Output directory.
    pub out: PathBuf,
    /// Database.
    pub db: PathBuf,
    /// Significance level.
    pub alpha: f64,
    /// Effect floor.
    pub effect_floor: f64,
    /// Test of "slower".
    pub test: Test,
    /// Correction for multiple tests.
    pub correction: Correction,
    /// Standard output as JSON.
    pub json: bool,
    /// No progress.
    pub quiet: bool,
    /// Description of the library by file.
    pub library_description: Option<PathBuf>,
    /// Seconds of silence that mean a hang.
    pub stall_seconds: f64,
    /// What a fix may not do.
    pub limits: Limits,
    /// Plugins of the user, whose algorithms compete.
    pub plugins: Vec<PathBuf>,
    /// Directory of worker, drop-in and plugin, where given; [`crate::programs`] says where they are looked for else.
    pub libexec: Option<PathBuf>,
    /// Directory of `kilter` itself.
    pub own_directory: PathBuf,
}

/// An option that makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{option}: {message}")]
pub struct OptionError {
    /// As typed.
    pub option: &'static str,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// An option that makes no sense, with what is allowed.
pub(crate) fn wrong(option: &'static str, message: impl Into<String>) -> OptionError {
    OptionError {
        option,
        message: message.into(),
    }
}

impl Options {
    /// Checks what was typed.
    ///
    /// # Errors
    /// The first option that makes no sense.
    pub fn new(typed: cli::Measure) -> Result<Options, OptionError> {
        let job = typed.job;
        if typed.ranks == 0 {
            return Err(wrong("--ranks", "`0` is not a number of ranks; give at least 1"));
        }
        if typed.launches == Some(0) {
            return Err(wrong(
                "--launches",
                "`0` launches measure nothing; give at least 1, 20 by default",
            ));
        }
        for (option, value) in [("--budget", typed.budget), ("--stall-timeout", job.stall_timeout)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(wrong(option, format!("`{value}` is not a positive number of seconds")));
            }
        }
        for (option, value) in [("--alpha", typed.alpha), ("--effect-floor", typed.effect_floor)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(wrong(option, format!("`{value}` is not between 0 and 1")));
            }
        }
        let libexec = job
            .libexec
            .map(|directory| absolute("--libexec", &directory))
            .transpose()?;
        let out = absolute("--out", &job.out)?;
        let batch = job
            .launcher
            .as_deref()
            .map(|name| allocation::find(name, job.pmi.as_deref(), &|name| std::env::var(name).ok()));
        let batch = batch.transpose()?.unwrap_or_default();
        let hostfile = job.hostfile.or(batch.hostfile);
        let platform = typed
            .platform
            .as_deref()
            .map(|name| platform(name, typed.ranks))
            .transpose()?;
        let options = Options {
            several_hosts: hostfile.is_some() || batch.several_hosts,
            starts: batch.starts,
            db: match &job.db {
                Some(path) => absolute("--db", path)?,
                None => out.join("kilter.db"),
            },
            out,
            wait: wait(typed.wait, typed.ranks),
            sync: sync(typed.sync),
            cache: match typed.cache {
                cli::CacheChoice::Warm => Cache::Warm,
                cli::CacheChoice::Cold => Cache::Cold { bytes: None },
            },
            by_variance: repetition_rule::is_by_variance(&typed.repetitions),
            repetitions: repetition_rule::repetitions(
                &typed.repetitions,
                typed.min_repetitions,
                typed.max_repetitions,
                typed.repetition_step,
                typed.repetition_seconds,
            )
            .map_err(|(option, message)| wrong(option, message))?,
            mpirun: job.mpirun,
            ranks: typed.ranks,
            layout: None,
            hostfile,
            launch_agent: job.launch_agent.or(batch.agent),
            platform: None,
            site_parameters: pairs("--mca", &job.mca)?,
            site_environment: pairs("--env", &job.environment)?,
            sizes: parse_sizes(&typed.sizes)?,
            guidelines: typed.guidelines,
            guideline_files: typed.guideline_file,
            functions: functions("--functions", typed.functions)?,
            mix: typed.mix.map(|path| mix(&path, typed.ranks)).transpose()?,
            root: root(&typed.root, typed.ranks)?,
            element: match typed.element {
                cli::ElementChoice::Byte => Element::Byte,
                cli::ElementChoice::Int => Element::Int,
                cli::ElementChoice::Float => Element::Float,
                cli::ElementChoice::Double => Element::Double,
            },
            launches: typed.launches.unwrap_or(DEFAULT_MAX_LAUNCHES),
            plans_launches: typed.launches.is_none(),
            fixed: typed.fixed,
            allocations: typed.allocations,
            budget_seconds: typed.budget,
            fresh: typed.fresh,
            dry_run: typed.dry_run,
            seed: typed.seed,
            alpha: typed.alpha,
            effect_floor: typed.effect_floor,
            test: match typed.test {
                cli::TestChoice::Pairs => Test::Pairs,
                cli::TestChoice::Unpaired => Test::Unpaired,
                cli::TestChoice::SignedRank => Test::SignedRank,
                cli::TestChoice::RankSum => Test::RankSum,
                cli::TestChoice::BrunnerMunzel => Test::BrunnerMunzel,
                cli::TestChoice::KolmogorovSmirnov => Test::KolmogorovSmirnov,
            },
            correction: match typed.correction {
                cli::CorrectionChoice::Holm => Correction::Holm,
                cli::CorrectionChoice::Bh => Correction::BenjaminiHochberg,
            },
            json: job.format == cli::Format::Json,
            quiet: job.quiet,
            library_description: job.library_description,
            stall_seconds: job.stall_timeout,
            limits: Limits::default(),
            plugins: Vec::new(),
            libexec,
            own_directory: own_directory()?,
        };
        Ok(match platform {
            Some(platform) => options.on(platform),
            None => options,
        })
    }

    /// The same on a simulated machine: its clock is exact, so that one repetition in one launch is the time, and a difference of
    /// two times is one.
    fn on(self, platform: Platform) -> Options {
        let seconds = self.repetitions.seconds;
        Options {
            platform: Some(platform),
            launches: 1,
            repetitions: Repetitions::fixed(1, seconds),
            test: Test::Exact,
            ..self
        }
    }

    /// Whether times are exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.platform.is_some()
    }

    /// These repetitions, or the one that exact times need.
    #[must_use]
    pub fn repetitions_or(&self, usual: Repetitions) -> Repetitions {
        if self.is_exact() { self.repetitions } else { usual }
    }
}

impl Options {
    /// What the plan needs to know about the job.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            ranks: self.ranks,
            element_bytes: self.element.bytes(),
            several_nodes: match &self.platform {
                Some(platform) => self.ranks > platform.ranks_per_host,
                None => self.several_hosts,
            },
        }
    }

    /// What is asked for.
    #[must_use]
    pub fn scope(&self) -> Scope<'_> {
        Scope {
            functions: &self.functions,
            sizes: &self.sizes,
            mix: self.mix.as_ref(),
            ranks: self.ranks,
        }
    }
}

fn platform(name: &str, ranks: usize) -> Result<Platform, OptionError> {
    let platform = Platform::load(name).map_err(|error| wrong("--platform", error.to_string()))?;
    if ranks > platform.ranks() {
        return Err(wrong(
            "--ranks",
            format!(
                "`{ranks}` is more than platform `{name}` has room for; allowed: 1 to {}",
                platform.ranks()
            ),
        ));
    }
    Ok(platform)
}

/// Reads a call mix that says something about communicators of `ranks`.
fn mix(path: &Path, ranks: usize) -> Result<Mix, OptionError> {
    let mix = Mix::load(path).map_err(|error| wrong("--mix", error.to_string()))?;
    if mix.on(ranks).next().is_none() {
        let sizes: Vec<String> = mix.communicator_sizes().iter().map(ToString::to_string).collect();
        let message = format!(
            "{}: no call is on a communicator of {ranks} ranks, only of {}; give one of these to --ranks",
            mix.file,
            sizes.join(", ")
        );
        return Err(wrong("--mix", message));
    }
    Ok(mix)
}

fn root(typed: &str, ranks: usize) -> Result<Root, OptionError> {
    if typed == "rotating" {
        return Ok(Root::Rotating);
    }
    match typed.parse::<usize>() {
        Ok(root) if root < ranks => Ok(Root::Fixed(root)),
        _ => Err(wrong(
            "--root",
            format!("`{typed}` is no root; give a rank from 0 to {}, or rotating", ranks - 1),
        )),
    }
}

fn own_directory() -> Result<PathBuf, OptionError> {
    std::env::current_exe()
        .ok()
        .and_then(|path| path.parent().map(Path::to_path_buf))
        .ok_or_else(|| wrong("--libexec", "the directory of `kilter` cannot be found out; give it"))
}

fn wait(choice: cli::WaitChoice, ranks: usize) -> Wait {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match choice {
        cli::WaitChoice::Spin => Wait::Spin,
        cli::WaitChoice::Sleep => Wait::Sleep,
        cli::WaitChoice::Auto if ranks <= cores => Wait::Spin,
        cli::WaitChoice::Auto => Wait::Sleep,
    }
}

fn sync(choice: cli::SyncChoice) -> Synchronisation {
    match choice {
        cli::SyncChoice::Auto => Synchronisation::Auto,
        cli::SyncChoice::SharedClock => Synchronisation::SharedClock,
        cli::SyncChoice::RoundTime => Synchronisation::RoundTime,
        cli::SyncChoice::Barrier => Synchronisation::Barrier,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::verification::REPETITIONS;

    fn typed(arguments: &[&str]) -> cli::Measure {
        let words = ["kilter", "check"].iter().chain(arguments);
        match cli::Cli::try_parse_from(words).unwrap().command {
            cli::Command::Check(measure) => measure,
            other => panic!("{other:?}"),
        }
    }

    fn repetitions(typed: &cli::Measure) -> Repetitions {
        repetition_rule::repetitions(
            &typed.repetitions,
            typed.min_repetitions,
            typed.max_repetitions,
            typed.repetition_step,
            typed.repetition_seconds,
        )
        .unwrap()
    }

    #[test]
    fn repetitions_starts_and_caches_are_as_before_unless_asked_for() {
        let default = typed(&[]);
        assert!(repetition_rule::is_by_variance(&default.repetitions));
        assert_eq!(
            (repetitions(&default).min, repetitions(&default).max),
            (3, REPETITIONS.max)
        );
        assert_eq!(repetitions(&typed(&["--repetitions=rse=0.02"])), REPETITIONS);
        assert_eq!(
            (sync(default.sync), default.cache),
            (Synchronisation::Auto, cli::CacheChoice::Warm)
        );
        let asked = typed(&[
            "--sync=round-time",
            "--cache=cold",
            "--repetitions=cov-median=0.01/20",
            "--min-repetitions=20",
            "--max-repetitions=1000",
            "--repetition-step=10",
        ]);
        assert_eq!(
            (sync(asked.sync), asked.cache),
            (Synchronisation::RoundTime, cli::CacheChoice::Cold)
        );
        let rule = repetitions(&asked);
        assert_eq!((rule.min, rule.max, rule.step), (20, 1000, 10));
        assert_eq!(repetition_rule::to_text(&rule.stop), "cov-median=0.01/20");
    }
}
