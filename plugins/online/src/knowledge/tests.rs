use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

fn layout() -> Layout {
    Layout {
        library: "Open MPI v4.1.4, package: Debian OpenMPI".to_owned(),
        ranks: 16,
        nodes: 8,
        ranks_per_node: 2,
    }
}

fn ids(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn seen(calls: u64, each: u64) -> Seen {
    Seen {
        calls,
        counted_ns: calls * each,
        median_ns: each,
    }
}

fn learnt(collective: &str, class: u32, calls: u64) -> File {
    let mut file = File::empty(layout());
    let entry = Entry {
        settled: Some(1),
        arms: vec![seen(calls, 100), seen(2 * calls, 70)],
    };
    file.learn(collective, class, &ids(&["default", "reduce.ring"]), &entry);
    file
}

/// A directory that nobody else may write, as the real one is.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    directory
}

#[test]
fn what_a_job_learnt_is_what_the_next_one_begins_with() {
    let directory = directory();
    let below = directory.path().join("kilter/online");
    assert_eq!(read(&below, &layout()).unwrap(), File::empty(layout()), "no directory");
    merge(&below, &learnt("reduce", 12, 10)).unwrap();
    merge(&below, &learnt("bcast", 3, 5)).unwrap();
    merge(&below, &learnt("reduce", 12, 30)).unwrap();
    let file = read(&below, &layout()).unwrap();
    let names: Vec<_> = file
        .rows
        .iter()
        .map(|row| (row.collective.as_str(), row.class, row.jobs))
        .collect();
    assert_eq!(names, [("bcast", 3, 1), ("reduce", 12, 2)]);
    assert!(file.rows.iter().all(|row| row.when > 1_700_000_000));
    // The next job has its arms in another order, and one that is new.
    let entry = file
        .entry("reduce", 12, &ids(&["default", "reduce.new", "reduce.ring"]))
        .unwrap();
    assert_eq!(entry.settled, Some(2));
    assert_eq!(entry.arms, [seen(40, 100), Seen::default(), seen(80, 70)]);
    // Or it lacks the one that was chosen.
    assert_eq!(file.entry("reduce", 12, &ids(&["default"])).unwrap().settled, None);
    assert_eq!(file.entry("reduce", 13, &ids(&["default"])), None);
    let left: Vec<_> = fs::read_dir(&below)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "the file and its lock: {left:?}");
    assert_eq!(File::parse(&file.to_text(), Path::new("text")).unwrap(), file);
    assert_eq!(list(&below).unwrap().len(), 1);
}

#[test]
fn jobs_that_end_together_all_add_theirs() {
    let directory = directory();
    std::thread::scope(|scope| {
        for job in 0..8_u32 {
            let directory = directory.path();
            scope.spawn(move || {
                for _ in 0..5 {
                    merge(directory, &learnt("reduce", 12, 1)).unwrap();
                    merge(directory, &learnt("scan", job, 1)).unwrap();
                }
            });
        }
    });
    let file = read(directory.path(), &layout()).unwrap();
    assert_eq!(file.rows.len(), 9);
    assert_eq!(
        file.entry("reduce", 12, &ids(&["default"])).unwrap().arms,
        [seen(40, 100)]
    );
}

#[test]
fn what_others_may_write_is_neither_read_nor_written() {
    let directory = directory();
    merge(directory.path(), &learnt("reduce", 12, 1)).unwrap();
    let path = directory.path().join(layout().file_name());
    let before = fs::read_to_string(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let error = read(directory.path(), &layout()).unwrap_err().to_string();
    assert!(error.contains("mode 666") && error.contains("chmod go-w"), "{error}");
    assert!(matches!(
        merge(directory.path(), &learnt("reduce", 12, 1)),
        Err(KnowledgeError::Trust(_))
    ));
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(
        read(directory.path(), &layout()),
        Err(KnowledgeError::Trust(_))
    ));
    assert!(matches!(
        merge(directory.path(), &learnt("reduce", 12, 1)),
        Err(KnowledgeError::Trust(_))
    ));
    assert!(matches!(list(directory.path()), Err(KnowledgeError::Trust(_))));
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn broken_files_are_told_and_left_alone() {
    let directory = directory();
    merge(directory.path(), &learnt("reduce", 12, 1)).unwrap();
    let path = directory.path().join(layout().file_name());
    let whole = fs::read_to_string(&path).unwrap();
    let twice = whole.replace(r#"{"id":"reduce.ring""#, r#"{"id":"default""#);
    for (text, words) in [
        (&whole[..whole.len() / 2], "line 1 column"),
        (
            whole.replace(r#""version":1"#, r#""version":2"#).as_str(),
            "has version 2; allowed: 1",
        ),
        (
            whole.replace(r#""jobs""#, r#""joobs""#).as_str(),
            "unknown field `joobs`",
        ),
        (
            whole.replace(r#""settled":"reduce.ring""#, r#""settled":"x""#).as_str(),
            "`x` is none of its arms",
        ),
        (twice.as_str(), "`default` is there twice"),
        (
            whole.replace(r#""ranks":16"#, r#""ranks":17"#).as_str(),
            "is about `Open MPI v4.1.4, package: Debian OpenMPI` with 17 ranks",
        ),
        (
            whole.replace("\n", &" ".repeat(MOST_BYTES as usize)).as_str(),
            "more than 1048576 bytes",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let error = read(directory.path(), &layout()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("remove it"), "{words}: {error}");
        assert!(merge(directory.path(), &learnt("reduce", 12, 1)).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "left alone");
    }
}

#[test]
fn rows_and_counts_stay_bounded() {
    let mut file = File::empty(layout());
    for class in 0..MOST_ROWS as u32 + 20 {
        file.add(&learnt("reduce", class, 1), u64::from(class));
    }
    assert_eq!(file.rows.len(), MOST_ROWS);
    assert!(
        file.row("reduce", 19).is_none() && file.row("reduce", 20).is_some(),
        "the oldest make room"
    );
    for _ in 0..100 {
        file.add(&learnt("bcast", 1, 5_000), 5_000);
    }
    let row = file.row("bcast", 1).unwrap();
    assert!(
        row.arms[0].calls <= 2 * MANY_CALLS && row.arms[0].counted_ns / row.arms[0].calls == 100,
        "{row:?}"
    );
    let mut large = file.clone();
    for (at, row) in large.rows.iter_mut().enumerate() {
        row.collective = format!("{at:0>1200}");
    }
    let text = files::within_bounds(&mut large);
    assert!(text.len() as u64 <= MOST_BYTES && large.rows.len() > 500);
}

#[test]
fn a_site_that_timed_nothing_adds_nothing() {
    let mut file = File::empty(layout());
    let entry = Entry {
        settled: Some(1),
        arms: vec![seen(0, 0), seen(0, 0)],
    };
    file.learn("reduce", 12, &ids(&["default", "reduce.ring"]), &entry);
    assert_eq!(file.rows, []);
}

#[test]
fn names_of_files_are_plain_and_tell_libraries_apart() {
    let name = layout().file_name();
    assert!(
        name.starts_with("open-mpi-v4-1-4--package-") && name.ends_with("-8x2-16.json"),
        "{name}"
    );
    let mut other = layout();
    other.library.push_str(", build 2/../x");
    assert_ne!(other.file_name(), name);
    assert!(!other.file_name().contains('/') && !other.file_name().contains(".."));
}

#[test]
fn a_choice_is_forgotten_when_a_job_found_it_no_faster() {
    let names = ids(&["default", "reduce.ring"]);
    let settled_after = |own: u64| {
        let mut file = learnt("reduce", 12, 10);
        let mut later = File::empty(layout());
        let entry = Entry {
            settled: None,
            arms: vec![seen(8, 100), seen(9, own)],
        };
        later.learn("reduce", 12, &names, &entry);
        file.join(&later);
        file.entry("reduce", 12, &names).unwrap().settled
    };
    assert_eq!(
        (settled_after(99), settled_after(100), settled_after(1_000)),
        (Some(1), None, None)
    );
}
