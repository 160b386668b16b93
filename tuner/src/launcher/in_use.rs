//! The library that the ranks of jobs run with. A launcher's version line is a hint: where it fits a description, and a build of Kilter whose
//! worker names the same library, that is it. Else the worker is started and asked ([`trial`]), and what its ranks say decides.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use kilter_bench::launch::capture::{CaptureError, launcher_version};
use kilter_bench::programs::{self, Programs, ProgramsError};
use kilter_emit::emitters;
use kilter_model::config::library::{self, Library};
use kilter_model::options::Options;

use super::trial::{self, NoneFound, Ran, Trial};

/// A launcher that takes longer to say its version hangs.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// The library in use, and Kilter's programs for it.
#[derive(Debug)]
pub struct InUse {
    /// The library in its own words: its launcher's version line, or the first line of `MPI_Get_library_version` where ranks were asked.
    pub line: String,
    /// Its description, with the launcher that is used.
    pub library: Library,
    /// Its version.
    pub version: String,
    /// The programs.
    pub programs: Programs,
    /// Words on a launcher that says something else, or nothing that is known.
    pub remark: Option<Remark>,
}

/// Words on a launcher that does not name the library in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// True if the launcher names another library; false if no description fits what it says.
    pub contradicts: bool,
    /// The words of launcher and ranks, and what follows from them.
    pub text: String,
}

/// Reason why nothing can be launched.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// The library is not known.
    #[error(transparent)]
    Library(anyhow::Error),
    /// No worker goes with the library or the launcher.
    #[error(transparent)]
    Worker(anyhow::Error),
}

/// The version line of a launcher; `None` if it has none. An error if it does not start or hangs.
fn said(launcher: &Path) -> Result<Option<String>, CaptureError> {
    match launcher_version(launcher, VERSION_LIMIT) {
        Ok(line) => Ok(Some(line)),
        Err(CaptureError::Failed { .. } | CaptureError::Silent { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Finds the library in use by what its launcher says, or by a job of the worker's where that decides nothing.
pub fn find(options: &Options) -> Result<InUse, NotFound> {
    let unknown = |error| NotFound::Library(anyhow::Error::new(error));
    let said = match said(&options.mpirun) {
        // Another program starts the ranks, so that the library's own launcher need not be there.
        Err(_) if options.starts.is_some() => None,
        said => said.map_err(|error| NotFound::Library(error.into()))?,
    };
    let described = options.library_description.as_deref().map(emitters::load_file);
    let described = described.transpose().map_err(unknown)?;
    let hinted = match (&described, &said) {
        (Some(library), Some(line)) => Ok(library.clone().for_version(&library.version_of(line))),
        (None, Some(line)) => library::find_for(line).map_err(unknown),
        (Some(library), None) => Ok(library.clone()),
        (None, None) => Err(NotFound::Library(anyhow::anyhow!(
            "`{}` says no version by `--version`; give another --mpirun, or --library-description FILE",
            options.mpirun.display()
        ))),
    };
    let (hinted, refused) = match (hinted, said.clone()) {
        (Ok(library), Some(line)) => match by_hint(options, library.clone(), line) {
            Ok(found) => return Ok(found),
            Err(error @ ProgramsError::Broken { .. }) => return Err(NotFound::Worker(error.into())),
            Err(error) => (Some(library), NotFound::Worker(error.into())),
        },
        (Ok(library), None) => {
            let error = anyhow::anyhow!("`{}` says no version by `--version`", options.mpirun.display());
            (Some(library), NotFound::Library(error))
        }
        (Err(error), _) => (None, error),
    };
    let trial = Trial {
        options,
        said: said.as_deref(),
        described: described.as_ref(),
        // A description of the user's own says nothing of the launcher.
        hinted: hinted.as_ref().filter(|_| described.is_none()),
    };
    match trial.find() {
        Ok(ran) => Ok(in_use(&trial, ran)),
        // No job was tried, so that the first answer is all that is known.
        Err(NoneFound::NoBuild) => Err(refused),
        Err(reason) => Err(match (&trial.hinted, trial.said) {
            (None, Some(said)) if described.is_none() => NotFound::Library(anyhow::anyhow!(
                "`{}` says `{said}`, which names no library; {reason}",
                options.mpirun.display()
            )),
            _ => refused.and(&reason),
        }),
    }
}

/// The library of a command that the user starts, and Kilter's programs for it. No job asks what its ranks run with: where the launcher names no
/// library, that of the only build which may be meant is taken.
pub fn of_command(launcher: &Path, libexec: Option<&Path>, own: &Path) -> anyhow::Result<(Library, Programs)> {
    let said = match said(launcher) {
        Err(CaptureError::Process(_)) => None,
        said => said?,
    };
    let hinted = said.as_deref().map(|line| (line, library::find_for(line)));
    if let Some((line, Ok(library))) = hinted {
        let programs = Programs::find(libexec, own, (&library, &library.version_of(line)), launcher)?;
        return Ok((library, programs));
    }
    let words = said.map_or_else(
        || "says no version".to_owned(),
        |line| format!("says `{line}`, which fits no description"),
    );
    let mut builds = trial::builds(libexec, own, launcher);
    anyhow::ensure!(
        builds.len() <= 1,
        "`{}` {words}, and there are builds for {}: say by --libexec DIRECTORY with which library the program runs, or give another --mpirun",
        launcher.display(),
        builds
            .iter()
            .map(|programs| format!("`{}`", programs.built_for))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let found = builds
        .pop()
        .and_then(|programs| Some((library::find_reported(&programs.built_for).ok()??, programs)));
    let (mut library, programs) = found.with_context(|| {
        format!(
            "`{}` {words}, and no worker is built for a library that has a description; run `scripts/build`",
            launcher.display()
        )
    })?;
    // Its way of handing variables to ranks is not known: they are put into its own environment.
    library.launcher.environment.clear();
    Ok((library, programs))
}

fn by_hint(options: &Options, library: Library, line: String) -> Result<InUse, ProgramsError> {
    let by_launcher = library.version_of(&line);
    let wanted = (&library, by_launcher.as_str());
    let programs = Programs::find(
        options.libexec.as_deref(),
        &options.own_directory,
        wanted,
        &options.mpirun,
    )?;
    Ok(InUse {
        version: programs::version(&library, &line, &programs),
        line,
        library,
        programs,
        remark: None,
    })
}

fn in_use(trial: &Trial<'_>, ran: Ran) -> InUse {
    let Ran {
        line,
        library,
        programs,
    } = ran;
    let version = library.version_of(&line);
    let launcher = trial.options.mpirun.display();
    let own_words = line.split(',').next().unwrap_or_default();
    let ranks = format!("its ranks ran with `{own_words}` (`{}`)", programs.worker.display());
    let measured = format!("{} {version} (`{}`) is measured", library.name, library.id);
    let (contradicts, text) = match (trial.hinted, trial.said) {
        (Some(hinted), Some(said)) => {
            let hinted = format!("{} {}", hinted.name, hinted.version_of(said));
            let text =
                format!("`{launcher}` says `{said}`, which is {hinted}, but {ranks}: the ranks decide, {measured}");
            (true, text)
        }
        (_, Some(said)) => (
            false,
            format!("`{launcher}` says `{said}`, which names no library, and {ranks}: {measured}"),
        ),
        (_, None) => (
            false,
            format!("`{launcher}` does not say its version, and {ranks}: {measured}"),
        ),
    };
    InUse {
        line,
        library,
        version,
        programs,
        remark: Some(Remark { contradicts, text }),
    }
}

impl NotFound {
    /// The same with what came of the jobs that were tried all the same.
    fn and(self, reason: &NoneFound) -> NotFound {
        let with = |error: anyhow::Error| anyhow::anyhow!("{error:#}; {reason}");
        match self {
            NotFound::Library(error) => NotFound::Library(with(error)),
            NotFound::Worker(error) => NotFound::Worker(with(error)),
        }
    }
}
