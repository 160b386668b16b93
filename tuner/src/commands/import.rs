//! `kilter import`: what jobs learnt while they ran, into the database.

use anyhow::Context as _;
use kilter_bench::store::{Learnt, Store};
use kilter_online::knowledge::{self, File};

use super::Status;
use crate::cli::Import;

pub(super) fn run(typed: &Import) -> anyhow::Result<Status> {
    let files = knowledge::list(&typed.online)?;
    if files.is_empty() {
        anyhow::bail!(
            "`{}` has no files of what jobs learnt (*.json); jobs with KILTER_ONLINE=1 write them to their KILTER_ONLINE_DIR when they end",
            typed.online.display()
        );
    }
    let (mut rows, mut taken, mut refused) = (Vec::new(), 0, 0);
    for (path, file) in files {
        match file {
            Ok(file) => {
                rows.extend(learnt(&file));
                taken += 1;
            }
            Err(error) => {
                eprintln!("kilter: {error}");
                refused += 1;
            }
        }
        tracing::debug!("read `{}`", path.display());
    }
    let store = Store::open(&typed.db)?;
    store.record_learnt(&rows).with_context(|| format!("nothing of `{}` was imported", typed.online.display()))?;
    let settled = rows.iter().filter(|row| row.is_settled && row.implementation != knowledge::DEFAULT).count();
    let files = if taken == 1 { "file" } else { "files" };
    eprintln!(
        "kilter: {} implementations of {taken} {files} in `{}`, {settled} of them chosen instead of the library's own; `kilter query learnt` prints them",
        rows.len(),
        typed.db.display()
    );
    Ok(if refused > 0 { Status::Unfit } else { Status::Holds })
}

/// The rows of a file. A class beyond the largest size is none that a job can have seen.
fn learnt(file: &File) -> Vec<Learnt> {
    let layout = &file.layout;
    let of_row = |row: &knowledge::Row| -> Vec<Learnt> {
        let arms = row.arms.iter().map(|arm| Learnt {
            library: layout.library.clone(),
            ranks: layout.ranks,
            nodes: layout.nodes,
            ranks_per_node: layout.ranks_per_node,
            function: row.collective.clone(),
            class: row.class,
            implementation: arm.id.clone(),
            calls: arm.calls,
            counted_ns: arm.counted_ns,
            median_ns: arm.median_ns,
            is_settled: row.settled.as_ref() == Some(&arm.id),
            jobs: row.jobs,
            when: row.when,
        });
        arms.collect()
    };
    file.rows.iter().filter(|row| row.class <= 61).flat_map(of_row).collect()
}
