//! Emitters: each writes the files of one kind of library, reads them back, and says where they belong. An emitter is a file here and a
//! row of [`EMITTERS`]; a library's description names the row.

mod mpich;
mod mvapich2;
mod openmpi;
mod smpi;
#[cfg(test)]
mod tests;
mod variables;

use std::path::Path;

use kilter_model::config::ConfigError;
use kilter_model::config::library::{self, Library};
use kilter_model::setup::Setup;

use crate::Emitted;
use crate::decisions::Decisions;
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
    /// Writes the library's own files into the directory of `emitted`, and notes them there. Drop-in, environment file, forms of sites and
    /// manifest are written afterwards, for every library alike.
    ///
    /// # Errors
    /// A decision that no file can carry, or a file that cannot be written.
    fn write(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &mut Emitted,
    ) -> anyhow::Result<Written>;

    /// True if `write` puts choices of the library's own algorithms by size ([`Decisions::selections`]) into a file. Without that, decisions with
    /// such a choice are refused before `write`.
    fn carries_selections(&self) -> bool {
        false
    }

    /// The launch that uses exactly the emitted files: each is read back from the disk by rules that mirror its reader's. `setup` has the
    /// variables of the environment file. What is added names the library's own files to it, and says what must read back from them.
    ///
    /// # Errors
    /// A file that its reader would refuse or ignore.
    fn staged(&self, installation: &Installation<'_>, emitted: &Emitted, setup: Setup) -> anyhow::Result<Setup>;

    /// The page for the administrator who finds the files: how to install them.
    fn page(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &Emitted,
        written: &Written,
    ) -> String;

    /// The installed file that the library's parameters belong into; without one the environment carries them.
    fn site_file(&self) -> Option<&'static SiteFile> {
        None
    }
}

/// Settings as an emitter has divided them among its files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// Parameters in the library's own file, [`File::Parameters`](crate::File::Parameters) or [`File::Arguments`](crate::File::Arguments).
    pub parameters: Pairs,
    /// Variables of the ranks, for the environment file; those of the drop-in are added.
    pub environment: Pairs,
    /// Words of the launcher that give all of it to one job; those of the drop-in are added.
    pub one_job: Vec<String>,
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
    checked(library::load_file(path)?, &path.display().to_string())
}

/// The descriptions that come with Kilter.
///
/// # Errors
/// A file is wrong: a defect of this build.
pub fn load_embedded() -> Result<Vec<Library>, ConfigError> {
    let all = library::load_embedded()?;
    all.into_iter()
        .map(|library| {
            let id = library.id.clone();
            checked(library, &id)
        })
        .collect()
}

/// Refuses a description that names no emitter of the table; `file` is named in the error.
fn checked(library: Library, file: &str) -> Result<Library, ConfigError> {
    match of(&library) {
        Ok(_) => Ok(library),
        Err(error) => Err(ConfigError {
            file: file.to_owned(),
            message: error.to_string(),
        }),
    }
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

/// The site file that a manifest means which names none and lists parameters all the same.
pub(crate) static UNNAMED_SITE_FILE: &SiteFile = &openmpi::SITE_FILE;
