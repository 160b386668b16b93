//! The disk: a staging directory, the files that are to change, the lock of a journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use kilter_profile::trust::{self, Trusted};

use crate::apply::staged::{Current, Staged};
use crate::digest::sha256;
use crate::manifest::{self, Manifest};

/// Reads the files of a staging directory that its manifest lists.
///
/// # Errors
/// No staging directory, or a file that it lists and cannot be read.
pub fn staged(directory: &Path) -> anyhow::Result<Staged> {
    let trusted = trusted();
    let path = directory.join(manifest::NAME);
    let text = read_trusted(&path, &trusted).with_context(|| {
        format!(
            "`{}` cannot be followed; name the directory of emitted files, such as kilter-out/emit",
            path.display()
        )
    })?;
    let text = String::from_utf8(text).with_context(|| format!("`{}` is no text", path.display()))?;
    let manifest = Manifest::parse(&text).with_context(|| format!("`{}`", path.display()))?;
    let mut files = BTreeMap::new();
    for file in &manifest.files {
        let path = directory.join(&file.name);
        let content = read_trusted(&path, &trusted)?;
        ensure!(
            sha256(&content) == file.sha256,
            "`{}` is not what `{name}` lists: its SHA-256 is {} in place of {}; copy the directory again or, if the change is yours, put this \
             into `{name}`",
            path.display(),
            sha256(&content),
            file.sha256,
            name = manifest::NAME
        );
        files.insert(file.name.clone(), content);
    }
    Ok(Staged {
        directory: directory.to_path_buf(),
        manifest,
        files,
    })
}

/// Owners whose staging directories are installed, and whose journals are followed.
pub(super) fn trusted() -> Trusted {
    Trusted::installer(std::env::var("SUDO_UID").ok().and_then(|user| user.parse().ok()))
}

/// Reads a file that nobody else can have written: installed files are loaded into every program.
fn read_trusted(path: &Path, trusted: &Trusted) -> anyhow::Result<Vec<u8>> {
    let mut file = trust::open_of(path, trusted)?;
    trust::directory(path.parent().unwrap_or(path), trusted).context(
        "others could exchange what lies there; copy it to a directory of your own, and see that it is as you want it",
    )?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)
        .with_context(|| format!("`{}` cannot be read", path.display()))?;
    Ok(content)
}

/// The state of a path now; links are followed.
///
/// # Errors
/// A link to nothing, or something there that is no readable file.
pub fn current(path: &Path) -> anyhow::Result<Current> {
    let unreadable = || format!("`{}` cannot be read", path.display());
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Current::default()),
        found => found.with_context(unreadable)?,
    };
    let target = match found.file_type().is_symlink() {
        false => None,
        true => Some(path.canonicalize().with_context(|| {
            format!(
                "`{}` is a link to nothing; make the file that it names, or remove it",
                path.display()
            )
        })?),
    };
    let metadata = std::fs::metadata(path).with_context(unreadable)?;
    if !metadata.is_file() {
        bail!("`{}` is no file; move it away", path.display());
    }
    Ok(Current {
        content: Some(std::fs::read(path).with_context(unreadable)?),
        mode: Some(metadata.mode() & 0o7777),
        target,
    })
}

/// The directories above these files that are not there, parents first.
#[must_use]
pub fn missing_directories<'p>(files: impl Iterator<Item = &'p Path>) -> Vec<PathBuf> {
    let missing: BTreeSet<PathBuf> = files
        .flat_map(|file| file.ancestors().skip(1))
        .filter(|directory| !directory.as_os_str().is_empty() && !directory.exists())
        .map(Path::to_path_buf)
        .collect();
    // A parent sorts before what is below it.
    missing.into_iter().collect()
}

/// Makes a journal and holds it, so that two commands do not meddle with each other; until the result is dropped.
///
/// # Errors
/// It cannot be made, or another command holds it.
pub fn lock(root: &Path) -> anyhow::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(root)
        .with_context(|| format!("the journal `{}` cannot be made", root.display()))?;
    let path = root.join(".lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("`{}` cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("another `kilter apply` or `kilter rollback` is at work; wait for its end")
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("`{}` cannot be locked", path.display())),
    }
}
