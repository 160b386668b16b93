//! Emitters: each writes the files of one kind of library, reads them back, and says where they belong. An emitter is a file here and a
//! row of [`EMITTERS`]; a library's description names the row.

mod mpich;
mod mvapich2;
mod openmpi;
mod smpi;
#[cfg(test)]
mod tests;
mod variables;

use std::path::{Path, PathBuf};

use kilter_algorithms::Collective;
use kilter_model::config::ConfigError;
use kilter_model::config::library::{self, Library, Mistake};
use kilter_model::deployment::Selection;
use kilter_model::setup::Setup;

use crate::Emitted;
use crate::decisions::Decisions;
use crate::fence::Fence;
use crate::installation::Installation;
use crate::site_file::{Pairs, SiteFile};

/// All emitters, by the name that descriptions of libraries give.
static EMITTERS: &[(&str, &dyn Emitter)] = &[
    ("openmpi", &openmpi::OpenMpi),
    ("mpich", &mpich::Mpich),
    ("mvapich2", &mvapich2::Mvapich2),
    ("smpi", &smpi::Smpi),
    ("variables", &variables::Variables),
    #[cfg(test)]
    ("ini", &tests::ini::Ini),
];

/// Writes the files of one kind of library.
pub trait Emitter: Sync {
    /// Divides the decisions among parameters and environment, writes what else is the library's own into the directory of `emitted`, and notes
    /// it there. The file of parameters (by [`SiteFile`]), the environment file, preloaded libraries, page, forms of sites and manifest are
    /// written for every library alike.
    ///
    /// # Errors
    /// A decision that no file can carry, or a file that cannot be written.
    fn write(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &mut Emitted,
    ) -> anyhow::Result<Settings>;

    /// Refuses a staging directory in which the library could not find its files. It is called before anything is measured.
    ///
    /// # Errors
    /// A path that the library, or its launcher, takes apart.
    fn check_directory(&self, _directory: &Path) -> Result<(), DividedPath> {
        Ok(())
    }

    /// The launch that uses exactly the emitted files. `read` holds what the files of parameters and of the environment say; every other file of
    /// the library's own is read back from the disk by rules that mirror its reader's.
    ///
    /// # Errors
    /// A file that its reader would refuse or ignore.
    fn staged(&self, installation: &Installation<'_>, emitted: &Emitted, read: Settings) -> anyhow::Result<Setup>;

    /// The emitter's part of the page for the administrator who finds the files: how to install them.
    fn page(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &Emitted,
        written: &Settings,
    ) -> Page;

    /// True if `write` puts choices of the library's own algorithms by size ([`Decisions::selections`]) into a file. Without that, decisions with
    /// such a choice are refused before `write`: they would have to be switched while a program runs.
    fn carries_selections(&self) -> bool {
        false
    }

    /// The communicators on which such a choice acts besides those that it is for.
    fn fence(&self, _library: &Library, _collective: Collective, _settings: &[(String, String)]) -> Fence {
        Fence::Ranks
    }

    /// The installed file that the library's parameters belong into; without one the environment carries them.
    fn site_file(&self) -> Option<&'static SiteFile> {
        None
    }
}

/// Settings as they are divided among the files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Parameters in the library's own file.
    pub parameters: Pairs,
    /// Variables of the ranks, in the environment file.
    pub environment: Pairs,
}

impl Settings {
    /// Every setting where it says that it belongs: a variable in a file of parameters would reach no rank.
    #[must_use]
    pub fn divided(decisions: &Decisions<'_>) -> Settings {
        let mut settings = Settings::default();
        for assignment in decisions.assignments {
            let list = if assignment.environment {
                &mut settings.environment
            } else {
                &mut settings.parameters
            };
            list.push((assignment.name.clone(), assignment.value.clone()));
        }
        settings
    }
}

/// An emitter's part of the page for the administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// Steps that an administrator takes by hand, file by file.
    Steps {
        /// Text before the steps.
        before: String,
        /// Each names its file first; the page numbers them.
        steps: Vec<String>,
        /// The way back: the end of a sentence that begins with "To take everything back, ".
        undo: &'static str,
    },
    /// The whole page, where nothing can be installed.
    Whole(String),
}

/// Refuses selections of a kind that no file of the library's can carry.
///
/// # Errors
/// The first such selection.
pub(crate) fn refuse_selections(
    installation: &Installation<'_>,
    decisions: &Decisions<'_>,
    is_refused: impl Fn(&Selection) -> bool,
) -> anyhow::Result<()> {
    let mut refused = decisions.selections().filter(|(_, _, _, one)| is_refused(one));
    match refused.next() {
        None => Ok(()),
        Some((_, collective, bytes, selection)) => anyhow::bail!(
            "`{}` for {collective} at {bytes} bytes: nothing that {} reads carries a choice for a size",
            selection.id(),
            installation.library.name
        ),
    }
}

/// The emitter that a library's description names; `None` where it names none.
///
/// # Errors
/// A name that no emitter has.
pub fn of(library: &Library) -> Result<Option<&'static dyn Emitter>, UnknownEmitter> {
    library.emitter.as_deref().map(named).transpose()
}

/// The emitter of this name.
fn named(name: &str) -> Result<&'static dyn Emitter, UnknownEmitter> {
    let found = EMITTERS.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, emitter)| *emitter)
        .ok_or_else(|| UnknownEmitter(name.to_owned()))
}

/// A staging directory whose path the library takes for several, since a list of files is divided there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "--out: the files would lie in `{}`, and `{separator}` divides the list of files in {variable}, by which they are tried out: the library \
     would look for each part; give an --out without `{separator}` in its path",
    directory.display()
)]
pub struct DividedPath {
    directory: PathBuf,
    separator: char,
    variable: &'static str,
}

/// A name that no emitter has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("emitter: `{0}` is none of {known}", known = known())]
pub struct UnknownEmitter(String);

/// The names of all emitters.
fn known() -> String {
    let names = EMITTERS.iter().map(|(name, _)| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

/// Reads a library's description by file.
///
/// # Errors
/// It cannot be read or is wrong.
pub fn load_file(path: &Path) -> Result<Library, ConfigError> {
    library::load_file_with(path, refused_emitter)
}

/// The descriptions that come with Kilter.
///
/// # Errors
/// A file is wrong: a defect of this build.
pub fn load_embedded() -> Result<Vec<Library>, ConfigError> {
    library::load_embedded_with(refused_emitter)
}

/// The mistake of a description that names no emitter of the table, with its key.
fn refused_emitter(library: &Library) -> Option<Mistake> {
    of(library).err().map(|error| Mistake {
        key: "emitter",
        message: error.to_string(),
    })
}

/// The site file of this name.
#[must_use]
pub fn site_file(name: &str) -> Option<&'static SiteFile> {
    site_files().find(|file| file.name == name)
}

/// The site files of all emitters.
pub(crate) fn site_files() -> impl Iterator<Item = &'static SiteFile> {
    EMITTERS.iter().filter_map(|(_, emitter)| emitter.site_file())
}

/// The site file of manifests that list parameters and name no site file.
pub(crate) static UNNAMED_SITE_FILE: &SiteFile = &openmpi::SITE_FILE;
