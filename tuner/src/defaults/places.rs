//! Places of files with defaults.

use std::path::{Path, PathBuf};

/// Variable that names the only file to read; empty, none is read.
pub(super) const VARIABLE: &str = "KILTER_CONFIG";

/// A place where a file may lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// Whom it speaks for, in words.
    pub whose: &'static str,
    /// It was asked for, and must be there.
    pub asked_for: bool,
}

impl Place {
    /// True if it has to be read.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.asked_for || self.path.exists()
    }
}

/// The places, in the order in which they are read: of two files that set the same, the later one wins.
#[must_use]
pub fn places() -> Vec<Place> {
    let own = std::env::current_exe().ok();
    of(|name| std::env::var_os(name).map(PathBuf::from), own.as_deref())
}

fn of(variable: impl Fn(&str) -> Option<PathBuf>, own: Option<&Path>) -> Vec<Place> {
    if let Some(path) = variable(VARIABLE) {
        let only = Place {
            path,
            whose: VARIABLE,
            asked_for: true,
        };
        return Some(only)
            .filter(|only| !only.path.as_os_str().is_empty())
            .into_iter()
            .collect();
    }
    let place = |path: PathBuf, whose| Place {
        path,
        whose,
        asked_for: false,
    };
    let mut places = vec![place(PathBuf::from("/etc/kilter/kilter.toml"), "the machine")];
    // PREFIX/bin/kilter goes with PREFIX/etc/kilter/kilter.toml.
    let prefix = own.and_then(Path::parent).and_then(Path::parent);
    if let Some(prefix) = prefix.filter(|prefix| prefix.join("share/kilter").is_dir()) {
        places.push(place(prefix.join("etc/kilter/kilter.toml"), "the installation"));
    }
    let home = || Some(variable("HOME")?.join(".config"));
    let configured = variable("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(home);
    if let Some(directory) = configured {
        places.push(place(directory.join("kilter/kilter.toml"), "the user"));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_comes_last_and_the_variable_stands_alone() {
        let installed = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(installed.path().join("share/kilter")).unwrap();
        let own = installed.path().join("bin/kilter");
        let variable = |set: &'static [(&str, &str)]| {
            move |name: &str| {
                set.iter()
                    .find(|(one, _)| *one == name)
                    .map(|(_, value)| PathBuf::from(value))
            }
        };
        let paths = |set| -> Vec<PathBuf> { of(variable(set), Some(&own)).into_iter().map(|one| one.path).collect() };
        let [machine, user] = ["/etc/kilter/kilter.toml", "/home/a/.config/kilter/kilter.toml"].map(PathBuf::from);
        let prefix = installed.path().join("etc/kilter/kilter.toml");
        assert_eq!(paths(&[("HOME", "/home/a")]), [machine.clone(), prefix.clone(), user]);
        assert_eq!(
            paths(&[("HOME", "/home/a"), ("XDG_CONFIG_HOME", "/else")]),
            [machine, prefix, PathBuf::from("/else/kilter/kilter.toml")]
        );
        assert_eq!(
            paths(&[("HOME", "/home/a"), (VARIABLE, "/one.toml")]),
            [PathBuf::from("/one.toml")]
        );
        assert!(paths(&[(VARIABLE, "")]).is_empty());
    }
}
