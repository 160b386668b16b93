//! Apply and rollback from end to end: read, compute, and, once that is wanted, carry out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use super::journal::{self, Entry, Journal, State, Stored};
use super::layout::Layout;
use super::plan;
use super::site_rules::{self, Found};
use super::step::{self, Step};
use super::{Change, diff, disk, undo};
use crate::apply::staged::Staged;

/// Changes that can be shown and carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The changes.
    pub changes: Vec<Change>,
    /// Further remarks, a line each.
    pub notes: Vec<String>,
    /// The entry of the journal.
    pub entry: PathBuf,
    steps: Vec<Step>,
}

impl Prepared {
    /// The changes as a diff.
    #[must_use]
    pub fn diff(&self) -> String {
        diff::text(&self.changes)
    }

    /// Carries it out; with `stop_after`, only so many steps, as a kill would.
    ///
    /// # Errors
    /// A file that changed since it was read, or a step that failed: the next command takes the steps until then back.
    pub fn carry_out(&self, stop_after: Option<usize>) -> anyhow::Result<()> {
        for change in &self.changes {
            ensure!(
                disk::current(&change.path)?.content == change.old,
                "nothing was changed: `{}` changed while its difference was shown; run this again",
                change.path.display()
            );
        }
        step::run(&self.steps, stop_after).with_context(|| {
            format!(
                "cut off half-way; `kilter rollback` for the same place takes back what was done, by `{}`",
                self.entry.display()
            )
        })
    }

    /// Number of its steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
}

/// Prepares to install a staging directory; `put_aside` allows to put lines of others aside.
///
/// # Errors
/// A file that its reader would refuse, a path that cannot be carried, a line of others that says something else.
pub fn apply(journal: &Journal, staged: &Staged, layout: &Layout, put_aside: bool) -> anyhow::Result<Prepared> {
    let library = &staged.manifest.library.id;
    let entries = journal::entries(journal)?;
    let changed = entries.iter().flat_map(|stored| &stored.entry.changes);
    // The rest of a file that has a block is another's.
    let written: BTreeSet<String> = changed
        .filter(|recorded| recorded.block.is_none())
        .filter_map(|recorded| recorded.new.clone())
        .collect();
    let earlier: BTreeSet<PathBuf> = entries
        .into_iter()
        .filter(|stored| stored.entry.state == State::Applied && stored.entry.library == *library)
        .flat_map(|stored| stored.entry.changes)
        .map(|recorded| layout.installed(&recorded.path))
        .collect();
    let theirs = site_rules::find(staged, layout, &written, |path| {
        Ok(disk::current(&layout.on_disk(path))?.content)
    })?;
    let desired = plan::desired(staged, layout, &earlier, &theirs)?;
    let desired: Vec<_> = desired
        .into_iter()
        .map(|(path, desired)| (layout.on_disk(&path), desired))
        .collect();
    let current = desired
        .iter()
        .map(|(path, _)| Ok((path.clone(), disk::current(path)?)))
        .collect::<anyhow::Result<BTreeMap<_, _>>>()?;
    let planned = plan::changes(desired, &staged.manifest, &current, (put_aside, theirs.kept()));
    let planned = match (planned, &theirs) {
        (Err(error), Found::Unusable(why)) => return Err(error.context(why.clone())),
        (planned, _) => planned?,
    };
    let notes = planned.put_aside.iter().map(|(path, line)| {
        format!(
            "`{}`, line {}: `{} = {}` is put aside",
            path.display(),
            line.line,
            line.name,
            line.theirs
        )
    });
    let mut notes: Vec<String> = notes.collect();
    notes.extend(theirs.notes());
    let changes = planned.changes;
    if let Some(root) = &layout.root {
        for change in &changes {
            stays_below(root, &change.path, change.link.as_deref())?;
        }
    }
    if let Some(overrides) = &layout.overrides
        && let Some(content) = disk::current(&layout.on_disk(overrides))?.content
    {
        let lines = plan::overridden(staged, layout, &content)?;
        notes.extend(lines.into_iter().map(|line| format!("warning: {line}")));
    }
    let directories = disk::missing_directories(changes.iter().map(|change| change.path.as_path()));
    let entry = Entry::new(library, directories, &changes, layout.root.as_deref());
    let directory = journal::next_directory(journal, &entry)?;
    Ok(Prepared {
        steps: entry.apply(&directory, &changes)?,
        entry: directory,
        changes,
        notes,
    })
}

/// Refuses a path that a link leads out of another system's root: it would change the running system. `link` is the link by which `path` was
/// found.
///
/// # Errors
/// The path, and where it leads.
pub fn stays_below(root: &Path, path: &Path, link: Option<&Path>) -> anyhow::Result<()> {
    let real = root.canonicalize();
    let real = real.with_context(|| format!("--root: `{}` is no directory", root.display()))?;
    let there = path.ancestors().find_map(|path| path.canonicalize().ok());
    if let Some(outside) = there.filter(|there| !there.starts_with(&real)) {
        bail!(
            "`{}` is, by a link, in `{}`, which is outside of --root `{}`; nothing was changed",
            link.unwrap_or(path).display(),
            outside.display(),
            root.display()
        );
    }
    Ok(())
}

/// Prepares the way back from an interrupted command, if there was one.
///
/// # Errors
/// Files that were edited since, or a journal that cannot be read.
pub fn unfinished(journal: &Journal) -> anyhow::Result<Option<Prepared>> {
    let cut_off = |stored: &Stored| matches!(stored.entry.state, State::Applying | State::Undoing);
    let entries = journal::entries(journal)?;
    entries
        .iter()
        .rev()
        .find(|stored| cut_off(stored))
        .map(back)
        .transpose()
}

/// Prepares to take the latest apply back that is in force, if one is.
///
/// # Errors
/// Files that were edited since, or a journal that cannot be read.
pub fn rollback(journal: &Journal) -> anyhow::Result<Option<Prepared>> {
    let entries = journal::entries(journal)?;
    let applied = |stored: &&Stored| stored.entry.state == State::Applied;
    entries.iter().rev().find(applied).map(back).transpose()
}

fn back(stored: &Stored) -> anyhow::Result<Prepared> {
    let recorded = &stored.entry.changes;
    let now = recorded
        .iter()
        .map(|recorded| Ok(disk::current(&recorded.path)?.content))
        .collect::<anyhow::Result<Vec<_>>>()?;
    match undo::changes(&stored.entry, &stored.old_contents()?, &now) {
        Ok(changes) => Ok(Prepared {
            steps: stored.entry.undo(&stored.directory, &changes)?,
            entry: stored.directory.clone(),
            changes,
            notes: Vec::new(),
        }),
        Err(edited) => {
            let edited: Vec<String> = edited.iter().map(ToString::to_string).collect();
            bail!("nothing was changed: {}", edited.join("; "))
        }
    }
}
