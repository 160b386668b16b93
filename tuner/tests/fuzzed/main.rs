//! Damaged input from outside: configuration, manifests, profiles, reports, databases, counts and traces of programs. Each reader gives an answer or an error,
//! in finite time, and never panics; an accepted input can be used.
//!
//! Every kind of input is damaged in as many ways as its test says, the same in every run, or in others for as long as `KILTER_FUZZ_SECONDS` says
//! (`scripts/fuzz` runs for minutes); `KILTER_FUZZ_SEED` chooses others.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod recorded;

use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kilter_algorithms::Collective;
use kilter_bench::store::{LaunchPaths, Position, Reader, Store};
use kilter_emit::manifest::Manifest;
use kilter_fixtures::report as fixture;
use kilter_model::config::guideline::Guideline;
use kilter_model::config::launcher::BatchLauncher;
use kilter_model::config::library::Library;
use kilter_model::config::mix::Mix;
use kilter_model::config::platform::Platform;
use kilter_model::config::target::Target;
use kilter_model::place::Place;
use kilter_model::plan::Plan;
use kilter_protocol::report::Event;
use kilter_report::compare::operand::Operand;
use kilter_report::query::{Filter, Form, What, write};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Inputs that are drawn together.
const ROUND: u32 = 64;

/// No reader takes longer for inputs of this size.
const LONGEST: Duration = Duration::from_secs(5);

/// Damage to an input; places are fractions of its length, in 65536ths.
#[derive(Debug, Clone)]
enum Damage {
    Flip(u16, u8),
    Remove(u16, u8),
    Insert(u16, String),
    /// A piece of it once more.
    Repeat(u16, u8, u16),
    Cut(u16),
    /// The number at or behind a place becomes another.
    Number(u16, String),
}

fn damage() -> impl Strategy<Value = Damage> {
    let words = prop::sample::select(vec![
        "\"", "'", "[", "]", "[[", "{", "}", "=", "\n", "#", "null", "true", "k", "A", "n/k", "(n)", "* 0", "/ 0",
        "..", "../", "\u{0}", "\u{7f}", "ß", "-", "inf", "nan",
    ]);
    let numbers = prop::sample::select(vec![
        "0",
        "-1",
        "1",
        "2",
        "255",
        "65536",
        "4294967296",
        "9223372036854775807",
        "18446744073709551615",
        "18446744073709551616",
        "1e308",
        "1e-308",
        "0.5",
        "-0.0",
        "007",
        "0x7f",
    ]);
    prop_oneof![
        (any::<u16>(), 1_u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (any::<u16>(), 1_u8..).prop_map(|(at, bytes)| Damage::Remove(at, bytes)),
        (any::<u16>(), words).prop_map(|(at, word)| Damage::Insert(at, word.to_owned())),
        (any::<u16>(), 1_u8.., any::<u16>()).prop_map(|(from, bytes, to)| Damage::Repeat(from, bytes, to)),
        any::<u16>().prop_map(Damage::Cut),
        (any::<u16>(), numbers).prop_map(|(at, number)| Damage::Number(at, number.to_owned())),
    ]
}

fn damaged(bytes: &[u8], all: &[Damage]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = |at: u16, bytes: &[u8]| (bytes.len() * usize::from(at)) >> 16;
    for one in all {
        match one {
            Damage::Flip(at, bits) => {
                let at = place(*at, &bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Damage::Remove(at, count) => {
                let at = place(*at, &bytes);
                let end = (at + usize::from(*count)).min(bytes.len());
                bytes.drain(at..end);
            }
            Damage::Insert(at, word) => {
                let at = place(*at, &bytes);
                bytes.splice(at..at, word.bytes());
            }
            Damage::Repeat(from, count, to) => {
                let from = place(*from, &bytes);
                let piece = bytes[from..(from + usize::from(*count)).min(bytes.len())].to_vec();
                let to = place(*to, &bytes);
                bytes.splice(to..to, piece);
            }
            Damage::Cut(at) => bytes.truncate(place(*at, &bytes)),
            Damage::Number(at, number) => {
                let at = place(*at, &bytes);
                let is_digit = |byte: &u8| byte.is_ascii_digit();
                if let Some(begin) = bytes[at..].iter().position(is_digit).map(|behind| at + behind) {
                    let length = bytes[begin..].iter().take_while(|byte| is_digit(byte)).count();
                    bytes.splice(begin..begin + length, number.bytes());
                }
            }
        }
    }
    bytes
}

/// Damages the samples so many times, or for the time that is given, and hands each to `read`.
fn fuzz(times: u64, samples: &[Vec<u8>], read: impl Fn(&[u8])) {
    assert!(!samples.is_empty());
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<f64>().ok());
    let limit = number("KILTER_FUZZ_SECONDS").map(Duration::from_secs_f64);
    let seed = number("KILTER_FUZZ_SEED").unwrap_or(1.0).to_bits().to_le_bytes();
    let mut of_round = [0; 32];
    of_round[..8].copy_from_slice(&seed);
    let config = Config {
        cases: ROUND,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = (0..samples.len(), prop::collection::vec(damage(), 1..8));
    let under_way = Arc::new(Mutex::new(None));
    let (_test, ends) = channel();
    watch(under_way.clone(), ends);
    let begun = Instant::now();
    let mut rounds = 0_u64;
    let goes_on = |rounds: u64| limit.map_or(rounds * u64::from(ROUND) < times, |limit| begun.elapsed() < limit);
    while goes_on(rounds) {
        of_round[8..16].copy_from_slice(&rounds.to_le_bytes());
        let mut runner = TestRunner::new_with_rng(config.clone(), TestRng::from_seed(RngAlgorithm::ChaCha, &of_round));
        let outcome = runner.run(&strategy, |(sample, all)| {
            let input = damaged(&samples[sample], &all);
            let begun = Instant::now();
            *under_way.lock().unwrap() = Some((begun, format!("sample {sample}, {all:?}")));
            read(&input);
            *under_way.lock().unwrap() = None;
            prop_assert!(begun.elapsed() < LONGEST, "it took {:?}", begun.elapsed());
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{error}");
        }
        rounds += 1;
    }
    println!(
        "{} inputs in {:.1} s",
        rounds * u64::from(ROUND),
        begun.elapsed().as_secs_f64()
    );
}

/// Begin of a reading, and the input that is read.
type UnderWay = Arc<Mutex<Option<(Instant, String)>>>;

/// Ends the test and names the input if a reader does not return. `ends` is closed when the test has ended.
fn watch(under_way: UnderWay, ends: Receiver<()>) {
    const MOST: Duration = LONGEST.saturating_mul(3);
    std::thread::spawn(move || {
        let mut left = MOST;
        while ends.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
            let now = under_way.lock().map(|one| one.clone()).ok().flatten();
            left = now.map_or(MOST, |(begun, input): (Instant, String)| {
                let left = MOST.saturating_sub(begun.elapsed());
                if left.is_zero() {
                    eprintln!("it does not end: {input}");
                    std::process::abort();
                }
                left
            });
        }
    });
}

/// The same for what is text.
fn fuzz_text(times: u64, samples: &[String], read: impl Fn(&str)) {
    let samples: Vec<Vec<u8>> = samples.iter().map(|text| text.clone().into_bytes()).collect();
    fuzz(times, &samples, |bytes| read(&String::from_utf8_lossy(bytes)));
}

/// The files of a directory of `configs`.
fn configs(directory: &str) -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs").join(directory);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

/// Undamaged, all are accepted: what is fuzzed is the inside of the readers, not their first line.
#[test]
fn samples_are_accepted() {
    assert!(
        configs("guidelines")
            .iter()
            .all(|text| Guideline::parse(text, "").is_ok())
    );
    assert!(configs("targets").iter().all(|text| Target::parse(text, "").is_ok()));
    assert!(configs("libraries").iter().all(|text| Library::parse(text, "").is_ok()));
    assert!(
        configs("platforms")
            .iter()
            .all(|text| Platform::parse(text, "").is_ok())
    );
    assert!(
        configs("launchers")
            .iter()
            .all(|text| BatchLauncher::parse(text, "").is_ok())
    );
    assert!(configs("mixes").iter().all(|text| Mix::parse(text, "").is_ok()));
    assert!(Manifest::parse(&manifest()).is_ok());
}

#[test]
fn guidelines() {
    let place = |ranks| Place::on_one_node(ranks);
    fuzz_text(7_168, &configs("guidelines"), |text| {
        if let Ok(guideline) = Guideline::parse(text, "fuzzed.toml") {
            for ranks in [1, 2, 7] {
                let _ = Plan::new(
                    std::slice::from_ref(&guideline),
                    &[],
                    &[0, 1, 4096, 1 << 30],
                    place(ranks),
                );
            }
        }
    });
}

#[test]
fn descriptions_of_libraries() {
    fuzz_text(1_600, &configs("libraries"), |text| {
        if let Ok(library) = Library::parse(text, "fuzzed.toml") {
            for collective in Collective::ALL {
                if let Some(row) = library.algorithms_of(*collective) {
                    let choices = row.choices_on(7).map(|choice| row.settings(choice));
                    assert!(choices.count() <= text.len(), "more choices than text");
                }
            }
            let _ = library.version_of("Open MPI v4.1.4, package: x");
        }
    });
}

#[test]
fn targets_platforms_launchers_and_mixes() {
    fuzz_text(8_256, &configs("targets"), |text| {
        let _ = Target::parse(text, "fuzzed.toml");
    });
    fuzz_text(7_104, &configs("platforms"), |text| {
        let _ = Platform::parse(text, "fuzzed.toml");
    });
    fuzz_text(7_296, &configs("launchers"), |text| {
        let _ = BatchLauncher::parse(text, "fuzzed.toml");
    });
    fuzz_text(6_656, &configs("mixes"), |text| {
        let _ = Mix::parse(text, "fuzzed.toml");
    });
}

/// Rules of advice, and listings of statistics.
#[test]
fn advice() {
    let rules = kilter_advise::rules::load_embedded().unwrap();
    fuzz_text(2_560, &configs("advice"), |text| {
        let _ = kilter_advise::rules::parse(text, "fuzzed.toml");
    });
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("advise/samples");
    let samples: Vec<String> = std::fs::read_dir(samples)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    fuzz_text(1_792, &samples, |text| {
        if let Ok(listings) = kilter_advise::formats::read(text, "fuzzed.log") {
            let judged = kilter_advise::judge(&rules, &kilter_advise::formats::joined(listings));
            let _ = kilter_advise::render::text(&judged);
        }
    });
}

fn manifest() -> String {
    let file =
        |name: &str, carries: &str| serde_json::json!({"name": name, "carries": carries, "sha256": "0".repeat(64)});
    let manifest = serde_json::json!({
        "schema": 1,
        "kilter": "0.1.0",
        "directory": "/home/user/kilter-out/emit",
        "library": {"id": "openmpi-4.1", "name": "Open MPI", "version": "4.1.4", "site_file": "openmpi"},
        "tuned_under": {"ranks": 8, "layouts": ["8x1"], "transports": ["tcp"], "device": {"btl": "tcp,self"}, "parameters": {}, "environment": {}},
        "files": [file("openmpi-mca-params.conf", "parameters"), file("lib/libkilter.so", "library"), file("kilter.env", "environment")],
    });
    serde_json::to_string_pretty(&manifest).unwrap()
}

/// Whatever is accepted names nothing outside of its directory.
#[test]
fn manifests() {
    fuzz_text(9_472, &[manifest()], |text| {
        if let Ok(manifest) = Manifest::parse(text) {
            for file in &manifest.files {
                let mut parts = Path::new(&file.name).components();
                assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{}", file.name);
            }
            assert_eq!(Manifest::parse(&manifest.to_text().unwrap()).unwrap(), manifest);
        }
    });
}

#[test]
fn profiles() {
    let profile = serde_json::json!({
        "version": 1,
        "library": "Open MPI v4.1.4",
        "plugins": ["lib/libkilter_collectives.so"],
        "rules": [
            {"collective": "reduce", "ranks": 8, "min_bytes": 0, "max_bytes": 4095, "implementation": "reduce.ring", "parameters": {"segment_bytes": 8192}},
            {"collective": "bcast", "ranks": 8, "min_bytes": 4096, "max_bytes": 18446744073709551615_u64, "implementation": "bcast.binomial", "parameters": {}},
        ],
    });
    let text = serde_json::to_string_pretty(&profile).unwrap();
    let today = serde_json::json!({
        "version": 2,
        "library": "Open MPI v4.1.4",
        "plugins": ["lib/libkilter_collectives.so"],
        "order": "first",
        "rules": [
            {"collective": "reduce", "communicators": {"ranks": {"min": 8, "max": 16}, "nodes": {"min": 2}, "ranks_per_node": {"min": 2, "max": 2}},
             "min_bytes": 0, "max_bytes": 4095, "implementation": "reduce.ring"},
            {"collective": "bcast", "communicators": {}, "min_bytes": 4096, "max_bytes": 18446744073709551615_u64, "implementation": "bcast.binomial"},
        ],
    });
    let today = serde_json::to_string_pretty(&today).unwrap();
    fuzz_text(8_576, &[text, today], |text| {
        if let Ok(profile) = kilter_profile::Profile::parse_trusting(text, "fuzzed.json") {
            for rule in &profile.rules {
                assert!(!rule.communicators.sizes().is_empty(), "{text}");
                let placement = rule.communicators.smallest().unwrap();
                let table = kilter_profile::Table::compile(&profile, &placement);
                assert!(table.has(rule.collective().unwrap()), "{text}");
            }
        }
        let _ = kilter_profile::Profile::read(text, "fuzzed.json");
    });
}

/// A database with a launch and a run that has a report.
fn database(path: &Path) {
    let store = Store::open(path).unwrap();
    let run = store.begin_or_resume("fuzz", 1, "check", "library", 2).unwrap();
    let file = || PathBuf::from("none");
    let paths = LaunchPaths {
        plan: file(),
        report: file(),
        log: file(),
    };
    let mut launch = run.begin_launch("before/0", 1, "mpirun", &paths).unwrap();
    for line in 0..20 {
        let event = Event::Samples {
            block: format!("reduce@{line}"),
            item: format!("reduce(n) @{line}"),
            seconds: (1..50).map(|i| f64::from(i) * 1e-6).collect(),
            void: 0,
        };
        let position = Position { offset: line, line };
        launch
            .record(&event, &[], true, position, Duration::from_secs(1))
            .unwrap();
    }
    launch.close("ended", Duration::from_secs(1)).unwrap();
    run.record_report(&fixture::tuned()).unwrap();
    run.finish().unwrap();
}

/// `query`, `compare` and a run that is resumed read what is there.
#[test]
fn databases() {
    let directory = kilter_fixtures::directory();
    let path = directory.path().join("kilter.db");
    database(&path);
    // The content of the log of writes comes into the file.
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE; VACUUM")
        .unwrap();
    let whole = std::fs::read(&path).unwrap();
    let fuzzed = directory.path().join("fuzzed.db");
    fuzz(1_088, &[whole], |bytes| {
        for beside in ["-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(directory.path().join(format!("fuzzed.db{beside}")));
        }
        std::fs::write(&fuzzed, bytes).unwrap();
        if let Ok(reader) = Reader::open(&fuzzed) {
            let _ = reader.runs();
            for what in [What::Runs, What::Launches, What::Cells, What::Samples] {
                let _ = write(
                    &reader,
                    what,
                    &Filter::default(),
                    &Form::Json.into(),
                    &mut std::io::sink(),
                );
            }
        }
        let _ = Operand::load(&fuzzed, 0, false);
        let store = Store::open(&fuzzed);
        if let Ok(run) = store.and_then(|store| store.begin_or_resume("fuzz", 1, "check", "library", 2)) {
            let _ = run.finished_block("before/0", "reduce@3");
            let _ = run.sample_count();
        }
    });
}
