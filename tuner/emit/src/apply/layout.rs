//! Places of all that is installed, for one user, for everybody, or below a prefix.

use std::path::{Path, PathBuf};

use super::journal::Journal;
pub use crate::scope::Scope;
use crate::scope::{below, home, installed};
use crate::site_file::{Places, SiteFile};

/// Directory of Kilter's own files, with a folder for each library, below a home's `.local`, the system's `/usr/local` or a prefix.
pub(super) const SHARE: &str = "share/kilter";

impl Scope {
    /// The journal of the installations there.
    ///
    /// # Errors
    /// No home directory is known.
    pub fn journal(&self) -> anyhow::Result<Journal> {
        let (directory, root) = match self {
            Scope::User => (home()?.join(".local/state/kilter/journal"), None),
            Scope::System(root) => {
                let directory = below(root.as_deref(), Path::new("/var/lib/kilter/journal"));
                (directory, root.clone())
            }
            Scope::Prefix(prefix) => (prefix.join("var/lib/kilter/journal"), None),
        };
        let tree = match self {
            Scope::Prefix(prefix) => Some(prefix.clone()),
            Scope::User | Scope::System(_) => None,
        };
        Ok(Journal { directory, root, tree })
    }
}

/// Places of the files of one library, as those who read them see it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// Directory of Kilter's own files.
    pub share: PathBuf,
    /// The library's installed file of parameters; without one the modules carry them.
    pub parameters: Option<PathBuf>,
    /// The site's file of parameters, if the installed one wins over it and is another file.
    pub site: Option<PathBuf>,
    /// The site's file whose parameters win over everything, where the library has one.
    pub overrides: Option<PathBuf>,
    /// The directory that will be the root of the system.
    pub root: Option<PathBuf>,
}

impl Layout {
    /// Finds it out. `mpirun` is the launcher of the library, beside which its other programs are.
    ///
    /// # Errors
    /// No home directory is known, or the library does not say where its files are.
    pub fn find(scope: &Scope, site_file: Option<&SiteFile>, mpirun: &Path) -> anyhow::Result<Layout> {
        let share = match scope {
            Scope::User => home()?.join(".local").join(SHARE),
            Scope::System(_) => Path::new("/usr/local").join(SHARE),
            Scope::Prefix(prefix) => prefix.join(SHARE),
        };
        let places = match site_file {
            Some(site_file) => (site_file.places)(scope, mpirun)?,
            None => Places::default(),
        };
        Ok(Layout {
            share,
            site: places.site.filter(|site| places.parameters.as_ref() != Some(site)),
            parameters: places.parameters,
            overrides: places.overrides,
            root: match scope {
                Scope::System(root) => root.clone(),
                _ => None,
            },
        })
    }

    /// The place now of a file that will be at `path`.
    #[must_use]
    pub fn on_disk(&self, path: &Path) -> PathBuf {
        below(self.root.as_deref(), path)
    }

    /// The later place of a file that is at `path` now.
    #[must_use]
    pub fn installed(&self, path: &Path) -> PathBuf {
        installed(self.root.as_deref(), path)
    }
}
