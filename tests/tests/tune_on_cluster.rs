//! `kilter tune` on the virtual cluster: eight real ranks, each on a host of its own.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use kilter_tests::cluster::Cluster;
use kilter_tests::{cells, kilter, report, root, run};
use serde_json::Value;

#[test]
fn parameters_or_own_algorithms_fix_what_the_cluster_shows() {
    let Some(cluster) = Cluster::up("8") else { return };
    let out = tempfile::tempdir().unwrap();
    let mut tune = kilter("tune", out.path());
    tune.args([
        "-n",
        "8",
        "--sizes",
        "256KiB",
        "--guidelines",
        "GL10,SCAN_RD",
        "--functions",
        "bcast,scan",
    ])
    .args(["--budget", "300", "--rounds", "2"])
    .arg("--guideline-file")
    .arg(root().join("configs/examples/scan-recursive-doubling.toml"));
    let mut inside = cluster.inside(&tune, None);
    let output = run(&mut inside, &[0, 1]);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    let report = report(out.path());
    for (guideline, function, kinds) in [
        ("GL10", "bcast", &["parameter", "algorithm", "mockup"][..]),
        ("SCAN_RD", "scan", &["algorithm"]),
    ] {
        let cell = cells(&report, guideline, 262_144)[0];
        println!(
            "{guideline}: {} -> {} by {}",
            cell["before"]["ratio"], cell["after"]["ratio"], cell["fix"]["id"]
        );
        assert_eq!(cell["function"], function);
        assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}");
        assert_ne!(cell["after"]["verdict"], "violated", "{cell:#}");
        assert!(kinds.contains(&cell["fix"]["kind"].as_str().unwrap()), "{cell:#}");
        assert!(cell["after"]["ratio"].as_f64().unwrap() < cell["before"]["ratio"].as_f64().unwrap());
    }
    if let Some(scan) = fix(&report, "SCAN_RD") {
        assert!(scan.starts_with("scan.pipelined_chain"), "{scan}");
    }
    for contest in report["contests"].as_array().unwrap() {
        the_simplest_of_the_best_is_chosen(contest);
    }
}

fn fix<'r>(report: &'r Value, guideline: &str) -> Option<&'r str> {
    cells(report, guideline, 262_144)[0]["fix"]["id"].as_str()
}

/// Whether one of Kilter's own or a parameter of the library wins depends on the day, but where a parameter is as good as the best
/// and meets the bound, nothing else is deployed.
fn the_simplest_of_the_best_is_chosen(contest: &Value) {
    let candidates = contest["candidates"].as_array().unwrap();
    let chosen = candidates.iter().find(|candidate| candidate["chosen"] == true);
    let Some(chosen) = chosen.filter(|chosen| chosen["kind"] == "algorithm" || chosen["kind"] == "mockup") else {
        return;
    };
    let simpler = candidates.iter().find(|candidate| {
        // What acts on a whole launch was compared with others of its kind.
        candidate["id"].as_str().unwrap().starts_with("coll_tuned_")
            && candidate["among_best"] == true
            && candidate["ratio_to_bound"].as_f64().unwrap() <= 1.05
    });
    assert!(simpler.is_none(), "{simpler:?} is simpler than {chosen:?}");
}
