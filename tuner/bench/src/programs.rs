//! Finds the programs and libraries that were built for an MPI library.
//!
//! Worker, drop-in and plugin are built once per MPI library. They are looked for, in this order,
//!
//! 1. in the directory of `--libexec`, and nowhere else where it is given;
//! 2. in `<directory of kilter>/../libexec/kilter/<build>`, where `scripts/install` puts them (`mpich-4.0`, for example);
//! 3. in `<directory of kilter>/../mpi/<build>/release` (or as the directory of `kilter` is named), where `scripts/build --mpi <build>` puts them;
//! 4. in the directory of `kilter` itself, where `scripts/build` puts those of the default library.
//!
//! A library in a prefix of its own has a build of any name (`scripts/build --mpi-prefix DIR --name NAME`). A build whose worker names the
//! launcher's library comes first if both lie in one prefix, and last if they do not.
//!
//! Programs that are found must have been built for the launcher's library. A worker of another library starts as well,
//! but each of its ranks finds itself alone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use kilter_model::config::library::Library;
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::row::Rows;

use crate::launch::capture::{CaptureError, capture};
use crate::launch::command::CommandSpec;

mod builds;

/// Time after which a worker that does not say for which library it was built counts as hung.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// Programs and libraries for one MPI library.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Programs {
    /// The MPI program that measures, as it is launched.
    pub worker: PathBuf,
    /// The file of the MPI library, as the worker finds it here; `None` if the worker does not report it.
    pub library: Option<PathBuf>,
    /// MPI library for which the worker was built, as it says itself: the first line of `MPI_Get_library_version`,
    /// white space as single blanks.
    pub built_for: String,
    /// Command that builds missing programs.
    build: String,
}

/// Reason why the programs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProgramsError {
    /// No worker was found.
    #[error("kilter-worker for {library} is in none of {}; build it with `{build}`, or say where it is with --libexec",
        places.iter().map(|place| format!("`{}`", place.display())).collect::<Vec<_>>().join(", "))]
    Missing {
        /// Name and version.
        library: String,
        /// Directories that were searched.
        places: Vec<PathBuf>,
        /// The command that builds it.
        build: String,
    },
    /// The worker was built for another library.
    #[error("`{}` was built for `{built_for}`, but {wanted}; build one with `{build}`, or give another --mpirun", worker.display())]
    Other {
        /// The worker.
        worker: PathBuf,
        /// The worker's own description of its library.
        built_for: String,
        /// The launcher's library, in words.
        wanted: String,
        /// The command that builds the right one.
        build: String,
    },
    /// The worker does not run, for example because its MPI library is gone.
    #[error("the worker does not run: {source}; build it anew with `{build}`")]
    Broken {
        /// Cause.
        source: CaptureError,
        /// The command that builds it.
        build: String,
    },
}

impl Programs {
    /// Finds the programs and asks the worker for which library it was built. `own` is the directory of `kilter`. An
    /// error if there is no worker, or one for another library.
    pub fn find(
        libexec: Option<&Path>,
        own: &Path,
        (library, version): (&Library, &str),
        launcher: &Path,
    ) -> Result<Programs, ProgramsError> {
        let by_name = Programs::by_name(libexec, own, (library, version), launcher);
        let is_decided = by_name.as_ref().is_ok_and(|found| found.lie_beside(launcher));
        // A simulator launches another file than the worker that says what it was built for.
        if is_decided || libexec.is_some() || library.launcher.program.is_some() {
            return by_name;
        }
        let is_fitting = |found: &Programs| library.is_built_for(version, &found.built_for);
        let mut fitting: Vec<Programs> = Programs::all(None, own).into_iter().filter(is_fitting).collect();
        match fitting.iter().position(|found| found.lie_beside(launcher)) {
            Some(at) => Ok(fitting.swap_remove(at)),
            None => by_name.or_else(|error| fitting.into_iter().next().ok_or(error)),
        }
    }

    /// The programs in the first place of the build's name that has a worker.
    fn by_name(
        libexec: Option<&Path>,
        own: &Path,
        (library, version): (&Library, &str),
        launcher: &Path,
    ) -> Result<Programs, ProgramsError> {
        let name = library.build_name(version);
        let named = if library.version_of_worker {
            library.name.clone()
        } else {
            format!("{} {version}", library.name)
        };
        let build = format!("scripts/build --mpi {name}");
        let places = match libexec {
            Some(directory) => vec![directory.to_path_buf()],
            None => {
                let above = own.parent().unwrap_or(own);
                vec![
                    above.join("libexec/kilter").join(&name),
                    above
                        .join("mpi")
                        .join(name)
                        .join(own.file_name().unwrap_or("release".as_ref())),
                    own.to_path_buf(),
                ]
            }
        };
        let found = places
            .iter()
            .map(|place| place.join("kilter-worker"))
            .find(|path| path.is_file());
        let Some(worker) = found else {
            return Err(ProgramsError::Missing {
                library: named,
                places,
                build,
            });
        };
        match built_for(&worker) {
            Err(source) => Err(ProgramsError::Broken { source, build }),
            Ok((line, file)) if library.is_built_for(version, &line) => {
                let programs = Programs {
                    worker,
                    library: file,
                    built_for: line,
                    build,
                };
                // A simulator loads a library that lies beside the program which names its MPI library.
                let launched = library.launcher.program.as_deref().map(|name| programs.beside(name));
                match launched {
                    None => Ok(programs),
                    Some(Ok(worker)) => Ok(Programs { worker, ..programs }),
                    Some(Err(_)) => Err(ProgramsError::Missing {
                        library: named,
                        places,
                        build: programs.build,
                    }),
                }
            }
            Ok((line, _)) => Err(ProgramsError::Other {
                worker,
                built_for: line,
                wanted: format!("`{}` belongs to {named}", launcher.display()),
                build,
            }),
        }
    }

    /// Programs beside a worker that is not asked for which library it was built.
    #[must_use]
    pub fn unasked(worker: PathBuf, built_for: String) -> Programs {
        Programs {
            worker,
            library: None,
            built_for,
            build: "scripts/build".to_owned(),
        }
    }

    /// The drop-in; an error if it does not lie beside the worker.
    pub fn dropin(&self) -> anyhow::Result<PathBuf> {
        self.beside("libkilter.so")
    }

    /// The plugin with Kilter's algorithms; an error if it does not lie beside the worker.
    pub fn plugin(&self) -> anyhow::Result<PathBuf> {
        self.beside("libkilter_collectives.so")
    }

    /// Rows of a plugin, which the worker loads and reads without a launcher. An error if the plugin is refused, or the
    /// worker does not answer.
    pub fn rows_of(&self, plugin: &Path) -> anyhow::Result<Rows> {
        let spec = CommandSpec {
            argv: vec![
                self.worker.display().to_string(),
                "rows".to_owned(),
                plugin.display().to_string(),
            ],
            environment: Vec::new(),
        };
        let captured = capture(&spec, ANSWER_LIMIT)?;
        let lines = || captured.output.lines().map(str::trim).filter(|line| !line.is_empty());
        if !captured.status.success() {
            let said = lines().next_back().unwrap_or("the worker does not say why");
            anyhow::bail!("{}", said.trim_start_matches("kilter-worker: "));
        }
        let line = lines().find(|line| line.starts_with('{'));
        let line = line.with_context(|| format!("`{spec}` printed no rows; build it with `{}`", self.build))?;
        let rows = Rows::from_json(line.as_bytes()).with_context(|| format!("what `{spec}` printed"))?;
        anyhow::ensure!(
            rows.v == kilter_protocol::VERSION,
            "`{}` is of another version than this kilter; build it with `{}`",
            self.worker.display(),
            self.build
        );
        Ok(rows)
    }

    /// The library with the progress thread; an error if it does not lie beside the worker.
    pub fn progress(&self) -> anyhow::Result<PathBuf> {
        self.beside(PROGRESS_LIBRARY)
    }

    /// The library that counts a program's calls; an error if it does not lie beside the worker.
    pub fn tracer(&self) -> anyhow::Result<PathBuf> {
        self.beside("libkilter_tracer.so")
    }

    /// The MPI program that verifies the rows of a plugin; an error if it does not lie beside the worker.
    pub fn verifier(&self) -> anyhow::Result<PathBuf> {
        self.beside("kilter-verify")
    }

    fn beside(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.worker.with_file_name(name);
        anyhow::ensure!(
            path.is_file(),
            "`{}` is missing; build it with `{}`",
            path.display(),
            self.build
        );
        Ok(path)
    }
}

/// The file with the progress thread.
pub const PROGRESS_LIBRARY: &str = "libkilter_progress.so";

/// First word of the line that names the library's file.
const FILE: &str = "file: ";

/// First line of the library version of a worker's own MPI library, and the library's file.
fn built_for(worker: &Path) -> Result<(String, Option<PathBuf>), CaptureError> {
    let spec = CommandSpec {
        argv: vec![worker.display().to_string(), "library".to_owned()],
        environment: Vec::new(),
    };
    let captured = capture(&spec, ANSWER_LIMIT)?;
    let first = captured
        .output
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned();
    if captured.status.success() {
        let file = captured.output.lines().find_map(|line| line.strip_prefix(FILE));
        return Ok((
            first.split_whitespace().collect::<Vec<_>>().join(" "),
            file.map(PathBuf::from),
        ));
    }
    Err(CaptureError::Failed {
        command: spec.to_string(),
        status: captured.status,
        output: if first.is_empty() {
            "no output".to_owned()
        } else {
            first
        },
    })
}

/// Version of the library, from the launcher's version line, or from the worker if the launcher has versions of its
/// own.
#[must_use]
pub fn version(library: &Library, line: &str, programs: &Programs) -> String {
    if library.version_of_worker {
        library.version_of(&programs.built_for)
    } else {
        library.version_of(line)
    }
}

/// FNV-1a of the file: it tells builds apart, not adversaries.
pub fn digest(plugin: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(plugin).with_context(|| format!("cannot read plugin `{}`", plugin.display()))?;
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Ok(format!("{hash:016x}"))
}

#[cfg(test)]
mod tests;
