//! `kilter import`: what jobs learnt while they ran, into the database.

use anyhow::Context as _;
use kilter_bench::store::{Learnt, Store};
use kilter_online::knowledge::{self, File};

use super::Status;
use crate::cli::Import;
use crate::options;

pub(super) fn run(typed: &Import) -> anyhow::Result<Status> {
    let files = knowledge::list(&typed.online)?;
    if files.is_empty() {
        anyhow::bail!(
            "`{}` has no files of what jobs learnt (*.json); jobs with KILTER_ONLINE=1 write them to their KILTER_ONLINE_DIR when they end",
            typed.online.display()
        );
    }
    let (mut rows, mut taken, mut refused) = (Vec::new(), 0, 0);
    for (_, file) in files {
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
    }
    let db = options::database::found(typed.db.as_deref())?;
    let store = Store::open(&db)?;
    store
        .record_learnt(&rows)
        .with_context(|| format!("nothing of `{}` was imported", typed.online.display()))?;
    let settled = rows
        .iter()
        .filter(|row| row.is_settled && row.implementation != knowledge::DEFAULT)
        .count();
    let files = if taken == 1 { "file" } else { "files" };
    eprintln!(
        "kilter: {} implementations of {taken} {files} in `{}`, {settled} of them chosen instead of the library's own; `kilter query learnt` prints them",
        rows.len(),
        db.display()
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
    file.rows
        .iter()
        .filter(|row| row.class <= 61)
        .flat_map(of_row)
        .collect()
}

#[cfg(test)]
mod tests {
    use kilter_bench::store::Reader;
    use kilter_online::knowledge::{Entry, Layout, Seen};

    use super::*;

    #[test]
    fn what_jobs_learnt_is_in_the_database_and_a_broken_file_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let online = directory.path().join("online");
        let layout = Layout {
            library: "MPI 1".to_owned(),
            ranks: 8,
            nodes: 4,
            ranks_per_node: 2,
        };
        let mut file = File::empty(layout);
        let seen = |each| Seen {
            calls: 10,
            counted_ns: 10 * each,
            median_ns: each,
        };
        let entry = Entry {
            settled: Some(1),
            arms: vec![seen(100), seen(70)],
        };
        file.learn("reduce", 12, &["default".to_owned(), "reduce.ring".to_owned()], &entry);
        knowledge::merge(&online, &file).unwrap();
        let typed = Import {
            online: online.clone(),
            db: Some(directory.path().join("kilter.db")),
        };
        assert_eq!(run(&typed).unwrap(), Status::Holds);
        assert_eq!(run(&typed).unwrap(), Status::Holds, "once more");
        let reader = Reader::open(&directory.path().join("kilter.db")).unwrap();
        let sql =
            "SELECT group_concat(implementation || ' ' || bytes || ' ' || ifnull(choice, '-'), ', ') FROM learnt_view";
        let rows: String = reader.connection().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, "default 4096 -, reduce.ring 4096 settled");
        std::fs::write(online.join("broken.json"), "{").unwrap();
        assert_eq!(run(&typed).unwrap(), Status::Unfit);
        std::fs::create_dir(directory.path().join("empty")).unwrap();
        let empty = Import {
            online: directory.path().join("empty"),
            ..typed
        };
        let error = run(&empty).unwrap_err().to_string();
        assert!(
            error.contains("has no files") && error.contains("KILTER_ONLINE_DIR"),
            "{error}"
        );
    }
}
