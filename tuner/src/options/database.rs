//! Place of the database: as given, or found without an option.

use std::path::{Path, PathBuf};

use kilter_model::options::{OptionError, absolute};

/// Stands for the output directory in `--db`.
const OUT: &str = "{out}";

/// Name of the file.
const FILE: &str = "kilter.db";

/// The default of `--out`, for commands that have none.
const DEFAULT_OUT: &str = "kilter-out";

/// The database of a command that writes to `out`.
///
/// As given; else the one in `out`, if an earlier Kilter made it; else the user's own, which all runs share; else, without a home, one in `out`.
pub(super) fn place(given: Option<&Path>, out: &Path) -> Result<PathBuf, OptionError> {
    place_by(given, out, |name| std::env::var_os(name).map(PathBuf::from))
}

/// The database of a command that has no `--out`.
pub(crate) fn found(given: Option<&Path>) -> Result<PathBuf, OptionError> {
    place(given, &absolute("--out", Path::new(DEFAULT_OUT))?)
}

/// The run that a command reads: `:RUN` is one of the database that is found.
pub(crate) fn of_run(typed: &Path, given: Option<&Path>) -> Result<PathBuf, OptionError> {
    match typed.to_str() {
        Some(text) if text.starts_with(':') && !typed.exists() => {
            let mut whole = found(given)?.into_os_string();
            whole.push(text);
            Ok(whole.into())
        }
        _ => Ok(typed.to_path_buf()),
    }
}

fn place_by(
    given: Option<&Path>,
    out: &Path,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Result<PathBuf, OptionError> {
    if let Some(given) = given {
        return absolute("--db", &filled(given, out));
    }
    let own = out.join(FILE);
    if own.exists() {
        return Ok(own);
    }
    let home = || variable("HOME").map(|home| home.join(".local/share"));
    let data = variable("XDG_DATA_HOME")
        .filter(|path| path.is_absolute())
        .or_else(home);
    let data = data.filter(|path| path.is_absolute());
    Ok(data.map_or(own, |data| data.join("kilter").join(FILE)))
}

/// The path with the output directory in place of `{out}` at its beginning.
fn filled(given: &Path, out: &Path) -> PathBuf {
    given
        .strip_prefix(OUT)
        .map_or_else(|_| given.to_path_buf(), |rest| out.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_by_its_number_is_one_of_the_database() {
        let db = Some(Path::new("/site/kilter.db"));
        let of = |typed: &str| of_run(Path::new(typed), db).unwrap();
        assert_eq!(of(":3"), Path::new("/site/kilter.db:3"));
        assert_eq!(of("a.db:3"), Path::new("a.db:3"));
        assert_eq!(of("report.json"), Path::new("report.json"));
    }

    #[test]
    fn it_is_given_or_of_earlier_runs_or_the_users_own() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("kilter-out");
        std::fs::create_dir(&out).unwrap();
        let find = |given: Option<&str>, set: &[(&str, &str)]| {
            let set = |name: &str| {
                let found = set.iter().find(|(one, _)| *one == name);
                found.map(|(_, value)| PathBuf::from(value))
            };
            place_by(given.map(Path::new), &out, set).unwrap()
        };
        let home = ("HOME", "/home/a");
        assert_eq!(find(None, &[home]), Path::new("/home/a/.local/share/kilter/kilter.db"));
        assert_eq!(
            find(None, &[home, ("XDG_DATA_HOME", "/data")]),
            Path::new("/data/kilter/kilter.db")
        );
        assert_eq!(
            find(None, &[home, ("XDG_DATA_HOME", "relative")]),
            Path::new("/home/a/.local/share/kilter/kilter.db"),
            "the rule of XDG"
        );
        assert_eq!(find(None, &[]), out.join("kilter.db"), "nobody's home");
        assert_eq!(find(Some("/site/kilter.db"), &[home]), Path::new("/site/kilter.db"));
        assert_eq!(find(Some("{out}/kilter.db"), &[home]), out.join("kilter.db"));
        std::fs::write(out.join("kilter.db"), "").unwrap();
        assert_eq!(find(None, &[home]), out.join("kilter.db"), "earlier runs are resumed");
        assert_eq!(find(Some("/site/kilter.db"), &[home]), Path::new("/site/kilter.db"));
    }
}
