//! The verdicts' promises on the real library: a function against itself raises no alarm, and a delay of known size is found.

use std::path::Path;

use kilter_tests::{kilter, preloaded, report, root, run};
use serde_json::Value;

/// 20 sizes from 1 byte to 16 KiB: with 11 functions 220 cells.
const SIZES: &str = "1,2,4,8,16,24,32,48,64,96,128,256,512,768,1024,2048,3072,4096,8192,16384";

fn all_cells(report: &Value) -> Vec<Value> {
    report["cells"].as_array().cloned().unwrap_or_default()
}

fn count(cells: &[Value], verdict: &str) -> usize {
    let is = |cell: &&Value| cell["before"]["verdict"] == verdict;
    cells.iter().filter(is).count()
}

fn a_function_against_itself_raises_no_alarm() {
    let out = tempfile::tempdir().unwrap();
    let file = root().join("configs/examples/self-comparison.toml");
    run(
        kilter("check", out.path())
            .args([
                "-n",
                "2",
                "--sizes",
                SIZES,
                "--guidelines",
                "SELF",
                "--type",
                "byte",
                "--launches",
                "8",
                "--quiet",
            ])
            .args(["--budget", "90", "--guideline-file"])
            .arg(&file),
        &[0, 1],
    );
    let cells = all_cells(&report(out.path()));
    let (violated, holds) = (count(&cells, "violated"), count(&cells, "holds"));
    println!("{} cells: {holds} hold, {violated} violated", cells.len());
    assert!(cells.len() >= 200, "{} cells", cells.len());
    // Holm at 5 %: one false alarm among all of them in one run of twenty, two in far fewer.
    assert!(violated <= 1, "{violated} of {} cells", cells.len());
}

/// The cells of `allreduce(n) <= iallreduce(n) + wait`, slowed down by `delay_ns`.
fn delayed(library: &Path, delay_ns: u64) -> Vec<Value> {
    let out = tempfile::tempdir().unwrap();
    let mut check = kilter("check", out.path());
    check
        .args(["-n", "2", "--sizes", "8,64,512,4096,16384", "--guidelines", "NB1"])
        .args(["--functions", "allreduce", "--launches", "12", "--budget", "180"])
        .args(["--quiet", "--seed", "7"]);
    preloaded::delayed_by(preloaded::preload(&mut check, library), delay_ns);
    run(&mut check, &[0, 1]);
    all_cells(&report(out.path()))
}

fn an_injected_delay_is_found_and_measured() {
    let library = preloaded::library("delay", &[]);
    let none = delayed(&library, 0);
    assert_eq!(none.len(), 5);
    // One false alarm is promised in at most one run of twenty.
    assert!(count(&none, "violated") <= 1, "nothing was injected: {none:#?}");
    // Several times what any of these sizes takes on a quiet machine, so that every cell must be found.
    let delay_ns = 100_000;
    let found = delayed(&library, delay_ns);
    let undecided: Vec<&Value> = found
        .iter()
        .filter(|cell| cell["before"]["verdict"] != "violated")
        .collect();
    assert!(undecided.is_empty(), "{undecided:#?}");
    for cell in &found {
        let before = &cell["before"];
        let seconds = |name: &str| before[name].as_f64().unwrap();
        let measured_ns = (seconds("seconds") - seconds("right_seconds")) * 1e9;
        println!(
            "{} bytes: injected {delay_ns} ns, measured {measured_ns:.0} ns",
            cell["bytes"]
        );
        // The time on top of the call is one rank's delay, as the ranks spend theirs at the same time.
        assert!(
            (0.7..=1.6).contains(&(measured_ns / delay_ns as f64)),
            "{} bytes: measured {measured_ns:.0} ns of {delay_ns} ns",
            cell["bytes"]
        );
    }
}

kilter_tests::cases![
    a_function_against_itself_raises_no_alarm,
    an_injected_delay_is_found_and_measured,
];
