//! Jobs that find out what a launcher starts: the worker of a build, which says with which library its ranks run, and if they find each other.

use std::path::Path;

use kilter_bench::programs::Programs;
use kilter_model::config::library::{self, Launcher, Library};
use kilter_model::config::{self, launcher};
use kilter_model::options::Options;

use super::describe::{Described, describe};

/// A variable that every rank must see, so that settings are known to arrive.
const PROBE: (&str, &str) = ("KILTER_PROBE", "arrived");

/// The builds that may go with a launcher that names no library: that of `--libexec`; else those whose library lies in the launcher's prefix;
/// else all.
pub(super) fn builds(libexec: Option<&Path>, own: &Path, launcher: &Path) -> Vec<Programs> {
    let mut all = Programs::all(libexec, own);
    if libexec.is_none() && all.iter().any(|programs| programs.lie_beside(launcher)) {
        all.retain(|programs| programs.lie_beside(launcher));
    }
    all
}

/// The directory of a build.
fn directory(programs: &Programs) -> String {
    programs
        .worker
        .parent()
        .unwrap_or(&programs.worker)
        .display()
        .to_string()
}

/// Reason why no build's ranks found each other.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoneFound {
    /// There is no build to try.
    #[error("no build goes with the launcher")]
    NoBuild,
    /// All builds failed.
    #[error("{}", joined(.0))]
    Builds(Vec<BuildFailed>),
    /// Ranks of several libraries found each other.
    #[error("it starts ranks of {}: say by --libexec DIRECTORY which is meant", .0.join(", "))]
    Several(Vec<String>),
}

/// Reason why a build's ranks did not find each other.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildFailed {
    /// Its library has no description.
    #[error(
        "no description fits `{built_for}`, which the worker in `{directory}` says; describe it by --library-description FILE"
    )]
    NotDescribed { built_for: String, directory: String },
    /// It is built for a simulator.
    #[error("the worker in `{0}` is a simulator's")]
    Simulator(String),
    /// No way of starting it worked.
    #[error("tried with the worker in `{directory}`: {}", joined(.reasons))]
    NotStarted {
        directory: String,
        reasons: Vec<NotStarted>,
    },
}

/// Reason why one way of starting a build's worker did not work.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotStarted {
    /// The ranks' library has no description.
    #[error("no description fits `{0}`, which the ranks say")]
    NotDescribed(String),
    /// The job failed.
    #[error("{0:#}")]
    Job(anyhow::Error),
}

fn joined(reasons: &[impl ToString]) -> String {
    let texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Facts that are known before the worker is started.
pub(super) struct Trial<'a> {
    pub(super) options: &'a Options,
    /// The launcher's version line.
    pub(super) said: Option<&'a str>,
    /// The user's own description.
    pub(super) described: Option<&'a Library>,
    /// The library that the launcher names.
    pub(super) hinted: Option<&'a Library>,
}

/// Ranks that found each other.
#[derive(Debug)]
pub(super) struct Ran {
    /// First line of the library's version, white space as single blanks.
    pub(super) line: String,
    /// Its description, with the launcher that started it.
    pub(super) library: Library,
    /// Its programs.
    pub(super) programs: Programs,
}

impl Trial<'_> {
    /// The build whose ranks find each other.
    pub(super) fn find(&self) -> Result<Ran, NoneFound> {
        let mut failed = Vec::new();
        let mut found = Vec::new();
        for programs in self.candidates() {
            match self.of_build(programs) {
                Ok(ran) => found.push(ran),
                Err(reason) => failed.push(reason),
            }
        }
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (None, _) if failed.is_empty() => Err(NoneFound::NoBuild),
            (None, _) => Err(NoneFound::Builds(failed)),
            (Some(ran), None) => Ok(ran),
            (Some(first), Some(second)) => {
                let all = [first, second].into_iter().chain(found);
                let words = |ran: Ran| {
                    let version = ran.library.version_of(&ran.line);
                    format!("{} {version} (`{}`)", ran.library.name, directory(&ran.programs))
                };
                Err(NoneFound::Several(all.map(words).collect()))
            }
        }
    }

    /// The builds that may go with the launcher. One that names its library goes with a build elsewhere only by `--libexec`.
    fn candidates(&self) -> Vec<Programs> {
        let options = self.options;
        let mut builds = builds(options.libexec.as_deref(), &options.own_directory, &options.mpirun);
        if self.hinted.is_some() && options.libexec.is_none() {
            builds.retain(|programs| programs.lie_beside(&options.mpirun));
        }
        builds
    }

    /// Starts the worker of a build in each way that the launcher may have.
    fn of_build(&self, programs: Programs) -> Result<Ran, BuildFailed> {
        let Some(library) = self.description(&programs.built_for) else {
            return Err(BuildFailed::NotDescribed {
                directory: directory(&programs),
                built_for: programs.built_for,
            });
        };
        if library.launcher.is_simulator() {
            return Err(BuildFailed::Simulator(directory(&programs)));
        }
        if self.options.dry_run {
            // Nothing is launched: what the worker says by itself has to do.
            return Ok(Ran {
                line: programs.built_for.clone(),
                library,
                programs,
            });
        }
        let mut reasons: Vec<NotStarted> = Vec::new();
        for launcher in self.launchers(&library) {
            let library = Library {
                launcher,
                ..library.clone()
            };
            match self.ran(&library, &programs) {
                Ok(line) => match self.description(&line) {
                    Some(described) => {
                        let library = Library {
                            launcher: library.launcher,
                            ..described
                        };
                        return Ok(Ran {
                            line,
                            library,
                            programs,
                        });
                    }
                    None => reasons.push(NotStarted::NotDescribed(line)),
                },
                Err(error) => {
                    let reason = NotStarted::Job(error);
                    // Two ways of starting may fail alike, which is said once.
                    if !reasons.iter().any(|known| known.to_string() == reason.to_string()) {
                        reasons.push(reason);
                    }
                }
            }
        }
        Err(BuildFailed::NotStarted {
            directory: directory(&programs),
            reasons,
        })
    }

    /// The description for what a worker says.
    fn description(&self, line: &str) -> Option<Library> {
        match self.described {
            Some(library) if library.reports_as(line) => Some(library.clone().for_version(&library.version_of(line))),
            Some(_) => None,
            None => library::find_reported(line).ok().flatten(),
        }
    }

    /// Ways in which the launcher may start the library's ranks, the likeliest first.
    fn launchers(&self, library: &Library) -> Vec<Launcher> {
        let own = &library.launcher;
        if self.options.starts.is_some() {
            return vec![own.clone()];
        }
        match self.hinted {
            Some(hinted) if hinted.id == library.id => vec![own.clone()],
            Some(hinted) => vec![hinted.launcher.clone().of_library(own), own.standard()],
            None => match self.batch_system() {
                Some(starts) => vec![own.of_batch_system(&starts)],
                None => vec![own.clone(), own.standard()],
            },
        }
    }

    /// The batch system to which a program of the launcher's name belongs; `mpiexec` may be anybody's.
    fn batch_system(&self) -> Option<config::launcher::Starts> {
        let name = self.options.mpirun.file_name()?.to_str()?;
        let known = launcher::load_embedded().ok()?.into_iter();
        known
            .filter_map(|known| known.starts)
            .find(|starts| starts.program == name && name != "mpiexec")
    }

    /// First line of the library's version, from ranks that found each other and saw the probe.
    fn ran(&self, library: &Library, programs: &Programs) -> anyhow::Result<String> {
        let question = ["-e".to_owned(), PROBE.0.to_owned()];
        let mut environment = self.options.site_environment.clone();
        environment.push((PROBE.0.to_owned(), PROBE.1.to_owned()));
        let Described { command, machines } = describe(self.options, library, programs, &environment, &question)?;
        let [machine] = machines.as_slice() else {
            anyhow::bail!(
                "each of the {} ranks that `{command}` started was alone",
                machines.len()
            );
        };
        anyhow::ensure!(
            machine.ranks.len() == self.options.ranks,
            "`{command}` started {} ranks of one job instead of {}",
            machine.ranks.len(),
            self.options.ranks
        );
        anyhow::ensure!(
            machine.environment.get(PROBE.0).is_some_and(|value| value == PROBE.1),
            "the ranks that `{command}` started did not get the variable {}",
            PROBE.0
        );
        let line = machine.library.lines().next().unwrap_or_default();
        Ok(line.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
