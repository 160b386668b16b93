//! SMPI: `kilter check` finds what the selectors of a simulated cluster are known to do wrong, and `kilter tune` mends it.
//!
//! Simulated times are exact: what is looked for is the same on every machine, under any load.

use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_tests::{build_for, cells, in_path, kilter, left_out, report, root, run};
use serde_json::Value;

const BYTES: u64 = 64 << 10;

/// True if SMPI and Kilter's build for it are there.
fn smpi() -> bool {
    let worker = build_for("smpi-3.32").join("libkilter_worker.so");
    let is_there = in_path("smpirun") && worker.exists();
    if !is_there {
        left_out("no SMPI; make it with `scripts/setup --mpi smpi-3.32 && scripts/build --mpi smpi-3.32`");
    }
    is_there
}

/// `kilter COMMAND` on 32 simulated hosts under a selector, for broadcasts and reductions of 64 KiB.
fn on_32_hosts(command: &str, selector: &str, guidelines: &str, out: &Path) -> Command {
    let mut kilter = kilter(command, out);
    kilter
        .args(["--mpirun", "smpirun", "--platform", "ib-32x1", "-n", "32"])
        .args(["--sizes", "64KiB", "--guidelines", guidelines, "--quiet"])
        .args(["--mca", &format!("smpi/coll-selector={selector}")]);
    kilter
}

/// Time of the left side, and its ratio to the right one.
fn judged<'r>(report: &'r Value, guideline: &str, when: &str) -> (&'r str, f64, f64) {
    let cells = cells(report, guideline, BYTES);
    let [cell] = cells[..] else {
        panic!("{guideline}: {cells:?}")
    };
    let judged = &cell[when];
    let number = |key: &str| judged[key].as_f64().unwrap();
    (judged["verdict"].as_str().unwrap(), number("seconds"), number("ratio"))
}

fn about(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.05
}

/// A description with these algorithms alone for a collective, for the sake of time.
fn with_two(collective: &str, algorithms: [&str; 2], directory: &Path) -> PathBuf {
    let text = std::fs::read_to_string(root().join("configs/libraries/smpi-3.32.toml")).unwrap();
    let mut description: toml::Table = text.parse().unwrap();
    for parameter in description["parameters"].as_array_mut().unwrap() {
        if parameter["name"].as_str() == Some(&format!("smpi/{collective}")) {
            parameter["try"] = algorithms.to_vec().into();
        }
    }
    let file = directory.join("smpi.toml");
    std::fs::write(&file, description.to_string()).unwrap();
    file
}

fn selectors_break_guidelines_on_32_hosts() {
    if !smpi() {
        return;
    }
    // Known from a program that is no part of Kilter; seconds of the left side, and its ratio to the right one.
    for (selector, reduce, bcast) in [
        ("ompi", (93e-6, 1.66), (124e-6, 1.55)),
        ("mvapich2", (93e-6, 1.66), (62e-6, 1.29)),
    ] {
        let out = tempfile::tempdir().unwrap();
        run(&mut on_32_hosts("check", selector, "GL8,GL10", out.path()), &[1]);
        let report = report(out.path());
        assert_eq!(report["library"]["name"], "SMPI");
        assert_eq!(report["provenance"]["hosts"].as_array().unwrap().len(), 32);
        for (guideline, (seconds, ratio)) in [("GL8", reduce), ("GL10", bcast)] {
            let (verdict, found_seconds, found_ratio) = judged(&report, guideline, "before");
            assert_eq!(verdict, "violated", "{selector} {guideline}");
            assert!(
                about(found_seconds, seconds) && about(found_ratio, ratio),
                "{selector} {guideline}: {found_seconds} s, {found_ratio}"
            );
        }
    }
}

fn a_reduction_is_mended_by_another_algorithm() {
    if !smpi() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    // One of them does not mend it.
    let file = with_two("reduce", ["flat_tree", "mpich"], out.path());
    let mut tune = on_32_hosts("tune", "ompi", "GL8", out.path());
    tune.args(["--only", "parameters", "--library-description"]).arg(&file);
    run(&mut tune, &[0]);
    let report = report(out.path());
    let (verdict, before, _) = judged(&report, "GL8", "before");
    assert_eq!(verdict, "violated");
    let (verdict, after, _) = judged(&report, "GL8", "after");
    assert_eq!(verdict, "holds");
    assert!(after < before / 1.5, "{before} {after}");
    // The emitted file must hold the fix that was verified, and the simulator must have confirmed it.
    let arguments = std::fs::read_to_string(out.path().join("emit/smpirun.args")).unwrap();
    let fix = cells(&report, "GL8", BYTES)[0]["fix"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let argument = format!("--cfg={}", fix.replace('=', ":"));
    assert!(
        fix == "smpi/reduce=mpich" && arguments.lines().any(|line| line == argument),
        "{fix}: {arguments}"
    );
    let launch = report["provenance"]["launch_after"].as_str().unwrap();
    assert!(launch.contains(&argument), "{launch}");
}

/// Algorithms that are settings of a whole launch compete on both sides of the benchmark of the search. Each candidate has a launch of its own, and
/// a gather has few. That of Open MPI's selector is not the best.
fn the_search_is_compared_with_every_setting_of_a_launch() {
    if !smpi() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let mut benchmark = kilter("benchmark", out.path());
    benchmark
        .args(["--search", "--quiet", "--functions", "gather", "--sizes", "8,64"])
        .args(["--mca", "smpi/coll-selector=ompi"])
        .args(["--mpirun", "smpirun", "--platform", "ib-32x1", "-n", "8"])
        .arg("--library-description")
        .arg(with_two("gather", ["ompi_basic_linear", "ompi_binomial"], out.path()));
    run(&mut benchmark, &[0]);
    let text = std::fs::read_to_string(out.path().join("benchmark-search.json")).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{found:#}");
    let of_settings = |side: &str| found[side]["of_settings"].as_u64().unwrap();
    // The launch as it is and both values: once for all cells, with whom it confirms; once for each cell.
    assert!((3..=6).contains(&of_settings("search")), "{found:#}");
    assert_eq!(of_settings("exhaustive"), 6, "{found:#}");
    // One launch for each other candidate, which are the same for both sizes.
    let others = rows[0]["candidates"].as_u64().unwrap() - 2;
    assert_eq!(found["exhaustive"]["launches"].as_u64(), Some(others + 6), "{found:#}");
    let seconds = |of: &Value| of.as_f64().unwrap();
    let is_mended = |row: &Value| seconds(&row["found"]["seconds"]) < 0.8 * seconds(&row["default_seconds"]);
    assert!(rows.iter().all(is_mended), "{found:#}");
    // Times are exact: the search finds what is as good as the best.
    let ratios = rows.iter().map(|row| row["ratio"].as_f64().unwrap());
    assert!(ratios.fold(0.0, f64::max) <= 1.05, "{found:#}");
}

/// Half a minute of one core and 0.6 GiB; the ranks of a host share its link, and some algorithms know that.
fn a_check_of_512_ranks_finds_the_slow_reduce_scatter() {
    if !smpi() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let mut check = kilter("check", out.path());
    check
        .args(["--mpirun", "smpirun", "--platform", "ib-32x16", "-n", "512"])
        .args(["--sizes", "2KiB", "--guidelines", "GL9", "--type", "byte", "--quiet"])
        // 512 copies of the worker are loaded before the first sign of life.
        .args(["--mca", "smpi/coll-selector=mpich", "--stall-timeout", "120"]);
    run(&mut check, &[1]);
    let report = report(out.path());
    let provenance = &report["provenance"];
    assert_eq!(provenance["hosts"].as_array().unwrap().len(), 32, "{provenance}");
    let cells = cells(&report, "GL9", 2048);
    let [cell] = cells[..] else { panic!("{cells:?}") };
    assert_eq!(cell["ranks"], 512);
    let judged = &cell["before"];
    let (seconds, ratio) = (judged["seconds"].as_f64().unwrap(), judged["ratio"].as_f64().unwrap());
    assert_eq!(judged["verdict"], "violated");
    // Known from a program that is no part of Kilter.
    assert!(about(seconds, 53e-6) && about(ratio, 2.2), "{seconds} s, {ratio}");
    // Times are exact: a second launch would find the same.
    let launches = std::fs::read_dir(out.path().join("launches")).unwrap();
    let plans = launches.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().ends_with(".plan.jsonl")
    });
    assert_eq!(plans.count(), 1);
}

fn a_platform_belongs_to_a_simulator() {
    let out = tempfile::tempdir().unwrap();
    let refused = |mpirun: &str, further: &[&str]| {
        let mut check = kilter("check", out.path());
        let output = run(check.args(["--mpirun", mpirun, "--quiet"]).args(further), &[2]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = refused("mpirun", &["--platform", "ib-32x1"]);
    assert!(text.contains("Open MPI runs on real machines"), "{text}");
    let text = refused("mpirun", &["--platform", "ib-32x1", "-n", "33"]);
    assert!(text.contains("allowed: 1 to 32"), "{text}");
    if smpi() {
        let text = refused("smpirun", &[]);
        assert!(
            text.contains("--platform NAME, one of eth-32x1, ib-32x1, ib-32x16"),
            "{text}"
        );
    }
}

kilter_tests::cases![
    selectors_break_guidelines_on_32_hosts,
    a_reduction_is_mended_by_another_algorithm,
    the_search_is_compared_with_every_setting_of_a_launch,
    a_check_of_512_ranks_finds_the_slow_reduce_scatter,
    a_platform_belongs_to_a_simulator,
];
