//! Names of the files of a staging directory while it is being written: a run that is cut off leaves them to the next one.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

/// The names that were written since the directory was emptied last, a line each, before each is written. It goes when the manifest is there.
pub(super) const JOURNAL: &str = ".written";

/// Says that a file is about to be written. `name` is relative to the directory.
///
/// # Errors
/// Where that cannot be kept.
pub(super) fn announce(directory: &Path, name: &Path) -> anyhow::Result<()> {
    let path = directory.join(JOURNAL);
    let mut journal = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .with_context(|| format!("`{}` cannot be opened", path.display()))?;
    writeln!(journal, "{}", name.display()).with_context(|| format!("`{}` cannot be written", path.display()))
}

/// The manifest lists everything from now on.
///
/// # Errors
/// Where the journal cannot be removed.
pub(super) fn complete(directory: &Path) -> anyhow::Result<()> {
    let path = directory.join(JOURNAL);
    fs::remove_file(&path).with_context(|| format!("`{}` cannot be removed", path.display()))
}
