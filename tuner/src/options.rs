//! Makes validated options ([`kilter_model::options`]) from the command line as typed ([`crate::cli`]).

mod allocation;
mod application;
mod arrival;
mod choices;
pub(crate) mod database;
mod guard;
mod layouts;
mod machine;
mod overlap;
mod slots;
mod tune;
mod verify_algorithms;
mod which;

use std::path::{Path, PathBuf};

use kilter_model::config::platform::Platform;
use kilter_model::limits::Limits;
use kilter_model::options::{OptionError, Options, absolute, functions, pairs, parse_sizes, wrong};
use kilter_protocol::plan::Root;
use kilter_stats::verdict::sequential::DEFAULT_MAX_LAUNCHES;

use crate::cli;
use crate::repetition_rule;
use allocation::{Found, Surroundings};
use application::Application;
use choices::{cache, correction, element, sync, test, wait};

pub use guard::{Guarding, guarding};
pub use layouts::{Checking, checking};
pub use machine::{WholeMachine, whole_machine};
pub use overlap::overlap;
pub use tune::tuning;
pub use verify_algorithms::VerifyOptions;
pub use which::{WhichOptions, which};

/// Number of ranks where neither the user nor an allocation says otherwise.
const RANKS: usize = 2;

/// Validates the options of measuring.
pub fn measuring<F: cli::Output>(typed: cli::Measure<F>) -> Result<Options, OptionError> {
    let application = application::read(&typed)?;
    measuring_for(typed, application.as_ref())
}

/// The same for an application that is read already.
fn measuring_for<F: cli::Output>(
    typed: cli::Measure<F>,
    application: Option<&Application>,
) -> Result<Options, OptionError> {
    let surroundings = Surroundings::of_process();
    let place = place(&typed, &surroundings)?;
    let ranks = application::ranks(&typed, application).unwrap_or_else(|| place.ranks().unwrap_or(RANKS));
    let mix = application.map(|one| one.calls(ranks)).transpose()?;
    check(&typed, ranks)?;
    let job = typed.job;
    let libexec = job
        .libexec
        .map(|directory| absolute("--libexec", &directory))
        .transpose()?;
    let out = absolute("--out", &job.out)?;
    let several_hosts = job.hostfile.is_some() || place.several_hosts;
    let slots = slots_of(&place, job.hostfile.as_deref(), typed.platform.is_some());
    let hostfile = job.hostfile.or(place.hostfile);
    let platform = typed
        .platform
        .as_deref()
        .map(|name| platform(name, ranks))
        .transpose()?;
    let options = Options {
        several_hosts,
        slots,
        layout: place.shape.as_ref().and_then(|shape| shape.spread(ranks)),
        starts: place.starts,
        db: database::place(job.db.as_deref(), &out)?,
        out,
        wait: wait(typed.wait),
        sync: sync(typed.sync),
        cache: cache(typed.cache),
        arrivals: Vec::new(),
        by_variance: repetition_rule::is_by_variance(&typed.repetitions),
        repetitions: repetition_rule::repetitions(
            &typed.repetitions,
            typed.min_repetitions,
            typed.max_repetitions,
            typed.repetition_step,
            typed.repetition_seconds,
        )
        .map_err(|error| wrong(error.option(), error.to_string()))?,
        mpirun: job.mpirun,
        ranks,
        hostfile,
        launch_agent: job.launch_agent.or(place.agent),
        platform: None,
        site_parameters: pairs("--mca", &job.mca)?,
        site_environment: pairs("--env", &job.environment)?,
        sizes: parse_sizes(&typed.sizes)?,
        guidelines: typed.guidelines,
        guideline_files: typed.guideline_file,
        functions: functions("--functions", typed.functions)?,
        mix,
        root: root(&typed.root, ranks)?,
        element: element(typed.element),
        launches: typed.launches.unwrap_or(DEFAULT_MAX_LAUNCHES),
        plans_launches: typed.launches.is_none(),
        fixed: typed.fixed,
        allocations: typed.allocations,
        budget_seconds: typed.budget,
        goes_on: false,
        fresh: typed.fresh,
        retries_quarantined: typed.retry_quarantined,
        dry_run: typed.dry_run,
        seed: typed.seed,
        alpha: typed.alpha,
        effect_floor: typed.effect_floor,
        test: test(typed.test),
        correction: correction(typed.correction),
        json: job.format.is_json(),
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

/// Refuses numbers with which nothing can be measured.
fn check<F: cli::Output>(typed: &cli::Measure<F>, ranks: usize) -> Result<(), OptionError> {
    if ranks == 0 {
        return Err(wrong("--ranks", "`0` is not a number of ranks; give at least 1"));
    }
    if typed.launches == Some(0) {
        return Err(wrong(
            "--launches",
            "`0` launches measure nothing; give at least 1, 20 by default",
        ));
    }
    let stall_timeout = typed.job.stall_timeout.map(|seconds| ("--stall-timeout", seconds));
    for (option, value) in [("--budget", typed.budget)].into_iter().chain(stall_timeout) {
        if !(value.is_finite() && value > 0.0) {
            return Err(wrong(option, format!("`{value}` is not a positive number of seconds")));
        }
    }
    for (option, value) in [("--alpha", typed.alpha), ("--effect-floor", typed.effect_floor)] {
        if !(value > 0.0 && value < 1.0) {
            return Err(wrong(option, format!("`{value}` is not between 0 and 1")));
        }
    }
    Ok(())
}

/// The allocation in which the ranks run: that of `--launcher`, or the one around the command. Nothing outside of any, on hosts that the user
/// names, and on a simulated machine.
fn place<F: cli::Output>(typed: &cli::Measure<F>, surroundings: &Surroundings<'_>) -> Result<Found, OptionError> {
    let job = &typed.job;
    if let Some(name) = &job.launcher {
        return allocation::find(name, job.pmi.as_deref(), surroundings);
    }
    if job.hostfile.is_some() || typed.platform.is_some() {
        return Ok(Found::default());
    }
    match allocation::around("--ranks", surroundings) {
        // The user says how many: their place is the launcher's matter.
        Err(_) if typed.ranks.is_some() => Ok(Found::default()),
        found => found,
    }
}

/// Slots of the hosts, as far as anybody tells.
fn slots_of(place: &Found, hostfile: Option<&Path>, is_simulated: bool) -> Vec<usize> {
    if is_simulated || place.starts.is_some() {
        // Neither a simulator nor a batch system's launcher is told to over-subscribe.
        return Vec::new();
    }
    match (&place.shape, hostfile) {
        (Some(shape), _) => shape.slots.clone(),
        (None, Some(file)) => slots::of_hostfile(file),
        (None, None) if place.words.is_empty() => slots::here().into_iter().collect(),
        (None, None) => Vec::new(),
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

/// Directory of `kilter` itself.
pub(crate) fn own_directory() -> Result<PathBuf, OptionError> {
    std::env::current_exe()
        .ok()
        .and_then(|path| path.parent().map(std::path::Path::to_path_buf))
        .ok_or_else(|| wrong("--libexec", "the directory of `kilter` cannot be found out; give it"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use kilter_search::verification::REPETITIONS;

    use kilter_protocol::plan::{Repetitions, Synchronisation};

    use super::*;

    fn typed(arguments: &[&str]) -> cli::Measure {
        let words = ["kilter", "check"].iter().chain(arguments);
        match cli::Cli::try_parse_from(words).unwrap().command {
            cli::Command::Check(typed) => typed.measure,
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
            (1, REPETITIONS.max)
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
