//! The staging directory is Kilter's own, and nothing else in it is ever removed.
//!
//! `--out .` in somebody's project puts the staging directory where their own `emit/` may lie. So a directory is emptied only of files that
//! Kilter has written there: those that its manifest lists, and those that [`JOURNAL`] lists if a run ended before the manifest was written. If
//! anything else lies there, nothing is removed, and the user is told before anything is measured. Removed files are unlinked: a job that has
//! one open, or mapped, keeps it.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::announced::JOURNAL;
use super::manifest::{self, Manifest};

/// Refuses a directory that holds something that is not Kilter's.
///
/// # Errors
/// The error names the foreign files, and the remedy.
pub fn check(directory: &Path) -> anyhow::Result<()> {
    contents(directory).map(drop)
}

/// Removes Kilter's files from a staging directory, and the directory.
///
/// # Errors
/// As [`check`], or a file that cannot be removed.
pub fn clear(directory: &Path) -> anyhow::Result<()> {
    let Some(contents) = contents(directory)? else {
        return Ok(());
    };
    let unremoved = |path: &Path| format!("`{}` cannot be removed", path.display());
    for file in &contents.files {
        fs::remove_file(file).with_context(|| unremoved(file))?;
    }
    // The innermost first.
    for below in contents.directories.iter().rev() {
        fs::remove_dir(below).with_context(|| unremoved(below))?;
    }
    Ok(())
}

/// Makes the directory, empty.
///
/// # Errors
/// As [`clear`], or where it cannot be made.
pub(super) fn begin(directory: &Path) -> anyhow::Result<()> {
    clear(directory)?;
    fs::create_dir_all(directory).with_context(|| format!("`{}` cannot be made", directory.display()))
}

/// Contents of a staging directory; the outer directories first.
struct Contents {
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
}

/// `None` where there is no such directory.
fn contents(directory: &Path) -> anyhow::Result<Option<Contents>> {
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => bail!(
            "`{}` is no directory, and files to deploy would be written there; give another --out, or move it away",
            directory.display()
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("`{}` cannot be looked at", directory.display())),
    }
    let own = own_names(directory)?;
    let mut all = Contents {
        files: Vec::new(),
        directories: vec![directory.to_path_buf()],
    };
    let mut next = 0;
    while let Some(below) = all.directories.get(next).cloned() {
        next += 1;
        let unreadable = || format!("`{}` cannot be listed", below.display());
        let mut entries = 0;
        for entry in fs::read_dir(&below).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            let path = entry.path();
            entries += 1;
            // A link to a directory is no directory.
            if entry.file_type().with_context(unreadable)?.is_dir() {
                all.directories.push(path);
            } else if own.contains(path.strip_prefix(directory).unwrap_or(&path)) {
                all.files.push(path);
            } else {
                return Err(foreign(directory, &path));
            }
        }
        // An empty directory of its own name is one that Kilter was about to fill; others are somebody's.
        if entries == 0 && below != directory && !own.iter().any(|name| directory.join(name).starts_with(&below)) {
            return Err(foreign(directory, &below));
        }
    }
    Ok(Some(all))
}

fn foreign(directory: &Path, path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "`{}` is not Kilter's, and files to deploy would replace `{}`; give another --out, or move it away",
        path.display(),
        directory.display()
    )
}

/// Names that Kilter has written, relative to the directory. None where it cannot be read: then all that lies there is somebody's.
fn own_names(directory: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut names = BTreeSet::new();
    let text = |name: &str| match fs::read_to_string(directory.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("`{}` cannot be read", directory.join(name).display())),
    };
    if let Some(journal) = text(JOURNAL)? {
        names.extend(journal.lines().map(PathBuf::from));
        names.insert(PathBuf::from(JOURNAL));
    }
    let manifest = text(manifest::NAME)?.and_then(|text| serde_json::from_str::<Manifest>(&text).ok());
    if let Some(manifest) = manifest {
        names.extend(manifest.files.into_iter().map(|file| PathBuf::from(file.name)));
        names.insert(PathBuf::from(manifest::NAME));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announced::announce;

    /// A directory `emit` with these files, and the guard that keeps it.
    fn staged(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let home = kilter_fixtures::directory();
        let directory = home.path().join("emit");
        fs::create_dir(&directory).unwrap();
        for name in files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        (home, directory)
    }

    fn with_manifest(directory: &Path, names: &[&str]) {
        let files: Vec<_> = names
            .iter()
            .map(|name| serde_json::json!({"name": name, "carries": "form", "sha256": ""}))
            .collect();
        let manifest = serde_json::json!({
            "schema": manifest::SCHEMA, "kilter": "0.1.0", "directory": directory,
            "library": {"id": "openmpi-4.1", "name": "Open MPI", "version": "4.1.4", "site_file": "openmpi"},
            "tuned_under": {"ranks": 2, "transports": [], "device": {}, "parameters": {}, "environment": {}},
            "files": files,
        });
        fs::write(directory.join(manifest::NAME), manifest.to_string()).unwrap();
    }

    #[test]
    fn what_the_manifest_lists_is_removed_and_the_directory_with_it() {
        let (home, directory) = staged(&["mca-params.conf", "lib/libkilter.so"]);
        with_manifest(&directory, &["mca-params.conf", "lib/libkilter.so"]);
        clear(&directory).unwrap();
        assert!(!directory.exists() && home.path().exists());
        clear(&directory).unwrap();
    }

    #[test]
    fn a_projects_own_directory_is_left_as_it_is_and_named() {
        for files in [&["main.rs"][..], &["lib/own.so"], &["manifest.json"]] {
            let (_home, directory) = staged(files);
            let error = clear(&directory).unwrap_err().to_string();
            assert!(error.contains(files[0]) && error.contains("--out"), "{error}");
            assert!(directory.join(files[0]).exists());
            assert!(check(&directory).is_err());
        }
    }

    #[test]
    fn a_file_that_somebody_put_beside_kilters_keeps_all_of_them() {
        let (_home, directory) = staged(&["mca-params.conf", "notes.txt"]);
        with_manifest(&directory, &["mca-params.conf"]);
        let error = clear(&directory).unwrap_err().to_string();
        assert!(error.contains("notes.txt"), "{error}");
        assert!(
            directory.join("mca-params.conf").exists(),
            "nothing is removed by halves"
        );
    }

    #[test]
    fn somebodys_empty_directory_stays() {
        let (_home, directory) = staged(&["mca-params.conf"]);
        with_manifest(&directory, &["mca-params.conf"]);
        fs::create_dir(directory.join("cache")).unwrap();
        assert!(clear(&directory).unwrap_err().to_string().contains("cache"));
        assert!(directory.join("cache").exists());
    }

    #[test]
    fn a_run_that_was_killed_while_it_wrote_leaves_what_the_next_one_removes() {
        let (_home, directory) = staged(&[]);
        begin(&directory).unwrap();
        for name in ["lib/libkilter.so", "kilter.env", "not-yet"] {
            announce(&directory, Path::new(name)).unwrap();
        }
        fs::create_dir(directory.join("lib")).unwrap();
        fs::write(directory.join("kilter.env"), "A='1'").unwrap();
        begin(&directory).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[test]
    fn a_link_is_not_followed() {
        let (home, directory) = staged(&["own.txt"]);
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        assert!(clear(&link).is_err());
        assert!(directory.join("own.txt").exists());
        // Nor one that a manifest's name lies behind.
        let (_home, other) = staged(&[]);
        std::os::unix::fs::symlink(&directory, other.join("lib")).unwrap();
        with_manifest(&other, &["lib/own.txt"]);
        assert!(clear(&other).is_err());
        assert!(directory.join("own.txt").exists());
    }
}
