//! Reads the allocation of a batch system, and how ranks are started in it.

mod shape;

use std::path::{Path, PathBuf};

use kilter_model::config::launcher::{self, BatchLauncher, HostfileForm, Starts};
use kilter_model::layout::Layout;
use kilter_model::options::{OptionError, wrong};

pub(super) use shape::Shape;

/// The surroundings of a command: variables, files and CPUs.
pub(super) struct Surroundings<'r> {
    /// Reads a variable of the environment.
    pub variable: &'r dyn Fn(&str) -> Option<String>,
    /// Reads a file.
    pub read: &'r dyn Fn(&Path) -> std::io::Result<String>,
    /// CPUs of this host that the command may use.
    pub cpus_here: usize,
}

impl Surroundings<'static> {
    /// Those of this process.
    pub(super) fn of_process() -> Surroundings<'static> {
        Surroundings {
            variable: &|name| std::env::var(name).ok(),
            read: &|path| std::fs::read_to_string(path),
            cpus_here: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Surroundings<'_> {
    /// The value of a variable that is not empty.
    fn value(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

/// Start of ranks, and their hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// Program that starts them, if it is not the library's own launcher.
    pub starts: Option<Starts>,
    /// True if the allocation has several hosts.
    pub several_hosts: bool,
    /// The file with its hosts.
    pub hostfile: Option<PathBuf>,
    /// Program that starts daemons on its hosts.
    pub agent: Option<PathBuf>,
    /// Its hosts, where the batch system tells them.
    pub shape: Option<Shape>,
    /// The allocation in words; empty outside of any.
    pub words: String,
}

impl Found {
    /// Ranks where nobody says how many: one on each CPU.
    pub(super) fn ranks(&self) -> Option<usize> {
        let layouts = self.shape.as_ref()?.layouts();
        layouts.last().map(|layout| layout.ranks())
    }

    fn new(described: BatchLauncher, job: &str, shape: Option<Shape>, surroundings: &Surroundings<'_>) -> Found {
        let allocation = described.allocation;
        let value = |name: &Option<String>| name.as_deref().and_then(|name| surroundings.value(name));
        let is_read = allocation.hostfile_form == HostfileForm::Lines;
        Found {
            starts: described.starts,
            several_hosts: match &shape {
                Some(shape) => shape.cpus.len() > 1,
                None => {
                    value(&allocation.hosts).is_some_and(|hosts| hosts != "1") || value(&allocation.hostfile).is_some()
                }
            },
            hostfile: value(&allocation.hostfile).filter(|_| is_read).map(PathBuf::from),
            agent: allocation.agent.map(PathBuf::from),
            words: format!("{}={job}", allocation.inside),
            shape,
        }
    }
}

/// Finds the launcher `--launcher` in the surroundings. An error if there is no such launcher or interface, or if the command does not run in an
/// allocation.
pub(super) fn find(name: &str, pmi: Option<&str>, surroundings: &Surroundings<'_>) -> Result<Found, OptionError> {
    let mut described = launcher::find("--launcher", name).map_err(|error| wrong("--launcher", error.message))?;
    let allocation = &described.allocation;
    let Some(job) = surroundings.value(&allocation.inside) else {
        return Err(wrong(
            "--launcher",
            format!(
                "`{name}` starts ranks inside an allocation, and {} is not set here; write a batch script with `kilter batch {name}` \
                 and hand it in with `{}`",
                allocation.inside, described.script.submit
            ),
        ));
    };
    let allowed = described
        .starts
        .as_ref()
        .map(|starts| starts.pmi.clone())
        .unwrap_or_default();
    match (pmi, allowed.first()) {
        (Some(wanted), _) if !allowed.iter().any(|one| one == wanted) => {
            let allowed = if allowed.is_empty() {
                "none".to_owned()
            } else {
                allowed.join(", ")
            };
            return Err(wrong(
                "--pmi",
                format!("`{wanted}` is no interface of `{name}`; allowed: {allowed}"),
            ));
        }
        (_, None) => {}
        (wanted, Some(usual)) => {
            let interface = wanted.unwrap_or(usual);
            for argument in described.starts.iter_mut().flat_map(|starts| &mut starts.arguments) {
                *argument = argument.replace("{pmi}", interface);
            }
        }
    }
    // The user has said how ranks start: an allocation that does not tell its shape is used all the same.
    let shape = Shape::of(&described.allocation, surroundings).ok().flatten();
    Ok(Found::new(described, &job, shape, surroundings))
}

/// The allocation in which the command runs, whoever made it; its ranks are started by the library's own launcher. Nothing outside of any, or if
/// its batch system does not tell its hosts. An error, about `option`, if what it tells cannot be read.
pub(super) fn around(option: &'static str, surroundings: &Surroundings<'_>) -> Result<Found, OptionError> {
    let mut all = launcher::load_embedded().map_err(|error| wrong(option, error.to_string()))?;
    // Those first in whose allocations the library's launcher is the usual one.
    all.sort_by_key(|described| described.starts.is_some());
    for mut described in all {
        let inside = described.allocation.inside.clone();
        let Some(job) = surroundings.value(&inside) else {
            continue;
        };
        let shape = Shape::of(&described.allocation, surroundings).map_err(|unread| {
            let message = format!("{inside}={job} is an allocation, but {unread}; give --layouts such as 8x1,8x16");
            wrong(option, message)
        })?;
        if shape.is_some() {
            described.starts = None;
            return Ok(Found::new(described, &job, shape, surroundings));
        }
    }
    Ok(Found::default())
}

/// Layouts of the allocation in which the command runs: a rank on each of its nodes, and one on each of their CPUs. An error if no batch system
/// tells them, or if one rank would be all.
pub(super) fn layouts(surroundings: &Surroundings<'_>) -> Result<Vec<Layout>, OptionError> {
    let refused = |message: &str| wrong("--layouts", message);
    let found = around("--layouts", surroundings)?;
    let Some(shape) = found.shape else {
        return Err(refused(
            "`auto` asks an allocation, and no variable of a batch system that tells its hosts, such as SLURM_JOB_ID, is set here; give \
             layouts such as 8x1,8x16",
        ));
    };
    let layouts = shape.layouts();
    if layouts.is_empty() {
        return Err(refused(
            "`auto`: the allocation has one core, on which collectives do nothing; ask for more",
        ));
    }
    Ok(layouts)
}

#[cfg(test)]
mod tests;
