//! `kilter overlap` on the real library.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::path::Path;

use kilter_tests::{kilter, run};
use serde_json::Value;

const ARGUMENTS: [&str; 14] = [
    "-n",
    "2",
    "--benchmarks",
    "sender,thread-load",
    "--sizes",
    "64,16KiB,256KiB",
    "--computation",
    "20us,80us,320us",
    "--threads",
    "1",
    "--repetitions",
    "8",
    "--seed",
    "7",
];

fn survey(out: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(out.join("overlap.json")).unwrap()).unwrap()
}

fn launches(out: &Path) -> i64 {
    let connection = rusqlite::Connection::open(out.join("kilter.db")).unwrap();
    connection
        .query_row("SELECT count(*) FROM launches", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_small_survey_is_complete_and_a_resumed_one_launches_nothing() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path();
    let output = run(kilter("overlap", out).args(ARGUMENTS), &[0]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}");
    let found = survey(out);
    assert_eq!((&found["schema"], &found["ranks"]), (&Value::from(1), &Value::from(2)));
    assert_eq!(found["hosts"].as_array().unwrap().len(), 2);
    let maps = found["maps"].as_array().unwrap();
    let names: Vec<&str> = maps.iter().map(|map| map["benchmark"].as_str().unwrap()).collect();
    assert_eq!(names, ["sender", "thread_load"]);
    for (map, count) in maps.iter().zip([9, 3]) {
        assert_eq!(map["failed"].as_array().unwrap().len(), 0, "{map}");
        let cells = map["cells"].as_array().unwrap();
        assert_eq!(cells.len(), count, "small maps are measured in full");
        for cell in cells {
            for part in [
                "communication_seconds",
                "computation_seconds",
                "overlapped_seconds",
                "noise_seconds",
            ] {
                assert!(
                    cell[part]
                        .as_f64()
                        .is_some_and(|seconds| seconds.is_finite() && seconds >= 0.0),
                    "{cell}"
                );
            }
            assert!(cell["repetitions"].as_u64().is_some_and(|kept| kept >= 1), "{cell}");
            assert!(cell.get("inferred").is_none(), "{cell}");
        }
    }
    // The computation of a fixed amount of work is never much shorter than asked for, however busy the machine is.
    for cell in maps[0]["cells"].as_array().unwrap() {
        let (asked, took) = (
            cell["computation_ns"].as_f64().unwrap() * 1e-9,
            cell["computation_seconds"].as_f64().unwrap(),
        );
        assert!(took > 0.5 * asked, "{cell}");
        assert!(cell["overlapped_seconds"].as_f64().unwrap() > 0.5 * asked, "{cell}");
    }
    assert_eq!(
        std::fs::read_to_string(out.join("overlap.csv"))
            .unwrap()
            .lines()
            .count(),
        1 + 9 + 3
    );
    assert!(
        std::fs::read_to_string(out.join("overlap.html"))
            .unwrap()
            .contains("<html")
    );
    assert!(
        text.contains("sender: ratio by computation") && text.contains("thread-load: slowdown by computing threads"),
        "{text}"
    );
    assert_eq!(launches(out), 1, "all questions go to one job");

    // As if it had been killed just before its end.
    let connection = rusqlite::Connection::open(out.join("kilter.db")).unwrap();
    connection.execute("UPDATE runs SET finished = NULL", []).unwrap();
    drop(connection);
    let output = run(kilter("overlap", out).args(ARGUMENTS).args(["--format", "json"]), &[0]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("resuming"));
    assert_eq!(launches(out), 1, "the store has all the answers");
    let again = survey(out);
    assert_eq!(again["maps"], found["maps"]);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), again);
}
