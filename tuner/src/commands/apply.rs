//! `kilter apply`: installs emitted files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use kilter_bench::launch::capture::launcher_version;
use kilter_emit::apply::journal::Journal;
use kilter_emit::apply::layout::{Layout, Scope};
use kilter_emit::apply::session::{self, Prepared};
use kilter_emit::apply::{consent, diff, disk, version};
use kilter_emit::manifest::TunedLibrary;

use super::{Status, print};
use crate::cli::{Apply, Place};

pub(super) fn run(typed: &Apply) -> anyhow::Result<Status> {
    let scope = scope(&typed.place)?;
    let staged = disk::staged(&typed.directory)?;
    let journal = scope.journal()?;
    let _held = hold(&typed.place, &journal)?;
    if let Some(unfinished) = session::unfinished(&journal)? {
        finish(&typed.place, &unfinished)?;
        if typed.place.dry_run {
            return Ok(Status::Holds);
        }
    }
    let layout = Layout::find(&scope, staged.manifest.library.site_file, &typed.mpirun)?;
    let prepared = session::apply(&journal, &staged, &layout, typed.put_aside)?;
    if prepared.changes.is_empty() {
        for note in &prepared.notes {
            eprintln!("kilter: {}", diff::visible(note));
        }
        eprintln!("kilter: all of it is installed already; nothing was changed");
        return Ok(Status::Holds);
    }
    ensure_same_library(typed, &staged.manifest.library)?;
    if carry_out(&typed.place, &prepared, "Apply these changes?")? {
        eprintln!("kilter: applied; `kilter rollback {}` takes it back", scope.option());
        let modules = layout.share.join("modulefiles");
        let module = modules.join("kilter").join(&staged.manifest.library.id);
        if layout.on_disk(&module).exists() {
            eprintln!(
                "kilter: for the environment: module use {}; module load kilter/{}",
                modules.display(),
                staged.manifest.library.id
            );
        }
    }
    Ok(Status::Holds)
}

/// Place of installation.
pub(super) fn scope(place: &Place) -> anyhow::Result<Scope> {
    Ok(match &place.prefix {
        Some(prefix) => {
            Scope::Prefix(std::path::absolute(prefix).with_context(|| format!("--prefix: `{}`", prefix.display()))?)
        }
        None if place.system => Scope::System(root(place.root.as_deref())?),
        None => Scope::User,
    })
}

/// Root of another system.
fn root(typed: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    let Some(root) = typed else { return Ok(None) };
    ensure!(
        root.is_dir(),
        "--root: `{}` is no directory; make it first",
        root.display()
    );
    let root = std::path::absolute(root).with_context(|| format!("--root: `{}`", root.display()))?;
    Ok(Some(root))
}

/// Refuses to install for another library than was tuned.
fn ensure_same_library(typed: &Apply, tuned: &TunedLibrary) -> anyhow::Result<()> {
    if typed.other_version {
        return Ok(());
    }
    let line = launcher_version(&typed.mpirun, VERSION_LIMIT).with_context(|| {
        format!(
            "cannot find out if {} {} is installed here; name its launcher by --mpirun, or install all the same with --other-version",
            tuned.name, tuned.version
        )
    })?;
    Ok(version::check(tuned, &typed.mpirun.display().to_string(), &line)?)
}

/// A launcher that takes longer to say its version hangs.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// Locks out other commands, if anything may be changed.
pub(super) fn hold(place: &Place, journal: &Journal) -> anyhow::Result<Option<std::fs::File>> {
    if let Some(root) = &journal.root {
        session::stays_below(root, &journal.directory, None)?;
    }
    (!place.dry_run).then(|| disk::lock(&journal.directory)).transpose()
}

/// Undoes the changes of an interrupted command.
pub(super) fn finish(place: &Place, unfinished: &Prepared) -> anyhow::Result<()> {
    eprintln!("kilter: an earlier command was cut off; what it did is taken back first");
    if unfinished.changes.is_empty() && !place.dry_run {
        return unfinished.carry_out(None);
    }
    carry_out(place, unfinished, "Take this back?").map(drop)
}

/// Shows changes, asks, and makes them; returns true if it did.
pub(super) fn carry_out(place: &Place, prepared: &Prepared, question: &str) -> anyhow::Result<bool> {
    if !prepared.changes.is_empty() {
        print(&prepared.diff())?;
    }
    for note in &prepared.notes {
        eprintln!("kilter: {}", diff::visible(note));
    }
    if place.dry_run {
        eprintln!("kilter: nothing was changed (--dry-run)");
        return Ok(false);
    }
    if !place.yes && !consent::ask(question)? {
        bail!("nothing was changed, as you answered");
    }
    prepared.carry_out(None)?;
    Ok(true)
}
