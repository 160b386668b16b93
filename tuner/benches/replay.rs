//! Time to go through a stored run again, with one thread and with two: `cargo bench -p kilter --bench replay`, with a number behind `--` for
//! another number of replays of each (5). `scripts/benchmark-replay` says where the results are.
//!
//! The run is that of a scripted library, so that no MPI is needed. Each replay is a process of its own, since rayon reads its number of
//! threads once; those with one thread and with two take turns, so that both see the same minutes of the machine.

#![allow(clippy::unwrap_used, reason = "a benchmark panics where a test would")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use kilter::scripted::{ScriptedLibrary, Site};
use kilter_bench::launch::Replay;

/// Numbers of threads that are compared.
const THREADS: [usize; 2] = [1, 2];

/// The command whose run is stored: all guidelines at four sizes.
const WORDS: [&str; 4] = ["--sizes", "8,512,4096,32768", "--budget", "100000"];

/// Set for a process that replays the run in this directory, once.
const AGAIN: &str = "KILTER_BENCH_REPLAY";

fn main() {
    if let Some(directory) = std::env::var_os(AGAIN) {
        return replay(Path::new(&directory));
    }
    let replays: usize = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(5);
    // In memory where there is one: the store is made durable a thousand times.
    let memory = Path::new("/dev/shm");
    let directory = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
    let begin = Instant::now();
    let run = site(directory.path()).tune(&WORDS).unwrap();
    println!(
        "stored: {} cells, {} jobs, {:.2} s",
        run.report.cells.len(),
        run.jobs,
        begin.elapsed().as_secs_f64()
    );
    let mut seconds = [Vec::new(), Vec::new()];
    for turn in 0..replays {
        // Whoever is first in one turn is second in the next.
        for place in [turn % 2, (turn + 1) % 2] {
            seconds[place].push(replayed(directory.path(), THREADS[place]));
        }
    }
    for (threads, seconds) in THREADS.iter().zip(&mut seconds) {
        seconds.sort_by(f64::total_cmp);
        println!(
            "replayed with RAYON_NUM_THREADS={threads}: median {:.3} s of {replays}, from {:.3} to {:.3}",
            seconds[seconds.len() / 2],
            seconds[0],
            seconds[seconds.len() - 1]
        );
    }
}

/// A library whose reduce breaks guidelines, with times that vary.
fn site(directory: &Path) -> Site {
    let library = ScriptedLibrary::new()
        .setting("x", "0", &["1", "16"])
        .cost("reduce", |call, usual| {
            if call.bytes >= 4096 && call.is("x", "0") {
                4.0 * usual
            } else {
                usual
            }
        });
    Site::new(directory, library).unwrap()
}

/// Replays and says the seconds; what a process takes to start is not among them.
fn replay(directory: &Path) {
    let site = site(directory);
    let begin = Instant::now();
    let run = site.tune_on(Box::new(Replay::default()), &WORDS).unwrap();
    println!("{}", begin.elapsed().as_secs_f64());
    assert_eq!(run.jobs, 0, "a replay starts nothing");
}

/// Seconds of a replay with this number of threads.
fn replayed(directory: &Path, threads: usize) -> f64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .env(AGAIN, directory)
        .env("RAYON_NUM_THREADS", threads.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().unwrap()
}
