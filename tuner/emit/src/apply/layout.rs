//! Where things go, for one user, for everybody, or below a prefix.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kilter_bench::launch::CommandSpec;
use kilter_bench::launch::capture::capture;
use kilter_bench::launch::command::quote;

use super::journal::Journal;
use super::paths::{below, installed};
use crate::manifest::SiteFile;

/// What is Kilter's own lies there, with a folder for each library, below a home's `.local`, the system's `/usr/local` or a prefix.
pub(super) const SHARE: &str = "share/kilter";

/// `ompi_info --path` takes a tenth of a second.
const INFO_LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

/// For whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The user, in the home directory.
    User,
    /// Everybody on this machine, or on the system whose root is this directory: an image, a package.
    System(Option<PathBuf>),
    /// Whoever uses a tree of software; nothing outside of it is touched.
    Prefix(PathBuf),
}

impl Scope {
    /// As it is typed.
    #[must_use]
    pub fn option(&self) -> String {
        match self {
            Scope::User => "--user".to_owned(),
            Scope::System(None) => "--system".to_owned(),
            Scope::System(Some(root)) => format!("--system --root {}", quote(&root.display().to_string())),
            Scope::Prefix(prefix) => {
                format!("--prefix {}", quote(&prefix.display().to_string()))
            }
        }
    }

    /// The journal of what was applied there.
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

/// Where the files of one library go, as those who read them see it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// Directory of what is Kilter's own.
    pub share: PathBuf,
    /// The library's installed file of parameters; without one the modules carry them.
    pub parameters: Option<PathBuf>,
    /// The site's file of parameters, where what is installed wins over it and it is not what changes.
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
    pub fn find(scope: &Scope, site_file: Option<SiteFile>, mpirun: &Path) -> anyhow::Result<Layout> {
        let share = match scope {
            Scope::User => home()?.join(".local").join(SHARE),
            Scope::System(_) => Path::new("/usr/local").join(SHARE),
            Scope::Prefix(prefix) => prefix.join(SHARE),
        };
        let parameters = match (site_file, scope) {
            (None, _) => None,
            (Some(SiteFile::Mvapich2), Scope::User) => Some(home()?.join(".mvapich2.conf")),
            (Some(SiteFile::Mvapich2), Scope::System(_)) => Some("/etc/mvapich2.conf".into()),
            // The library has one place for the system and one for the user; the modules carry it elsewhere.
            (Some(SiteFile::Mvapich2), Scope::Prefix(_)) => None,
            (Some(SiteFile::OpenMpi), Scope::User) => Some(home()?.join(".openmpi/mca-params.conf")),
            (Some(SiteFile::OpenMpi), Scope::System(root)) => Some(sysconfdir(mpirun, root.as_deref())?.join(SITE)),
            // Where the prefix is the library's own, its file is there.
            (Some(SiteFile::OpenMpi), Scope::Prefix(prefix)) => {
                Some(prefix.join("etc").join(SITE)).filter(|file| file.exists())
            }
        };
        let directory = match (site_file, scope) {
            (Some(SiteFile::OpenMpi), Scope::Prefix(prefix)) if parameters.is_some() => Some(prefix.join("etc")),
            // Where the library does not say, nothing can be looked for.
            (Some(SiteFile::OpenMpi), Scope::System(root)) => sysconfdir(mpirun, root.as_deref()).ok(),
            (Some(SiteFile::OpenMpi), _) => sysconfdir(mpirun, None).ok(),
            _ => None,
        };
        let site = directory.as_ref().map(|directory| directory.join(SITE));
        Ok(Layout {
            share,
            site: site.filter(|site| parameters.as_ref() != Some(site)),
            parameters,
            overrides: directory.map(|directory| directory.join(OVERRIDES)),
            root: match scope {
                Scope::System(root) => root.clone(),
                _ => None,
            },
        })
    }

    /// Where a file is now that will be at `path`.
    #[must_use]
    pub fn on_disk(&self, path: &Path) -> PathBuf {
        below(self.root.as_deref(), path)
    }

    /// Where a file will be that is at `path` now.
    #[must_use]
    pub fn installed(&self, path: &Path) -> PathBuf {
        installed(self.root.as_deref(), path)
    }
}

/// Name of Open MPI's file of the site.
const SITE: &str = "openmpi-mca-params.conf";
/// The one beside it that neither users nor command lines win over.
const OVERRIDES: &str = "openmpi-mca-params-override.conf";

fn home() -> anyhow::Result<PathBuf> {
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .context("the home directory is unknown: set HOME to it, or use --system or --prefix PATH")
}

/// Where Open MPI says that its files of the site are, and they are, or will be where `root` is the root.
fn sysconfdir(mpirun: &Path, root: Option<&Path>) -> anyhow::Result<PathBuf> {
    let beside = mpirun
        .parent()
        .map(|directory| directory.join("ompi_info"))
        .filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| "ompi_info".into());
    let spec = CommandSpec {
        argv: [program.display().to_string()]
            .into_iter()
            .chain(["--path", "sysconfdir", "--parsable"].map(str::to_owned))
            .collect(),
        environment: Vec::new(),
    };
    let captured = capture(&spec, INFO_LIMIT)?;
    let directory = captured
        .output
        .lines()
        .find_map(|line| line.trim().strip_prefix("path:sysconfdir:"))
        .map(PathBuf::from)
        .with_context(|| {
            format!(
                "`{spec}` does not say where the site's files are: {}",
                captured.output.trim()
            )
        })?;
    anyhow::ensure!(
        below(root, &directory).is_dir(),
        "`{spec}` names `{}`, which is not there: the library was moved after it was built; use --prefix PATH and load the module",
        below(root, &directory).display()
    );
    Ok(directory)
}
