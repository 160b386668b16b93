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
        let rows: Rows = serde_json::from_str(line).with_context(|| format!("what `{spec}` printed"))?;
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
mod tests {
    use kilter_model::config::library::find_for;

    use super::*;

    /// Writes a worker that describes itself by `body`. Another process writes the script. A descriptor open for
    /// writing in this process could be inherited by a child that another test starts at this moment, and the script
    /// could then not be run.
    fn worker(directory: &Path, body: &str) {
        let write =
            r#"mkdir -p "$0" && printf '#!/bin/sh\n%s\n' "$1" > "$0/kilter-worker" && chmod 755 "$0/kilter-worker""#;
        let mut shell = std::process::Command::new("/bin/sh");
        shell.arg("-c").arg(write).arg(directory).arg(body);
        assert!(shell.status().unwrap().success());
    }

    fn find(libexec: Option<&Path>, own: &Path, line: &str) -> Result<Programs, ProgramsError> {
        let library = find_for(line).unwrap();
        let version = library.version_of(line);
        Programs::find(libexec, own, (&library, &version), Path::new("mpirun.mpich"))
    }

    const HYDRA: &str = "HYDRA build details: Version: 4.0.2";

    #[test]
    fn the_worker_of_the_launchers_library_is_found() {
        let target = tempfile::tempdir().unwrap();
        let own = target.path().join("release");
        let mpich = target.path().join("mpi/mpich-4.0/release");
        worker(&own, "echo 'Open MPI v4.1.4, package: Debian OpenMPI'");
        worker(
            &mpich,
            "echo 'MPICH Version:	4.0.2'; echo 'file: /opt/a b/libmpi.so.12'",
        );
        let found = find(None, &own, HYDRA).unwrap();
        assert_eq!(found.worker, mpich.join("kilter-worker"));
        assert_eq!(found.library, Some(PathBuf::from("/opt/a b/libmpi.so.12")));
        // These directories are as after an installation.
        let installed = target.path().join("libexec/kilter/mpich-4.0");
        worker(&installed, "echo 'MPICH Version: 4.0.2'");
        let found = find(None, &target.path().join("bin"), HYDRA).unwrap();
        assert_eq!(found.worker, installed.join("kilter-worker"));
        let found = find(None, &own, "mpirun.openmpi (OpenRTE) 4.1.4").unwrap();
        assert_eq!(found.worker, own.join("kilter-worker"));
        let error = found.dropin().unwrap_err().to_string();
        assert!(
            error.ends_with("build it with `scripts/build --mpi openmpi-4.1`"),
            "{error}"
        );
    }

    /// MVAPICH2's Hydra has the version of the MPICH that it is made of.
    #[test]
    fn the_worker_says_the_version_where_the_launcher_says_another_one() {
        let target = tempfile::tempdir().unwrap();
        let own = target.path().join("release");
        let line = "HYDRA build details: Version: 3.2.1";
        let missing = find(None, &own, line).unwrap_err().to_string();
        assert!(
            missing.starts_with("kilter-worker for MVAPICH2 is in none of")
                && missing.contains("mpi/mvapich2-2.3/release"),
            "{missing}"
        );
        let built = target.path().join("mpi/mvapich2-2.3/release");
        worker(&built, "echo 'MVAPICH2 Version      :	2.3.7'");
        let found = find(None, &own, line).unwrap();
        let library = find_for(line).unwrap();
        assert_eq!(version(&library, line, &found), "2.3.7");
        let rsh = "Version: mvapich2-2.3.7";
        let found = find(None, &own, rsh).unwrap();
        assert_eq!(version(&find_for(rsh).unwrap(), rsh, &found), "2.3.7");
        // MPICH 3.2.1 has no description.
        worker(&built, "echo 'MPICH Version:	3.2.1'");
        let error = find(None, &own, line).unwrap_err().to_string();
        assert!(
            error.contains("was built for `MPICH Version: 3.2.1`, but `mpirun.mpich` belongs to MVAPICH2;"),
            "{error}"
        );
    }

    /// A library in a prefix of its own has a build of any name, and comes before the system's where the launcher lies in that prefix.
    #[test]
    fn a_build_of_any_name_is_found_by_what_its_worker_says() {
        let target = tempfile::tempdir().unwrap();
        let root = target.path().canonicalize().unwrap();
        let own = root.join("release");
        worker(&own, "echo 'Open MPI v4.1.4, package: Debian OpenMPI'");
        let site = root.join("mpi/site/release");
        let prefix = root.join("opt/mpich");
        for file in ["lib/libmpi.so.12", "bin/mpirun"] {
            let file = prefix.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let says = format!(
            "echo 'MPICH Version:	4.0.2'; echo 'file: {}'",
            prefix.join("lib/libmpi.so.12").display()
        );
        worker(&site, &says);
        assert_eq!(find(None, &own, HYDRA).unwrap().worker, site.join("kilter-worker"));
        // Another version of the library is another library.
        find(None, &own, "HYDRA build details: Version: 4.0.3").unwrap_err();
        let named = root.join("mpi/mpich-4.0/release");
        worker(&named, "echo 'MPICH Version:	4.0.2'");
        assert_eq!(find(None, &own, HYDRA).unwrap().worker, named.join("kilter-worker"));
        let library = find_for(HYDRA).unwrap();
        let found = Programs::find(None, &own, (&library, "4.0.2"), &prefix.join("bin/mpirun")).unwrap();
        assert_eq!(found.worker, site.join("kilter-worker"));
    }

    #[test]
    fn a_worker_of_another_library_is_refused_with_the_command_that_builds_the_right_one() {
        let target = tempfile::tempdir().unwrap();
        let own = target.path().join("release");
        let missing = find(None, &own, HYDRA).unwrap_err().to_string();
        assert!(
            missing.starts_with("kilter-worker for MPICH 4.0.2 is in none of")
                && missing.contains("mpi/mpich-4.0/release")
                && missing.contains("`scripts/build --mpi mpich-4.0`"),
            "{missing}"
        );
        worker(&own, "echo 'Open MPI v4.1.4, package: Debian OpenMPI'");
        for (libexec, line) in [(None, HYDRA), (Some(own.as_path()), HYDRA)] {
            let error = find(libexec, &own, line).unwrap_err().to_string();
            assert!(
                error.contains("was built for `Open MPI v4.1.4, package: Debian OpenMPI`, but `mpirun.mpich` belongs to MPICH 4.0.2")
                    && error.contains("`scripts/build --mpi mpich-4.0`"),
                "{error}"
            );
        }
        // The right library in another version measures something else as well.
        let other = target.path().join("other");
        worker(&other, "echo 'MPICH Version:      4.3.2'");
        let error = find(Some(&other), &own, HYDRA).unwrap_err().to_string();
        assert!(error.contains("was built for `MPICH Version: 4.3.2`"), "{error}");
        worker(
            &other,
            "echo 'error while loading shared libraries: libmpi.so.12'; exit 127",
        );
        let error = find(Some(&other), &own, HYDRA).unwrap_err().to_string();
        assert!(
            error.contains("libmpi.so.12") && error.contains("build it anew"),
            "{error}"
        );
    }
}
