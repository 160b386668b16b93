//! A run that is killed loses no stored sample, and the next run resumes it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use kilter_tests::{FEW_REPETITIONS, LOOK, kilter, processes_with, program, report, run, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Rows of samples, with their contents.
fn samples(database: &Path) -> Vec<(i64, Vec<u8>)> {
    let Ok(connection) = rusqlite::Connection::open(database) else {
        return Vec::new();
    };
    let Ok(mut statement) = connection.prepare("SELECT id, seconds FROM samples ORDER BY id") else {
        return Vec::new();
    };
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The medians of `item` by the key of the launch, one for each attempt that measured it, as `kilter query` has the samples.
fn medians_by_attempt(database: &Path, item: &str) -> BTreeMap<String, Vec<f64>> {
    let mut query = Command::new(program("kilter"));
    query
        .args(["query", "samples", "--format", "json", "--db"])
        .arg(database);
    let samples: serde_json::Value = serde_json::from_slice(&run(&mut query, &[0]).stdout).unwrap();
    let mut attempts: BTreeMap<(String, i64), Vec<f64>> = BTreeMap::new();
    for sample in samples
        .as_array()
        .unwrap()
        .iter()
        .filter(|sample| sample["item"] == item)
    {
        let attempt = (
            sample["key"].as_str().unwrap().to_owned(),
            sample["launch"].as_i64().unwrap(),
        );
        attempts
            .entry(attempt)
            .or_default()
            .push(sample["seconds"].as_f64().unwrap());
    }
    let mut medians: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for ((key, _), mut seconds) in attempts {
        seconds.sort_by(f64::total_cmp);
        let middle = seconds.len() / 2;
        let median = if seconds.len().is_multiple_of(2) {
            seconds[middle - 1].midpoint(seconds[middle])
        } else {
            seconds[middle]
        };
        medians.entry(key).or_default().push(median);
    }
    medians
}

fn sigkill_at_ten_moments_loses_nothing_and_the_run_ends_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let database = out.join("kilter.db");
    let marker = format!("KILTER_TEST_MARKER={}", out.display());
    let (name, value) = marker.split_once('=').unwrap();
    let arguments = [
        "-n",
        "2",
        "--sizes",
        "1,64,4096,65536",
        "--functions",
        "reduce,gather,scan",
        "--launches",
        "6",
    ];
    let mut known: Vec<(i64, Vec<u8>)> = Vec::new();
    // A linear congruential sequence picks after how many further rows the tuner is killed: moments all over the run, the same
    // in every run of the test.
    let mut state = 12345_u64;
    for attempt in 0..10 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let further = (state >> 33) as usize % 20;
        let mut child = kilter("check", &out)
            .args(arguments)
            .args(FEW_REPETITIONS)
            .env(name, value)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if samples(&database).len() >= known.len() + further {
                break None;
            }
            std::thread::sleep(LOOK);
        };
        if let Some(status) = ended {
            let mut text = String::new();
            child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            assert!(
                status.code().is_some_and(|code| code < 2),
                "attempt {attempt}: {status}: {text}"
            );
            break;
        }
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        kill(pid, Signal::SIGKILL).unwrap();
        child.wait().unwrap();
        // The job dies with the tuner, by itself; the store is what the tuner had written.
        wait_until(
            || {
                format!(
                    "attempt {attempt}: these outlive the tuner: {:?}",
                    processes_with(&marker)
                )
            },
            || processes_with(&marker).is_empty(),
        );
        let now = samples(&database);
        assert!(
            now.len() >= known.len(),
            "attempt {attempt}: {} rows, before {}",
            now.len(),
            known.len()
        );
        assert_eq!(
            now[..known.len()],
            known[..],
            "attempt {attempt}: stored samples changed"
        );
        known = now;
    }
    let output = run(kilter("check", &out).args(arguments).args(FEW_REPETITIONS), &[0, 1]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("resuming"), "{text}");
    let all = samples(&database);
    assert_eq!(all[..known.len()], known[..]);
    let connection = rusqlite::Connection::open(&database).unwrap();
    let runs: i64 = connection
        .query_row("SELECT count(*) FROM runs", [], |row| row.get(0))
        .unwrap();
    assert_eq!(runs, 1, "one run, however often it was killed");
    // The sequential design chooses the number of launches. The cell's medians must be those of its launches in order, each once.
    let report = report(&out);
    let cell = &report["cells"][0];
    let left = cell["expression"].as_str().unwrap().split(" <= ").next().unwrap();
    let item = format!("{left} @{}", cell["measured_bytes"]);
    let stored = medians_by_attempt(&database, &item);
    let medians = cell["before"]["left_medians"].as_array().unwrap();
    assert!((2..=6).contains(&medians.len()), "{medians:?}");
    // A launch of the screening if that was clear, else one that confirms; the names of the latter may end with what they measure.
    let number = |key: &str| -> Option<usize> {
        let name = key.strip_prefix("check/screen/").or(key.strip_prefix("check/"))?;
        name.split(' ').next()?.parse().ok()
    };
    let mut next = 0;
    for median in medians.iter().map(|median| median.as_f64().unwrap()) {
        let is_it = |own: &f64| (own / median - 1.0).abs() < 1e-6;
        let of = stored.iter().filter(|(_, medians)| medians.iter().any(is_it));
        let launch = of
            .filter_map(|(key, _)| number(key))
            .filter(|launch| *launch >= next)
            .min();
        let launch = launch.unwrap_or_else(|| panic!("{median} of {item} is in no launch from {next} on: {stored:?}"));
        next = launch + 1;
    }
}

kilter_tests::cases![sigkill_at_ten_moments_loses_nothing_and_the_run_ends_as_one,];
