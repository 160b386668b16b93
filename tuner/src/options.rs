//! What was meant: the validated form of [`crate::cli`], and the only one that the rest knows.

mod allocation;

use std::path::{Path, PathBuf};

use clap::{Args as _, FromArgMatches as _};
use kilter_algorithms::Collective;
use kilter_protocol::expression::Side;
use kilter_protocol::plan::{Cache, Element, Repetitions, Root, Synchronisation, Wait};
use kilter_protocol::verifying::{Depth, Wanted};

use crate::cli;
use crate::config::ConfigError;
use crate::config::launcher::Starts;
use crate::config::mix::Mix;
use crate::config::platform::Platform;
use crate::config::target::{self, Target};
use crate::layouts::{self, Layout};
use crate::plan::Place;
use crate::repetition_rule;
use crate::scope::Scope;
use crate::search::limits::Limits;
use crate::verdict::{Correction, Test};

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
    /// One look, after all launches.
    pub fixed: bool,
    /// Seconds of measuring.
    pub budget_seconds: f64,
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

/// Options of `tune`.
#[derive(Debug, Clone)]
pub struct TuneOptions {
    /// Measuring; with layouts, where their common results go.
    pub common: Options,
    /// Measuring of each layout that is tuned; empty where a number of ranks is.
    pub layouts: Vec<Options>,
    /// Whether parameters of the library may change.
    pub parameters: bool,
    /// Whether mock-ups may be deployed.
    pub mockups: bool,
    /// Whether algorithms may be deployed.
    pub algorithms: bool,
    /// Collectives and sizes that are put through the contest in any case.
    pub contests: Vec<(Collective, u64)>,
    /// Rounds at most.
    pub rounds: usize,
    /// Targets for overlap that shall be met.
    pub targets: Vec<Target>,
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
        if typed.ranks == 0 {
            return Err(wrong("--ranks", "`0` is not a number of ranks; give at least 1"));
        }
        if typed.launches == 0 {
            return Err(wrong(
                "--launches",
                "`0` launches measure nothing; give at least 1, 20 by default",
            ));
        }
        for (option, value) in [("--budget", typed.budget), ("--stall-timeout", typed.stall_timeout)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(wrong(option, format!("`{value}` is not a positive number of seconds")));
            }
        }
        for (option, value) in [("--alpha", typed.alpha), ("--effect-floor", typed.effect_floor)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(wrong(option, format!("`{value}` is not between 0 and 1")));
            }
        }
        let libexec = typed
            .libexec
            .map(|directory| absolute("--libexec", &directory))
            .transpose()?;
        let out = absolute("--out", &typed.out)?;
        let batch = typed
            .launcher
            .as_deref()
            .map(|name| allocation::find(name, typed.pmi.as_deref(), &|name| std::env::var(name).ok()));
        let batch = batch.transpose()?.unwrap_or_default();
        let hostfile = typed.hostfile.or(batch.hostfile);
        let platform = typed
            .platform
            .as_deref()
            .map(|name| platform(name, typed.ranks))
            .transpose()?;
        let options = Options {
            several_hosts: hostfile.is_some() || batch.several_hosts,
            starts: batch.starts,
            db: match &typed.db {
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
            repetitions: repetition_rule::repetitions(
                &typed.repetitions,
                typed.min_repetitions,
                typed.max_repetitions,
                typed.repetition_step,
                typed.repetition_seconds,
            )
            .map_err(|(option, message)| wrong(option, message))?,
            mpirun: typed.mpirun,
            ranks: typed.ranks,
            layout: None,
            hostfile,
            launch_agent: typed.launch_agent.or(batch.agent),
            platform: None,
            site_parameters: pairs("--mca", &typed.mca)?,
            site_environment: pairs("--env", &typed.environment)?,
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
            launches: typed.launches,
            fixed: typed.fixed,
            budget_seconds: typed.budget,
            seed: typed.seed,
            alpha: typed.alpha,
            effect_floor: typed.effect_floor,
            test: match typed.test {
                cli::TestChoice::RankSum => Test::RankSum,
                cli::TestChoice::Ks => Test::KolmogorovSmirnov,
            },
            correction: match typed.correction {
                cli::CorrectionChoice::Holm => Correction::Holm,
                cli::CorrectionChoice::Bh => Correction::BenjaminiHochberg,
            },
            json: typed.format == cli::Format::Json,
            quiet: typed.quiet,
            library_description: typed.library_description,
            stall_seconds: typed.stall_timeout,
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

/// Names of functions as guidelines call them: whatever the language can call.
pub(crate) fn functions(option: &'static str, names: Vec<String>) -> Result<Vec<String>, OptionError> {
    for name in &names {
        if format!("{name}(n)").parse::<Side>().is_err() {
            name.parse::<Side>()
                .map_err(|error| wrong(option, format!("`{name}` is no function; allowed: {}", error.allowed)))?;
        }
    }
    Ok(names)
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

/// The targets of these names, `all` for all of them, and those of files.
fn targets(names: &[String], files: &[PathBuf]) -> Result<Vec<Target>, OptionError> {
    let wrong_file = |error: ConfigError| wrong("--target-file", error.to_string());
    let known = target::load_embedded().map_err(|error| wrong("--targets", error.to_string()))?;
    let mut chosen = Vec::new();
    for name in names {
        let found: Vec<&Target> = known.iter().filter(|one| name == "all" || one.id == *name).collect();
        if found.is_empty() {
            let ids: Vec<&str> = known.iter().map(|one| one.id.as_str()).collect();
            return Err(wrong(
                "--targets",
                format!("`{name}` is no target; allowed: all, {}", ids.join(", ")),
            ));
        }
        chosen.extend(found.into_iter().cloned());
    }
    for file in files {
        chosen.push(target::load_file(file).map_err(wrong_file)?);
    }
    chosen.dedup_by(|a, b| a.id == b.id);
    Ok(chosen)
}

/// The layouts of a list, or of the allocation.
fn layout_list(text: &str) -> Result<Vec<Layout>, OptionError> {
    if text == "auto" {
        return allocation::layouts(&|name| std::env::var(name).ok());
    }
    layouts::parse_list(text).map_err(|message| wrong("--layouts", message))
}

/// The options of each layout: a directory of its own, one database, an equal share of the budget.
fn of_layouts(layouts: &[Layout], typed: &cli::Measure) -> Result<Vec<Options>, OptionError> {
    if let Some(platform) = &typed.platform {
        return Err(wrong(
            "--layouts",
            format!(
                "ranks lie on the simulated machine `{platform}` as its description says, and what is found holds for all sizes of \
                 communicators; give --ranks, and a command for each number of them"
            ),
        ));
    }
    let db = typed.db.clone().unwrap_or_else(|| typed.out.join("kilter.db"));
    let each = layouts.iter().map(|layout| {
        let own = cli::Measure {
            ranks: layout.ranks(),
            out: typed.out.join(layout.to_string()),
            db: Some(db.clone()),
            budget: typed.budget / layouts.len() as f64,
            ..typed.clone()
        };
        Ok(Options {
            layout: Some(*layout),
            several_hosts: layout.nodes > 1,
            ..Options::new(own)?
        })
    });
    each.collect()
}

impl TuneOptions {
    /// Checks what was typed.
    ///
    /// # Errors
    /// The first option that makes no sense.
    pub fn new(typed: cli::Tune) -> Result<TuneOptions, OptionError> {
        if typed.rounds == 0 {
            return Err(wrong(
                "--rounds",
                "`0` rounds search nothing; use `kilter check` to verify only",
            ));
        }
        let contests = typed
            .contest
            .iter()
            .map(|text| {
                let (name, size) = text.split_once('@').ok_or_else(|| {
                    wrong(
                        "--contest",
                        format!("`{text}` is not FUNCTION@SIZE, such as reduce@512KiB"),
                    )
                })?;
                let collective = name.parse().map_err(|error| wrong("--contest", format!("{error}")))?;
                Ok((collective, parse_bytes("--contest", size)?))
            })
            .collect::<Result<Vec<_>, OptionError>>()?;
        let plugins = plugins(&typed.plugins)?;
        let mut limits = limits(typed.leave, typed.scratch_limit.as_deref(), &contests)?;
        limits.only_plugins = typed.only == Some(cli::Only::Plugins);
        if limits.only_plugins && plugins.is_empty() {
            return Err(wrong(
                "--only",
                "`plugins` needs one or more; give them by --plugin FILE",
            ));
        }
        let mut layouts = match &typed.layouts {
            Some(text) => of_layouts(&layout_list(text)?, &typed.measure)?,
            None => Vec::new(),
        };
        let mut common = match layouts.first() {
            Some(first) => Options {
                out: absolute("--out", &typed.measure.out)?,
                ..first.clone()
            },
            None => Options::new(typed.measure)?,
        };
        for options in layouts.iter_mut().chain([&mut common]) {
            options.limits = limits.clone();
            options.plugins = plugins.clone();
        }
        Ok(TuneOptions {
            common,
            layouts,
            parameters: matches!(typed.only, None | Some(cli::Only::Parameters)),
            mockups: matches!(typed.only, None | Some(cli::Only::Mockups | cli::Only::Algorithms)),
            algorithms: matches!(typed.only, None | Some(cli::Only::Algorithms | cli::Only::Plugins)),
            contests,
            rounds: typed.rounds,
            targets: targets(&typed.targets, &typed.target_file)?,
        })
    }
}

/// The plugins of a list, each once.
pub(crate) fn plugins(typed: &[PathBuf]) -> Result<Vec<PathBuf>, OptionError> {
    let mut files: Vec<PathBuf> = Vec::with_capacity(typed.len());
    for file in typed {
        let file = absolute("--plugin", file)?;
        if !files.contains(&file) {
            files.push(file);
        }
    }
    Ok(files)
}

/// What a fix may not do.
fn limits(leave: Vec<String>, scratch: Option<&str>, contests: &[(Collective, u64)]) -> Result<Limits, OptionError> {
    let leave = leave.iter().map(|name| name.trim().to_owned()).collect();
    let left_alone = functions("--leave", leave)?;
    // Written as calls they are sides of guidelines, and would never be found among functions.
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if let Some(name) = left_alone.iter().find(|name| *name == "A" || !is_name(name)) {
        let message = format!("`{name}` is no name of a function; write it as in guidelines, such as reduce");
        return Err(wrong("--leave", message));
    }
    let limits = Limits {
        left_alone,
        scratch_bytes: scratch.map(|text| parse_bytes("--scratch-limit", text)).transpose()?,
        only_plugins: false,
    };
    for (collective, _) in contests {
        if limits.leaves(collective.name()).is_some() {
            let message = format!("`{collective}` is put through a contest by --contest; take it out of one of them");
            return Err(wrong("--leave", message));
        }
    }
    Ok(limits)
}

/// Options of `verify-algorithms`.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// Launching, output, database.
    pub common: Options,
    /// Numbers of ranks, ascending, each once.
    pub ranks: Vec<usize>,
    /// Rows; empty for all.
    pub rows: Vec<Wanted>,
    /// The plugin; Kilter's own where not given.
    pub plugin: Option<PathBuf>,
    /// The only case.
    pub case: Option<String>,
    /// How much of the matrix.
    pub depth: Depth,
}

impl VerifyOptions {
    /// Checks what was typed.
    ///
    /// # Errors
    /// The first option that makes no sense.
    pub fn new(typed: cli::VerifyAlgorithms) -> Result<VerifyOptions, OptionError> {
        let mut ranks = typed.ranks;
        ranks.sort_unstable();
        ranks.dedup();
        if ranks.first() == Some(&0) {
            return Err(wrong("--ranks", "`0` is not a number of ranks; give at least 1"));
        }
        let rows = typed.only.iter().map(|text| wanted(text)).collect::<Result<_, _>>()?;
        let measure = cli::Measure {
            mpirun: typed.mpirun,
            ranks: ranks.last().copied().unwrap_or(1),
            hostfile: typed.hostfile,
            launch_agent: typed.launch_agent,
            launcher: typed.launcher,
            pmi: typed.pmi,
            mca: typed.mca,
            environment: typed.environment,
            out: typed.out,
            db: typed.db,
            format: typed.format,
            quiet: typed.quiet,
            library_description: typed.library_description,
            stall_timeout: typed.stall_timeout,
            libexec: typed.libexec,
            ..defaults()?
        };
        Ok(VerifyOptions {
            common: Options::new(measure)?,
            ranks,
            rows,
            plugin: typed.plugin.map(|plugin| absolute("--plugin", &plugin)).transpose()?,
            case: typed.case,
            depth: if typed.reduced { Depth::Reduced } else { Depth::Full },
        })
    }
}

/// Reads `ID`, `COLLECTIVE` or `ID@VALUE/VALUE`.
fn wanted(text: &str) -> Result<Wanted, OptionError> {
    let (name, values) = text.split_once('@').unwrap_or((text, ""));
    let values = values
        .split('/')
        .filter(|value| !value.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>();
    Ok(Wanted {
        name: name.to_owned(),
        values: values.map_err(|_| {
            let allowed = "is not ID, COLLECTIVE or ID@VALUES, such as bcast.pipelined_chain@8192";
            wrong("--only", format!("`{text}` {allowed}"))
        })?,
    })
}

/// The options of a measuring command of which none was typed.
fn defaults() -> Result<cli::Measure, OptionError> {
    let command = cli::Measure::augment_args(clap::Command::new("kilter"));
    command
        .try_get_matches_from(["kilter"])
        .and_then(|matches| cli::Measure::from_arg_matches(&matches))
        .map_err(|error| wrong("environment", error.to_string()))
}

fn own_directory() -> Result<PathBuf, OptionError> {
    std::env::current_exe()
        .ok()
        .and_then(|path| path.parent().map(Path::to_path_buf))
        .ok_or_else(|| wrong("--libexec", "the directory of `kilter` cannot be found out; give it"))
}

fn absolute(option: &'static str, path: &Path) -> Result<PathBuf, OptionError> {
    std::path::absolute(path).map_err(|error| wrong(option, format!("`{}`: {error}", path.display())))
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

fn pairs(option: &'static str, typed: &[String]) -> Result<Vec<(String, String)>, OptionError> {
    typed
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(wrong(option, format!("`{text}` is not NAME=VALUE"))),
        })
        .collect()
}

/// Reads `4096`, `4KiB` or `1MiB`.
pub(crate) fn parse_bytes(option: &'static str, text: &str) -> Result<u64, OptionError> {
    let text = text.trim();
    let (digits, factor) = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)]
        .into_iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits.trim_end(), factor)))
        .unwrap_or((text, 1));
    digits
        .parse::<u64>()
        .ok()
        .and_then(|value| value.checked_mul(factor))
        .filter(|bytes| (1..=1 << 30).contains(bytes))
        .ok_or_else(|| {
            wrong(
                option,
                format!("`{text}` is not a size from 1 B to 1GiB, such as 4096, 64KiB or 1MiB"),
            )
        })
}

/// Reads a list `1,4096,1MiB`, or a range `1..1MiB` of powers of two, or `1..1MiB:x4`; ascending, each once.
///
/// # Errors
/// A part that is no size, an empty range, a factor below 2.
pub fn parse_sizes(text: &str) -> Result<Vec<u64>, OptionError> {
    const OPTION: &str = "--sizes";
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let Some((low, high)) = part.split_once("..") else {
            sizes.push(parse_bytes(OPTION, part)?);
            continue;
        };
        let (high, factor) = match high.split_once(":x") {
            None => (high, 2),
            Some((high, factor)) => match factor.parse::<u64>() {
                Ok(value) if value >= 2 => (high, value),
                _ => return Err(wrong(OPTION, format!("`:x{factor}` is not a factor of 2 or more"))),
            },
        };
        let (low, high) = (parse_bytes(OPTION, low)?, parse_bytes(OPTION, high)?);
        if low > high {
            return Err(wrong(OPTION, format!("`{part}` is an empty range")));
        }
        sizes
            .extend(std::iter::successors(Some(low), |size| size.checked_mul(factor)).take_while(|size| *size <= high));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::verification::REPETITIONS;

    #[test]
    fn sizes_are_lists_and_ranges() {
        assert_eq!(parse_sizes("4096,1,1MiB,1").unwrap(), [1, 4096, 1 << 20]);
        assert_eq!(parse_sizes("1..8").unwrap(), [1, 2, 4, 8]);
        assert_eq!(parse_sizes("1..1KiB:x4,3").unwrap(), [1, 3, 4, 16, 64, 256, 1024]);
    }

    #[test]
    fn bad_sizes_say_what_is_allowed() {
        for (text, part) in [
            ("0", "from 1 B to 1GiB"),
            ("8..1", "empty range"),
            ("1..8:x1", "factor"),
            ("4kb", "64KiB"),
        ] {
            let message = parse_sizes(text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

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
        assert_eq!(repetitions(&default), REPETITIONS);
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

    fn tuned(arguments: &[&str]) -> Result<TuneOptions, OptionError> {
        let words = ["kilter", "tune"].iter().chain(arguments);
        match cli::Cli::try_parse_from(words).unwrap().command {
            cli::Command::Tune(typed) => TuneOptions::new(typed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_fix_may_not_do_holds_for_every_layout() {
        let options = tuned(&[
            "--leave",
            "reduce,isend",
            "--scratch-limit",
            "16MiB",
            "--layouts",
            "2,4",
        ])
        .unwrap();
        let expected = Limits {
            left_alone: vec!["reduce".to_owned(), "isend".to_owned()],
            scratch_bytes: Some(16 << 20),
            only_plugins: false,
        };
        assert_eq!(options.common.limits, expected);
        assert!(options.layouts.iter().all(|layout| layout.limits == expected));
        assert_eq!(tuned(&[]).unwrap().common.limits, Limits::default());
    }

    #[test]
    fn plugins_compete_with_the_rest_or_alone() {
        let all = tuned(&["--plugin", "/a.so", "--plugin", "/b.so", "--plugin", "/a.so"]).unwrap();
        assert_eq!(all.common.plugins, [PathBuf::from("/a.so"), PathBuf::from("/b.so")]);
        assert!(all.parameters && all.mockups && all.algorithms && !all.common.limits.only_plugins);
        let alone = tuned(&["--plugin", "/a.so", "--only", "plugins"]).unwrap();
        assert!(!alone.parameters && !alone.mockups && alone.algorithms && alone.common.limits.only_plugins);
        let none = tuned(&["--only", "plugins"]).unwrap_err().to_string();
        assert!(none.contains("--plugin FILE"), "{none}");
    }

    #[test]
    fn limits_that_make_no_sense_say_what_is_allowed() {
        for (arguments, part) in [
            (
                &["--leave", "reduse"][..],
                "--leave: `reduse` is no function; allowed: ",
            ),
            (&["--scratch-limit", "much"], "--scratch-limit: `much` is not a size"),
            (
                &["--leave", "reduce(n)"],
                "--leave: `reduce(n)` is no name of a function",
            ),
            (
                &["--leave", "reduce", "--contest", "reduce@4KiB"],
                "take it out of one of them",
            ),
        ] {
            let message = tuned(arguments).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn pairs_keep_further_equals_signs() {
        assert_eq!(
            pairs("--env", &["A=b=c".to_owned()]).unwrap(),
            [("A".to_owned(), "b=c".to_owned())]
        );
        assert!(pairs("--env", &["=x".to_owned()]).is_err());
    }
}
