//! A folder that the tests of a program share: it is there until the program ends, and C libraries are compiled into it once.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Makes the folder, which goes when the result is dropped.
///
/// # Errors
/// It cannot be made.
pub(crate) fn begin() -> io::Result<TempDir> {
    let shared = tempfile::Builder::new().prefix("kilter-shared-").tempdir()?;
    // Some tests run jobs as another user.
    std::fs::set_permissions(shared.path(), std::fs::Permissions::from_mode(0o755))?;
    FOLDER.get_or_init(|| shared.path().to_owned());
    Ok(shared)
}

/// The folder. A test writes only below a name of its own.
///
/// # Panics
/// No test program runs.
#[must_use]
pub fn folder() -> &'static Path {
    FOLDER.get().expect("the harness has made it before any test runs")
}

/// The file `name` that `make` leaves at the path that it is given, made once for each `key`: all that its contents depend on.
///
/// # Panics
/// As `make`; the next test that asks for it tries again.
pub fn made_once(key: &str, name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    static MADE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = made.get(key) {
        return file.clone();
    }
    let directory = folder().join(format!("made-{}", made.len()));
    std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let file = directory.join(name);
    make(&file);
    made.insert(key.to_owned(), file.clone());
    file
}
