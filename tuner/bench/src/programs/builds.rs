//! All builds of Kilter that a command can reach, whatever they are named after. A build is known by the library that its worker names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Programs, built_for};

impl Programs {
    /// The builds in the directory of `--libexec`, or else in all places of the installation and the source tree around `own`. Builds whose
    /// worker does not run here are left out.
    #[must_use]
    pub fn all(libexec: Option<&Path>, own: &Path) -> Vec<Programs> {
        let directories = match libexec {
            Some(directory) => vec![directory.to_path_buf()],
            None => directories(own),
        };
        directories
            .iter()
            .filter_map(|directory| in_directory(directory))
            .collect()
    }

    /// True if the worker's library and the launcher are of one installation: the library lies below a `lib` beside the launcher's `bin`.
    #[must_use]
    pub fn lie_beside(&self, launcher: &Path) -> bool {
        let below = |prefix: PathBuf| {
            let library = self.library.as_ref()?.canonicalize().ok()?;
            let first = library.strip_prefix(prefix).ok()?.components().next()?;
            Some(first.as_os_str().to_string_lossy().starts_with("lib"))
        };
        prefix(launcher).and_then(below).unwrap_or(false)
    }
}

/// The directories in which builds may lie, those with the name of a build in the order of the names.
fn directories(own: &Path) -> Vec<PathBuf> {
    let above = own.parent().unwrap_or(own);
    let mut found = below(&above.join("libexec/kilter"));
    let profile = own.file_name().unwrap_or(OsStr::new("release"));
    found.extend(below(&above.join("mpi")).into_iter().map(|build| build.join(profile)));
    found.push(own.to_path_buf());
    found
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn in_directory(directory: &Path) -> Option<Programs> {
    let worker = directory.join("kilter-worker");
    if !worker.is_file() {
        return None;
    }
    let (line, library) = built_for(&worker).ok()?;
    Some(Programs {
        build: command(directory, library.as_deref()),
        worker,
        library,
        built_for: line,
    })
}

/// The command that builds these programs anew.
fn command(directory: &Path, library: Option<&Path>) -> String {
    let words = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    // `libexec/kilter/NAME` or `mpi/NAME/PROFILE`.
    let above = directory.parent().unwrap_or(directory);
    let is_built = above.parent().and_then(words).as_deref() == Some("mpi");
    let is_installed = words(above).as_deref() == Some("kilter");
    let name = if is_built {
        words(above)
    } else {
        words(directory).filter(|_| is_installed)
    };
    let prefix = library.and_then(|library| library.ancestors().find(|place| place.join("bin/mpicc").is_file()));
    match (name, prefix) {
        (None, _) => "scripts/build".to_owned(),
        (Some(name), Some(prefix)) => format!("scripts/build --mpi-prefix {} --name {name}", prefix.display()),
        (Some(name), None) => format!("scripts/build --mpi {name}"),
    }
}

/// The directory above the launcher's `bin`, links followed.
fn prefix(launcher: &Path) -> Option<PathBuf> {
    let directory = launcher.parent().filter(|directory| !directory.as_os_str().is_empty());
    let found = match directory {
        Some(_) => launcher.to_path_buf(),
        None => {
            let path = std::env::var_os("PATH")?;
            let mut places = std::env::split_paths(&path).map(|directory| directory.join(launcher));
            places.find(|place| place.is_file())?
        }
    };
    let real = found.canonicalize().ok()?;
    Some(real.parent()?.parent()?.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_lies_beside_the_launcher_of_the_same_prefix() {
        let place = kilter_fixtures::directory();
        let root = place.path().canonicalize().unwrap();
        for directory in ["a/bin", "a/lib/release", "b/lib64", "a/share"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in [
            "a/bin/mpirun",
            "a/bin/mpicc",
            "a/lib/release/libmpi.so",
            "b/lib64/libmpi.so",
            "a/share/libmpi.so",
        ] {
            std::fs::write(root.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(root.join("a"), root.join("linked")).unwrap();
        let with = |library: &str| Programs {
            library: Some(root.join(library)),
            ..Programs::default()
        };
        for launcher in ["a/bin/mpirun", "linked/bin/mpirun"] {
            assert!(
                with("a/lib/release/libmpi.so").lie_beside(&root.join(launcher)),
                "{launcher}"
            );
            for other in ["b/lib64/libmpi.so", "a/share/libmpi.so", "a/lib/missing.so"] {
                assert!(!with(other).lie_beside(&root.join(launcher)), "{other}");
            }
        }
        assert!(!Programs::default().lie_beside(&root.join("a/bin/mpirun")));

        let library = root.join("a/lib/release/libmpi.so");
        let anew = |directory: &str| command(&root.join(directory), Some(&library));
        let by_prefix = format!("scripts/build --mpi-prefix {} --name site", root.join("a").display());
        assert_eq!(anew("mpi/site/release"), by_prefix);
        assert_eq!(anew("libexec/kilter/site"), by_prefix);
        assert_eq!(anew("release"), "scripts/build");
        assert_eq!(
            command(Path::new("/mpi/site/release"), None),
            "scripts/build --mpi site"
        );
    }
}
