//! The journal: a directory for each apply, with the old contents and the outcome. It is complete on the disk before the first file changes, so
//! the way back is known from any point on.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, ensure};
use kilter_profile::trust;
use serde::{Deserialize, Serialize};

use super::step::{self, Step};
use super::{Change, disk};
use crate::digest::sha256;
use crate::scope;

/// Version of the format.
const SCHEMA: u32 = 1;

/// A journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// Directory of its entries now.
    pub directory: PathBuf,
    /// The directory that will be the root of the system; entries name files as they are called then.
    pub root: Option<PathBuf>,
    /// The tree that all its files are in, where there is one.
    pub tree: Option<PathBuf>,
}

/// Name of an entry's file in its directory.
const NAME: &str = "journal.json";

/// Progress of an apply, or of its way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Files may have changed.
    Applying,
    /// All files have changed.
    Applied,
    /// Files may have been taken back.
    Undoing,
    /// All files are as they were.
    Undone,
}

/// An apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Version of the format.
    pub schema: u32,
    /// Its progress.
    pub state: State,
    /// Time, in UTC.
    pub time: String,
    /// Id of the library.
    pub library: String,
    /// Directories that were made, parents first.
    pub directories: Vec<PathBuf>,
    /// Files that changed, in order.
    pub changes: Vec<Recorded>,
    /// The root of the [`Journal`]; it is not stored, since paths in memory are the present ones.
    #[serde(skip)]
    pub root: Option<PathBuf>,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The file.
    pub path: PathBuf,
    /// Its mode.
    pub mode: u32,
    /// Its earlier content, by its file in the entry and its checksum; `None` where it was made.
    pub old: Option<Kept>,
    /// Checksum of the new contents; `None` if it was removed.
    pub new: Option<String>,
    /// Kilter's block within it, where the rest is another's; empty where the block was taken out.
    pub block: Option<String>,
}

/// An old content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// File of the entry.
    pub file: String,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// An entry and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its directory.
    pub directory: PathBuf,
    /// Its running number.
    pub number: u64,
    /// Its content.
    pub entry: Entry,
}

impl Entry {
    /// An entry for changes that are about to be made, and for the directories that must be made for them.
    #[must_use]
    pub fn new(library: &str, directories: Vec<PathBuf>, changes: &[Change], root: Option<&Path>) -> Entry {
        let recorded = changes.iter().enumerate().map(|(index, change)| Recorded {
            path: change.path.clone(),
            mode: change.mode,
            old: change.old.as_ref().map(|content| Kept {
                file: format!("old-{index}"),
                sha256: sha256(content),
            }),
            new: change.new.as_deref().map(sha256),
            block: change
                .block
                .as_ref()
                .map(|block| String::from_utf8_lossy(block).into_owned()),
        });
        Entry {
            schema: SCHEMA,
            state: State::Applying,
            time: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            library: library.to_owned(),
            directories,
            changes: recorded.collect(),
            root: root.map(Path::to_path_buf),
        }
    }

    /// Replaces the paths.
    fn with_paths(self, path: impl Fn(&Path) -> PathBuf) -> Entry {
        let changed = |recorded: Recorded| Recorded {
            path: path(&recorded.path),
            ..recorded
        };
        Entry {
            directories: self.directories.iter().map(|directory| path(directory)).collect(),
            changes: self.changes.into_iter().map(changed).collect(),
            ..self
        }
    }

    /// The steps of the whole apply: the entry, the directories, the files, the end.
    ///
    /// # Errors
    /// A path that is not UTF-8.
    pub fn apply(&self, directory: &Path, changes: &[Change]) -> anyhow::Result<Vec<Step>> {
        let mut steps = vec![Step::MakeDirectory(directory.to_path_buf(), 0o700)];
        for (recorded, change) in self.changes.iter().zip(changes) {
            if let (Some(kept), Some(content)) = (&recorded.old, &change.old) {
                steps.push(Step::Write {
                    path: directory.join(&kept.file),
                    content: content.clone(),
                    mode: 0o600,
                    like: None,
                });
            }
        }
        steps.extend(self.in_state(State::Applying, directory)?);
        steps.extend(
            self.directories
                .iter()
                .map(|path| Step::MakeDirectory(path.clone(), 0o755)),
        );
        steps.extend(changes.iter().flat_map(write));
        steps.extend(self.in_state(State::Applied, directory)?);
        Ok(steps)
    }

    /// The steps of the way back, from wherever it has come to: `changes` are those that are left.
    ///
    /// # Errors
    /// A path that is not UTF-8.
    pub fn undo(&self, directory: &Path, changes: &[Change]) -> anyhow::Result<Vec<Step>> {
        let mut steps: Vec<Step> = self.in_state(State::Undoing, directory)?.into();
        steps.extend(
            self.changes
                .iter()
                .map(|recorded| Step::Remove(step::temporary(&recorded.path))),
        );
        steps.extend(changes.iter().rev().flat_map(write));
        steps.extend(self.directories.iter().rev().cloned().map(Step::RemoveDirectory));
        steps.extend(self.in_state(State::Undone, directory)?);
        Ok(steps)
    }

    /// The steps that record a state.
    fn in_state(&self, state: State, directory: &Path) -> anyhow::Result<[Step; 2]> {
        let entry = Entry { state, ..self.clone() };
        let entry = entry.with_paths(|path| scope::installed(self.root.as_deref(), path));
        let text = kilter_render::json::text(&entry).context("the journal cannot be written")?;
        Ok(step::replace(&directory.join(NAME), text.as_bytes(), 0o600))
    }
}

fn write(change: &Change) -> Vec<Step> {
    match &change.new {
        Some(content) => step::replace(&change.path, content, change.mode).into(),
        None => vec![Step::Remove(change.path.clone())],
    }
}

impl Stored {
    /// The old content of each file.
    ///
    /// # Errors
    /// Contents that cannot be read, or differ from the kept ones.
    pub fn old_contents(&self) -> anyhow::Result<Vec<Option<Vec<u8>>>> {
        let read = |kept: &Kept| {
            let path = self.directory.join(&kept.file);
            let content = std::fs::read(&path).with_context(|| format!("`{}` cannot be read", path.display()))?;
            ensure!(
                sha256(&content) == kept.sha256,
                "`{}` is no longer what was kept there; nothing is taken back",
                path.display()
            );
            Ok(content)
        };
        let recorded = self.entry.changes.iter();
        recorded
            .map(|recorded| recorded.old.as_ref().map(read).transpose())
            .collect()
    }
}

/// All entries of a journal, oldest first. An installation that was killed before its entry was complete has changed nothing and is left out.
///
/// # Errors
/// A journal that cannot be read.
pub fn entries(journal: &Journal) -> anyhow::Result<Vec<Stored>> {
    let mut all = Vec::new();
    let trusted = disk::trusted();
    for (number, directory) in directories(&journal.directory)? {
        let path = directory.join(NAME);
        if !path.exists() {
            continue;
        }
        // Whoever can write an entry writes any file as who rolls it back.
        let file = trust::directory(&directory, &trusted).and_then(|()| trust::open_of(&path, &trusted));
        let file = file.with_context(|| format!("the journal entry `{}` is not followed", path.display()))?;
        let text = std::io::read_to_string(file).with_context(|| format!("`{}` cannot be read", path.display()))?;
        let entry: Entry = serde_json::from_str(&text)
            .with_context(|| format!("`{}` is no journal of this version of Kilter", path.display()))?;
        ensure!(
            entry.schema == SCHEMA,
            "`{}` has schema {}, this version of Kilter reads schema {SCHEMA}; use the version that wrote it",
            path.display(),
            entry.schema
        );
        if let Some(tree) = &journal.tree {
            let paths = entry.changes.iter().map(|recorded| &recorded.path);
            let outside = paths.chain(&entry.directories).find(|path| !is_below(tree, path));
            ensure!(
                outside.is_none(),
                "`{}` names `{}`, which is outside of --prefix `{}`; nothing was changed",
                path.display(),
                outside.map(|path| path.display().to_string()).unwrap_or_default(),
                tree.display()
            );
        }
        let root = journal.root.as_deref();
        all.push(Stored {
            directory,
            number,
            entry: Entry {
                root: journal.root.clone(),
                ..entry.with_paths(|path| scope::below(root, path))
            },
        });
    }
    Ok(all)
}

/// True if a path lies below a tree by its name and by where links lead now.
fn is_below(tree: &Path, path: &Path) -> bool {
    let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
    let real = path.ancestors().find_map(|path| path.canonicalize().ok());
    let real_tree = tree.canonicalize();
    is_plain
        && path.starts_with(tree)
        && real
            .zip(real_tree.ok())
            .is_none_or(|(real, tree)| real.starts_with(&tree) || tree.starts_with(&real))
}

/// A directory for the next entry: `TIME-NUMBER`.
///
/// # Errors
/// A journal that cannot be read.
pub fn next_directory(journal: &Journal, entry: &Entry) -> anyhow::Result<PathBuf> {
    let number = directories(&journal.directory)?
        .last()
        .map_or(1, |(number, _)| number + 1);
    Ok(journal
        .directory
        .join(format!("{}-{number}", entry.time.replace([':', '-'], ""))))
}

/// The directories of entries, by running number.
fn directories(root: &Path) -> anyhow::Result<Vec<(u64, PathBuf)>> {
    let unreadable = || format!("the journal `{}` cannot be read", root.display());
    let entries = match std::fs::read_dir(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(unreadable)?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.with_context(unreadable)?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.rsplit_once('-')?.1.parse().ok());
        if let Some(number) = number {
            all.push((number, entry.path()));
        }
    }
    all.sort();
    Ok(all)
}
