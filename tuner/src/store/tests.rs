use super::*;

fn begin(store: &Store, fingerprint: &str) -> Run {
    store
        .begin_or_resume(fingerprint, u64::MAX - 1, "kilter check", "library", 2)
        .unwrap()
}

fn setup() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new").join("kilter.db");
    (directory, path)
}

#[test]
fn a_second_writer_is_refused_by_name_until_the_first_is_gone() {
    let (_directory, path) = setup();
    let store = Store::open(&path).unwrap();
    let run = begin(&store, "f");
    drop(store);
    // A run keeps the database open.
    let message = Store::open(&path).unwrap_err().to_string();
    assert!(message.contains("in use by another kilter"), "{message}");
    assert!(
        message.contains(&format!("process {}", std::process::id())) && message.contains("--db"),
        "{message}"
    );
    drop(run);
    Store::open(&path).unwrap();
}

#[test]
fn unfinished_runs_are_resumed_with_their_seed_and_finished_ones_are_not() {
    let (_directory, path) = setup();
    let store = Store::open(&path).unwrap();
    let first = begin(&store, "f");
    assert_eq!((first.seed, first.resumed), (u64::MAX - 1, false));
    assert!(!begin(&store, "another").resumed);
    let again = store.begin_or_resume("f", 7, "kilter check", "library", 2).unwrap();
    assert_eq!((again.id, again.seed, again.resumed), (first.id, u64::MAX - 1, true));
    again.finish().unwrap();
    let fresh = store.begin_or_resume("f", 7, "kilter check", "library", 2).unwrap();
    assert_eq!((fresh.seed, fresh.resumed), (7, false));
    assert_ne!(fresh.id, first.id);
}

fn version(path: &Path) -> i64 {
    Connection::open(path)
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

#[test]
fn an_empty_file_of_version_0_is_migrated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kilter.db");
    std::fs::write(&path, "").unwrap();
    assert_eq!(version(&path), 0);
    let store = Store::open(&path).unwrap();
    let run = begin(&store, "f");
    drop((store, run));
    assert_eq!(version(&path), SCHEMA_VERSION);
    // Opening it again migrates nothing and keeps what is there.
    assert!(begin(&Store::open(&path).unwrap(), "f").resumed);
}

#[test]
fn the_journal_is_no_write_ahead_log() {
    let (_directory, path) = setup();
    let store = Store::open(&path).unwrap();
    let pragma = |name: &str| {
        store
            .inner
            .connection
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            .unwrap()
    };
    assert_eq!(
        pragma("journal_mode"),
        rusqlite::types::Value::Text("truncate".to_owned())
    );
    assert_eq!(pragma("synchronous"), rusqlite::types::Value::Integer(2));
}

#[test]
fn files_of_others_and_of_the_future_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("foreign.db");
    Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    let text = directory.path().join("text.db");
    std::fs::write(
        &text,
        "this is no database, and long enough to be looked at as one ".repeat(20),
    )
    .unwrap();
    let future = directory.path().join("future.db");
    drop(Store::open(&future).unwrap());
    Connection::open(&future)
        .unwrap()
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    let message = |path: &Path| {
        let before = std::fs::read(path).unwrap();
        let message = Store::open(path).unwrap_err().to_string();
        assert_eq!(std::fs::read(path).unwrap(), before, "`{}` was changed", path.display());
        assert!(message.contains(&path.display().to_string()), "{message}");
        message
    };
    assert!(message(&foreign).contains("not one of kilter's"));
    assert!(message(&text).contains("not a database"));
    assert!(message(&future).contains("use the kilter that wrote it or newer"));
}

#[test]
fn durations_are_summed_over_attempts_and_never_shrink() {
    use kilter_protocol::report::Event;
    let (_directory, path) = setup();
    let store = Store::open(&path).unwrap();
    let run = begin(&store, "f");
    let file = |name: &str| PathBuf::from(name);
    let paths = LaunchPaths {
        plan: file("p"),
        report: file("r"),
        log: file("l"),
    };
    let position = Position { offset: 10, line: 1 };
    let seconds = Duration::from_secs_f64;
    for attempt in 1..=2 {
        assert_eq!(run.next_attempt("k").unwrap(), attempt);
        let mut record = run.begin_launch("k", attempt, "mpirun", &paths).unwrap();
        record
            .record(&Event::Noise { seconds: vec![1.0] }, &[], true, position, seconds(4.0))
            .unwrap();
        // Too soon after the last write to be worth one.
        record
            .record(&Event::Heartbeat, &[], true, position, seconds(5.0))
            .unwrap();
        assert_eq!(run.measuring_seconds().unwrap(), 4.0 * f64::from(attempt));
        record.close("ended", seconds(1.0)).unwrap();
        assert_eq!(run.measuring_seconds().unwrap(), 4.0 * f64::from(attempt));
    }
}

#[test]
fn a_run_of_another_fingerprint_sees_nothing_of_it() {
    let (_directory, path) = setup();
    let store = Store::open(&path).unwrap();
    let (one, two) = (begin(&store, "one"), begin(&store, "two"));
    let file = |name: &str| PathBuf::from(name);
    let paths = LaunchPaths {
        plan: file("p"),
        report: file("r"),
        log: file("l"),
    };
    let record = one.begin_launch("k", 1, "mpirun", &paths).unwrap();
    record.record_failure("b", &[], "hung", "{}").unwrap();
    assert!(one.stored_failure("k", "b").unwrap().is_some());
    assert_eq!(
        one.finished_block("k", "b").unwrap(),
        None,
        "a failed block is not a finished one"
    );
    assert_eq!(two.stored_failure("k", "b").unwrap(), None);
    assert_eq!(one.stored_failure("other key", "b").unwrap(), None);
    assert_eq!((two.launch_count().unwrap(), two.next_attempt("k").unwrap()), (0, 1));
    // Its own launch is under way, not left behind.
    assert!(one.unclosed_launches().unwrap().is_empty());
}
