//! Times to store and to read a million samples, and to compare two stored runs: `cargo bench -p kilter --bench store`, with a number behind
//! `--` for another million. Results are in `docs/method/store.md`.
//!
//! Not timed by a framework: every step is one that a user waits for once, and seconds are enough.

#![allow(clippy::unwrap_used, reason = "a benchmark panics where a test would")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kilter_bench::store::{LaunchPaths, Position, Reader, Store};
use kilter_fixtures::report as fixture;
use kilter_model::report::Report;
use kilter_protocol::report::Event;
use kilter_report::compare::operand::Operand;
use kilter_report::compare::{Compared, html, text};
use kilter_report::query::{Filter, Form, What, write};

fn main() {
    let samples: usize = std::env::args()
        .skip(1)
        .find_map(|word| word.parse().ok())
        .unwrap_or(1_000_000);
    for repetitions in [1000, 20] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kilter.db");
        let seconds = timed(|| insert(&path, samples, repetitions));
        let bytes = std::fs::metadata(&path).unwrap().len();
        println!(
            "insert {samples} samples, {repetitions} a line, the lines of a block in one durable write: {seconds:.2} s, {:.2} bytes each",
            bytes as f64 / samples as f64
        );
        let mut lines = 0;
        let seconds = timed(|| {
            let reader = Reader::open(&path).unwrap();
            lines = write(
                &reader,
                What::Samples,
                &Filter::default(),
                &Form::Csv.into(),
                &mut std::io::sink(),
            )
            .unwrap()
            .lines;
        });
        assert_eq!(lines, samples as u64, "every sample comes back");
        println!("query {samples} samples as CSV: {seconds:.2} s");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kilter.db");
    let cells = two_runs(&path);
    let seconds = timed(|| {
        let load = |index, run| {
            let path = PathBuf::from(format!("{}:{run}", path.display()));
            Operand::load(&path, index, false).unwrap()
        };
        let compared = Compared::new(vec![load(0, 1), load(1, 2)], None);
        assert_eq!(compared.pairs[0].common, cells, "every cell is compared");
        assert!(!text::to_text(&compared).is_empty() && !html::render(&compared).unwrap().is_empty());
    });
    println!("compare two stored runs of {cells} cells, as text and as a page: {seconds:.2} s");
}

fn timed(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

/// Report lines that one look at the report finds: the items of a block.
const LINES_PER_LOOK: usize = 20;

/// Through the way that a measuring run takes; plausible times with a spike now and then.
fn insert(path: &Path, samples: usize, repetitions: usize) {
    let store = Store::open(path).unwrap();
    let run = store.begin_or_resume("bench", 1, "bench", "library", 2).unwrap();
    let file = || PathBuf::from("none");
    let paths = LaunchPaths {
        plan: file(),
        report: file(),
        log: file(),
    };
    let mut launch = run.begin_launch("before/0", 1, "mpirun", &paths).unwrap();
    let mut state = 1_u64;
    for line in 0..samples / repetitions {
        let times = (0..repetitions).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let noise = state >> 52;
            let spike = if noise < 80 { 50_000 } else { 0 };
            (2_000 + 100 * (line as u64 % 50) + noise % 400 + spike) as f64 / 1e9
        });
        let event = Event::Samples {
            block: format!("reduce@{}", line % 500),
            item: format!("reduce(n) @{}", line % 500),
            seconds: times.collect(),
            void: 0,
        };
        let position = Position {
            offset: line as u64,
            line: line as u64,
        };
        // A block's items are reported together, and stored so.
        if line % LINES_PER_LOOK == 0 {
            launch.together();
        }
        launch
            .record(&event, &[], true, position, Duration::from_secs(1))
            .unwrap();
        if (line + 1) % LINES_PER_LOOK == 0 || line + 1 == samples / repetitions {
            launch.end_together().unwrap();
        }
    }
    assert_eq!(run.sample_count().unwrap(), samples as u64);
    launch.close("ended", Duration::from_secs(1)).unwrap();
    run.finish().unwrap();
}

/// Stores two runs of many guidelines; returns their number of cells.
fn two_runs(path: &Path) -> usize {
    let store = Store::open(path).unwrap();
    let mut cells = 0;
    for (name, one) in [("a", fixture::checked()), ("b", fixture::tuned())] {
        let report = many(&one);
        cells = report.cells.len();
        let run = store.begin_or_resume(name, 1, "bench", "library", 2).unwrap();
        run.record_report(&report).unwrap();
        run.finish().unwrap();
    }
    cells
}

/// The report with its guidelines ten times, under other functions.
fn many(report: &Report) -> Report {
    let mut many = report.clone();
    many.cells.clear();
    for copy in 0..10 {
        many.cells.extend(report.cells.iter().cloned().map(|mut cell| {
            let name = format!("{}{copy}", cell.function);
            cell.expression = cell.expression.replacen(&cell.function, &name, 1);
            cell.function = name;
            cell
        }));
    }
    many
}
