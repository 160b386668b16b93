//! `kilter overlap` on the real library.

use std::path::Path;

use kilter_tests::{in_path, kilter, left_out, run};
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

    // As if it had been killed just before its end, on a machine on which nothing else ran: what ran beside other programs is measured
    // again.
    let connection = rusqlite::Connection::open(out.join("kilter.db")).unwrap();
    connection
        .execute_batch("UPDATE runs SET finished = NULL; UPDATE launches SET other_cores = 0")
        .unwrap();
    drop(connection);
    let output = run(kilter("overlap", out).args(ARGUMENTS).args(["--format", "json"]), &[0]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("resuming"));
    assert_eq!(launches(out), 1, "the store has all the answers");
    let again = survey(out);
    assert_eq!(again["maps"], found["maps"]);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), again);
}

/// A survey that is made in a few seconds.
struct Small {
    name: &'static str,
    launcher: &'static str,
    /// Its benchmarks, sizes and computations.
    grid: [&'static str; 3],
    /// Cells of each map.
    cells: usize,
    /// Smallest and largest number of cells that may be measured.
    measured: [usize; 2],
}

const SMALL: [Small; 2] = [
    // 9 sizes by 9 computation times. Every second one of both is measured first, 25 cells; then at most half as many at borders.
    Small {
        name: "adaptive",
        launcher: "mpirun.openmpi",
        grid: ["receiver", "1KiB..256KiB:x2", "5us..1280us:x2"],
        cells: 9 * 9,
        measured: [5 * 5, 5 * 5 * 3 / 2],
    },
    Small {
        name: "MPICH",
        launcher: "mpirun.mpich",
        grid: ["sender,iallreduce", "8,4KiB,256KiB", "40us,320us"],
        cells: 3 * 2,
        measured: [6, 6],
    },
];

/// True if a launcher is in PATH. Whoever runs the tests must have built Kilter for its library.
fn is_there(launcher: &str) -> bool {
    if !in_path(launcher) {
        left_out(format!("no `{launcher}` in PATH; `scripts/setup` installs it"));
        return false;
    }
    true
}

fn small_surveys_are_whole_on_either_library_and_filled_in_where_they_are_adaptive() {
    for small in SMALL.iter().filter(|small| is_there(small.launcher)) {
        let out = tempfile::tempdir().unwrap();
        let [benchmarks, sizes, computations] = small.grid;
        let mut overlap = kilter("overlap", out.path());
        overlap
            .args(["-n", "2", "--mpirun", small.launcher, "--benchmarks", benchmarks])
            .args(["--sizes", sizes, "--computation", computations])
            .args(["--repetitions", "5", "--seed", "7", "--budget", "300", "--quiet"])
            // Beside other tests ranks lose their processors, which is no reason to void a round of these.
            .args(["--wait", "sleep"]);
        run(&mut overlap, &[0]);
        let found = survey(out.path());
        let maps = found["maps"].as_array().unwrap();
        assert_eq!(maps.len(), benchmarks.split(',').count(), "{}", small.name);
        for map in maps {
            let (cells, failed) = (map["cells"].as_array().unwrap(), map["failed"].as_array().unwrap());
            assert!(
                failed.is_empty() && cells.len() == small.cells,
                "{}: {} cells, {failed:?}",
                small.name,
                cells.len()
            );
            let measured = cells.iter().filter(|cell| cell.get("inferred").is_none()).count();
            let [least, most] = small.measured;
            assert!(
                (least..=most).contains(&measured),
                "{}: {measured} measured",
                small.name
            );
            for cell in cells {
                let seconds = |part: &str| cell[part].as_f64().unwrap();
                // Work is calibrated at the start, and the machine may change its speed by a factor of two: far below what was asked for is
                // wrong. The whole may be shorter, once a latency is taken off it that waited for a processor.
                let least = 0.1e-9 * cell["computation_ns"].as_f64().unwrap();
                let (both, computation) = (seconds("overlapped_seconds"), seconds("computation_seconds"));
                assert!(computation > least && both.is_finite(), "{}: {cell}", small.name);
            }
        }
    }
}

kilter_tests::cases![
    a_small_survey_is_complete_and_a_resumed_one_launches_nothing,
    small_surveys_are_whole_on_either_library_and_filled_in_where_they_are_adaptive,
];
