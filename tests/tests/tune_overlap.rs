//! `kilter tune --targets` on the virtual cluster: a missed target for overlap is met by what is emitted.
//!
//! The effect is injected, and is sleep: a large message is late by a known time, which only a progress thread hides. Computation ends by
//! the clock. So neither takes longer where somebody else computes. How the search decides on a machine that others use is tested on
//! scripted launches, in `tuner/overlap/src/tuning/search/tests.rs`.

use kilter_tests::cluster::Cluster;
use kilter_tests::{few_settings, kilter, preloaded, report, run};

const TARGET: &str = r#"
id = "HALF"
name = "HalfOfItIsNotHidden"
benchmark = "receiver"
sizes = "256KiB..256KiB"
computation = ">= communication"
bound = "ratio <= 0.5"
what = "Half of a large message's time is hidden behind a longer computation of its receiver."
why = "Somebody can answer the sender while the receiver computes."
source = "this test"
"#;

/// Extra time of a large message: several times its own.
const LATE_NS: u64 = 6_000_000;

fn a_missed_target_is_met_by_the_progress_thread_as_it_is_emitted() {
    let Some(cluster) = Cluster::up("2") else { return };
    let out = tempfile::tempdir().unwrap();
    let target = out.path().join("half.toml");
    std::fs::write(&target, TARGET).unwrap();
    let mut tune = kilter("tune", out.path());
    tune.args([
        "-n",
        "2",
        "--sizes",
        "8",
        "--guidelines",
        "GL10",
        "--functions",
        "bcast",
    ])
    .args([
        "--only",
        "parameters",
        "--fixed",
        "--launches",
        "2",
        "--budget",
        "240",
        "--rounds",
        "1",
    ])
    .arg("--target-file")
    .arg(&target)
    .arg("--library-description")
    .arg(few_settings(
        out.path(),
        &["btl_tcp_progress_thread", "btl_tcp_eager_limit", "btl_tcp_links"],
    ));
    tune.args(["--model", "clock"]);
    // A large message is late unless somebody makes progress.
    let late = preloaded::library("late_message", &[]);
    preloaded::preload(&mut tune, &late).args(["--env", &format!("KILTER_TEST_LATE_NS={LATE_NS}")]);
    let output = run(&mut cluster.inside(&tune, None), &[0, 1]);
    println!("{}", String::from_utf8_lossy(&output.stderr));
    let report = report(out.path());
    let target = &report["targets"][0];
    assert_eq!(target["target"], "HALF");
    assert_eq!(target["before"], "missed", "{target:#}");
    let candidates = target["candidates"].as_array().unwrap();
    // A thread that makes progress needs a processor. Where other programs had it in the proof, what was chosen is taken back, and the report says both.
    if target["fix"].is_null() {
        let reasons = candidates.iter().map(|one| one["not_deployed"].to_string());
        assert!(reasons.into_iter().all(|why| why != "null"), "{target:#}");
        let warned = report["warnings"].as_array().unwrap().iter();
        let of_load = |text: &serde_json::Value| text.as_str().unwrap().contains("other programs used");
        assert!(
            warned.into_iter().any(of_load),
            "nothing else ran, and nothing is deployed: {target:#}"
        );
        return;
    }
    let left = candidates.iter().filter(|one| one["not_deployed"].is_null()).count();
    assert_eq!(
        left, 1,
        "what looked better is deployed, or it is said why not: {target:#}"
    );
    assert_ne!(target["after"], "missed", "{target:#}");
    let page = std::fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(page.contains("id=\"overlap-before-receiver-t\"") && page.contains("id=\"overlap-after-receiver-t\""));
    let fix = target["fix"]["id"].as_str().unwrap();
    assert!(fix.starts_with("KILTER_PROGRESS=on"), "{target:#}");
    let cell = &target["cells"][0];
    let value = |name: &str| cell[name].as_f64().unwrap();
    assert!(value("value_before") > 0.8 && value("value_after") < 0.6, "{cell:#}");
    // The emitted file must hold the settings that were verified.
    let variables = std::fs::read_to_string(out.path().join("emit/kilter.env")).unwrap();
    assert!(variables.contains("KILTER_PROGRESS="), "{variables}");
    assert!(variables.contains("lib/libkilter_progress.so"), "{variables}");
    assert!(out.path().join("emit/lib/libkilter_progress.so").is_file());
}

kilter_tests::cases![a_missed_target_is_met_by_the_progress_thread_as_it_is_emitted,];
