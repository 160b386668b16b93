use kilter_fixtures::report as fixture;
use kilter_protocol::fault::FaultKind;

use super::*;

fn begin(store: &Store, fingerprint: &str) -> Run {
    store
        .begin_or_resume(fingerprint, u64::MAX - 1, "kilter check", "library", 2)
        .unwrap()
}

fn setup() -> (tempfile::TempDir, PathBuf) {
    let directory = kilter_fixtures::directory();
    let path = directory.path().join("new").join("kilter.db");
    (directory, path)
}

/// Two commands of one site at once: each has its run, none waits for the other's end.
#[test]
fn several_write_at_once_and_a_run_has_one_of_them() {
    let (_directory, path) = setup();
    let (first, second) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    let run = begin(&first, "f");
    let message = second
        .begin_or_resume("f", 1, "kilter check", "library", 2)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains(&format!("process {}", std::process::id())) && message.contains("--fresh"),
        "{message}"
    );
    let other = begin(&second, "g");
    assert_ne!(run.id, other.id);
    let paths = LaunchPaths {
        plan: "plan".into(),
        report: "report".into(),
        log: "log".into(),
    };
    let launches: Vec<i64> = (1..4)
        .flat_map(|attempt| [&run, &other].map(|run| run.begin_launch("key", attempt, "mpirun", &paths).unwrap().id))
        .collect();
    assert!(launches.is_sorted() && launches.len() == 6, "{launches:?}");
    assert_eq!((run.launch_count().unwrap(), other.launch_count().unwrap()), (3, 3));
    drop((run, first));
    assert!(begin(&second, "f").resumed, "its process is gone");
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
    assert_eq!(
        again.started_unix_seconds.to_bits(),
        first.started_unix_seconds.to_bits()
    );
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
    let directory = kilter_fixtures::directory();
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
    let directory = kilter_fixtures::directory();
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
    assert!(!one.is_finished("k", "b").unwrap());
    assert_eq!(two.stored_failure("k", "b").unwrap(), None);
    assert_eq!(one.stored_failure("other key", "b").unwrap(), None);
    assert_eq!((two.launch_count().unwrap(), two.next_attempt("k").unwrap()), (0, 1));
    // Its own launch is under way, not left behind.
    assert!(one.unclosed_launches().unwrap().is_empty());
}

/// A database as version 1 of the schema made it: two runs, samples of a done and of a torn-off block, notes, a failure.
fn version_1(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(include_str!("schema/v1.sql")).unwrap();
    connection
        .pragma_update(None, "application_id", 0x4b6c_7472_i64)
        .unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    connection
        .execute_batch(
            r#"INSERT INTO runs VALUES (1, 'f', -2, 'kilter check', 'library', 2, 1.5, NULL), (2, 'g', 7, 'kilter tune', 'library', 4, 2.5, 3.5);
            INSERT INTO launches VALUES
                (1, 1, 'before/0', 1, 'i', 't1', 'mpirun', 'p', 'r', 'l', 10, 1, 4.0, 1.0, 2.0, 'ended',
                    '{"library":"Open MPI v4.1.4","ranks":2,"hosts":["a","a","b"],"clock_tick_seconds":2e-8,"variables":{"x":"1"},"environment":{},"malloc_maps_from_bytes":null}', NULL, NULL),
                (2, 2, 'before/0', 1, 'i', 't2', 'mpirun', 'p', 'r', 'l', 10, 1, 4.0, 1.0, NULL, NULL, NULL, NULL, NULL);
            INSERT INTO blocks VALUES
                (1, 'before/0', 'b1', 1, 1, 'done', 0.25, '[{"id":"left","collective":"reduce","bytes":8,"implementation":{"by":"expression","text":"reduce(n)"},"settings":[]}]', '', 5.0),
                (1, 'before/0', 'a0', 1, 1, 'hung', 0.0, 'no JSON', 'detail', 6.0);
            INSERT INTO item_notes VALUES (1, 'b1', 'left', 'settings', '[["x","1"]]', 5.0), (1, 'b1', 'right', 'failed', 'wrong data', 5.0),
                (1, 'b1', 'deaf', 'failed', 'had no effect: `x` was set to `1`', 5.0), (1, 'b1', 'away', 'failed', 'rank 1: no "memory"', 5.0);"#,
        )
        .unwrap();
    let description = r#"{"id":"left","collective":"reduce","bytes":8,"implementation":{"by":"expression","text":"reduce(n)"},"settings":[]}"#;
    for (id, launch, run, item, description, seconds) in [
        (1, 1, 1, "left", description, vec![1.5e-6, 2.5e-6, 0.1 + 0.2]),
        (4, 1, 1, "left", description, vec![3e-6]),
        (7, 2, 2, "unknown", "", Vec::new()),
    ] {
        let bytes: Vec<u8> = seconds.iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
        connection
            .execute(
                "INSERT INTO samples VALUES (?1, ?2, ?3, 'before/0', 'b1', ?4, ?5, ?6, 3, 9.5)",
                rusqlite::params![id, run, launch, item, description, bytes],
            )
            .unwrap();
    }
    let noise: Vec<u8> = [1e-7_f64, 2e-7].iter().flat_map(|value| value.to_le_bytes()).collect();
    connection
        .execute("UPDATE launches SET noise = ?1 WHERE id = 1", [noise])
        .unwrap();
}

#[test]
fn a_database_of_version_1_is_migrated_with_nothing_lost() {
    let directory = kilter_fixtures::directory();
    let path = directory.path().join("kilter.db");
    version_1(&path);
    let store = Store::open(&path).unwrap();
    assert_eq!(version(&path), SCHEMA_VERSION);
    let run = begin(&store, "f");
    assert_eq!((run.id, run.seed, run.resumed), (1, u64::MAX - 1, true));
    let reading = run.reading().unwrap();
    let is_finished = |key: &str, block: &str| run.is_finished(key, block).unwrap();
    assert!(is_finished("before/0", "b1") && !is_finished("before/0", "a0") && !is_finished("after/0", "b1"));
    let block = run.finished_block("before/0", "b1").unwrap().unwrap();
    // A view that has ended keeps neither the next one away nor what is written behind it.
    drop(reading);
    drop(run.reading().unwrap());
    assert_eq!((block.launch, block.outcome.seconds, block.items.len()), (1, 0.25, 1));
    let samples = &block.outcome.samples["left"];
    assert_eq!(
        (samples.seconds.as_slice(), samples.void),
        ([1.5e-6, 2.5e-6, 0.1 + 0.2, 3e-6].as_slice(), 6)
    );
    let failed = |item: &str| {
        let fault = &block.outcome.failed[item];
        (fault.kind(), fault.to_string())
    };
    assert_eq!(failed("right"), (FaultKind::WrongData, "wrong data".to_owned()));
    let deaf = "had no effect: `x` was set to `1`";
    assert_eq!(failed("deaf"), (FaultKind::NoEffect, deaf.to_owned()));
    assert_eq!(failed("away"), (FaultKind::Refused, "rank 1: no \"memory\"".to_owned()));
    assert_eq!(block.outcome.read_back["left"], [("x".to_owned(), "1".to_owned())]);
    assert_eq!(run.stored_failure("before/0", "a0").unwrap().unwrap().state, "hung");
    assert_eq!(run.noise("before/0").unwrap().unwrap(), [1e-7, 2e-7]);
    assert_eq!((run.sample_count().unwrap(), run.launch_count().unwrap()), (4, 1));
    let launches = |prefix| run.launches_of(prefix).unwrap().0;
    assert_eq!(
        (launches("before/"), launches("b"), launches("after/"), launches("%")),
        (1, 1, 0, 0)
    );
    let rows: Vec<String> = store
        .inner
        .connection
        .prepare(
            "SELECT concat_ws('|', id, run, launch, key, block, item, function, bytes, ranks, library_string, hosts, seed, time, void)
             FROM samples_view ORDER BY id",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let first = r#"before/0|b1|left|reduce|8|2|Open MPI v4.1.4|["a","b"]|18446744073709551614|1970-01-01T00:00:09Z|3"#;
    assert_eq!(
        rows,
        [
            format!("1|1|1|{first}"),
            format!("4|1|1|{first}"),
            "7|2|2|before/0|b1|unknown|4|7|1970-01-01T00:00:09Z|3".to_owned(),
        ]
    );
}

#[test]
fn a_reader_migrates_an_old_file_and_needs_no_lock_on_a_new_one() {
    let directory = kilter_fixtures::directory();
    let path = directory.path().join("kilter.db");
    let message = Reader::open(&path).unwrap_err().to_string();
    assert!(message.contains("there is no database") && !path.exists(), "{message}");
    version_1(&path);
    assert_eq!(Reader::open(&path).unwrap().runs().unwrap().len(), 2);
    let _writer = Store::open(&path).unwrap();
    let runs = Reader::open(&path).unwrap().runs().unwrap();
    assert!(!runs[0].finished && runs[1].finished && !runs[1].has_report);
}

#[test]
fn a_report_comes_back_as_it_went_in() {
    let (_directory, path) = setup();
    let store = Store::open(&path).unwrap();
    for (name, mut report) in [
        ("tuned", fixture::tuned()),
        ("checked", fixture::checked()),
        ("empty", fixture::empty()),
    ] {
        let run = begin(&store, name);
        // Once with something else, to be replaced.
        run.record_report(&fixture::holding()).unwrap();
        run.record_report(&report).unwrap();
        run.finish().unwrap();
        let read = Reader::open(&path).unwrap().report(run.id).unwrap().unwrap();
        assert!(read == report, "{name}");
        if let Some(cell) = report.cells.first_mut() {
            cell.before.ratio = f64::NAN;
            cell.before.left_medians.clear();
            run.record_report(&report).unwrap();
            let read = Reader::open(&path).unwrap().report(run.id).unwrap().unwrap();
            assert!(read.cells[0].before.ratio.is_nan() && read.cells[1..] == report.cells[1..]);
        }
    }
    assert_eq!(Reader::open(&path).unwrap().report(99).unwrap(), None);
    let reader = Reader::open(&path).unwrap();
    let row: (String, f64, i64, i64, String) = reader
        .connection()
        .query_row(
            "SELECT verdict, ratio, launches, right_launches, library_name FROM verdicts_view
             WHERE run = 1 AND guideline = 'GL8' AND bytes = 4096 AND phase = 'before'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )
        .unwrap();
    assert_eq!(
        (row.0.as_str(), row.2, row.3, row.4.as_str()),
        ("violated", 10, 10, "Open MPI")
    );
    assert!(row.1 > 1.0);
}
