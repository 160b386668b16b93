//! `kilter tune` on the virtual cluster: eight real ranks, each on a host of its own.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::process::Command;

use kilter_tests::{cells, kilter, report, root, run};
use serde_json::Value;

/// Takes the cluster down whatever happens.
struct Cluster;

impl Cluster {
    fn up(hosts: &str) -> Option<Cluster> {
        let owner = std::process::id().to_string();
        let output = Command::new(root().join("scripts/virtual-cluster"))
            .args(["up", hosts, "--rate", "1Gbit", "--latency", "200us", "--owner", &owner])
            .output()
            .unwrap();
        match output.status.code() {
            Some(0) => Some(Cluster),
            Some(3) => {
                println!(
                    "skipped: no virtual cluster here: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                None
            }
            code => panic!("up ended with {code:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new(root().join("scripts/virtual-cluster"))
            .arg("down")
            .output();
    }
}

#[test]
fn a_parameter_pair_and_the_pipelined_scan_fix_what_the_cluster_shows() {
    let Some(_cluster) = Cluster::up("8") else { return };
    let out = tempfile::tempdir().unwrap();
    let mut tune = kilter("tune", out.path());
    tune.args([
        "-n",
        "8",
        "--sizes",
        "256KiB",
        "--guidelines",
        "GL10,GL14,SCAN_RD",
        "--functions",
        "bcast,reduce,scan",
    ])
    .args(["--launches", "6", "--budget", "240", "--rounds", "2"])
    .arg("--guideline-file")
    .arg(root().join("configs/examples/scan-recursive-doubling.toml"));
    let mut inside = Command::new(root().join("scripts/virtual-cluster"));
    inside.args(["run", "--"]).arg(tune.get_program()).args(tune.get_args());
    let output = run(&mut inside, &[0, 1]);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    let report = report(out.path());
    for (guideline, function, kinds) in [
        ("GL14", "reduce", &["parameter", "algorithm"][..]),
        ("GL10", "bcast", &["parameter", "algorithm"]),
        ("SCAN_RD", "scan", &["algorithm"]),
    ] {
        let cell = cells(&report, guideline, 262_144)[0];
        println!(
            "{guideline}: {} -> {} by {}",
            cell["before"]["ratio"], cell["after"]["ratio"], cell["fix"]["id"]
        );
        assert_eq!(cell["function"], function);
        if guideline == "GL14" && cell["before"]["verdict"] != "violated" {
            // 1.2 on a quiet machine, but down to 1.0 on a busy one, which slows the two calls on the right more.
            println!("skipped: GL14 is not violated on this machine now");
            continue;
        }
        assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}");
        assert_ne!(cell["after"]["verdict"], "violated", "{cell:#}");
        assert!(kinds.contains(&cell["fix"]["kind"].as_str().unwrap()), "{cell:#}");
        assert!(cell["after"]["ratio"].as_f64().unwrap() < cell["before"]["ratio"].as_f64().unwrap());
    }
    for (guideline, function) in [("GL14", "reduce"), ("GL10", "bcast")] {
        if cells(&report, guideline, 262_144)[0]["before"]["verdict"] == "violated" {
            a_pair_of_parameters_fixes(&report, function);
        }
    }
    let scan = fix(&report, "SCAN_RD");
    assert!(scan.starts_with("scan.pipelined_chain"), "{scan}");
}

fn fix(report: &Value, guideline: &str) -> String {
    cells(report, guideline, 262_144)[0]["fix"]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// An algorithm together with its segment size, which the defaults of neither show, is found and meets the bound. It is
/// deployed unless one of Kilter's own is faster beyond doubt, which depends on the day.
fn a_pair_of_parameters_fixes(report: &Value, function: &str) {
    let contest = report["contests"]
        .as_array()
        .unwrap()
        .iter()
        .find(|contest| contest["function"] == function)
        .unwrap();
    let candidates = contest["candidates"].as_array().unwrap();
    let algorithm = format!("coll_tuned_{function}_algorithm");
    let pair = candidates
        .iter()
        .find(|candidate| {
            let id = candidate["id"].as_str().unwrap();
            id.contains(&algorithm) && id.contains("segmentsize")
        })
        .unwrap_or_else(|| panic!("no pair of parameters: {contest:#}"));
    assert!(pair["ratio_to_bound"].as_f64().unwrap() <= 1.05, "{contest:#}");
    let chosen = candidates.iter().find(|candidate| candidate["chosen"] == true).unwrap();
    let own = chosen["kind"] == "algorithm";
    assert!(
        chosen["id"].as_str().unwrap().contains(&algorithm) || own,
        "{contest:#}"
    );
    if own {
        assert!(
            chosen["seconds"].as_f64().unwrap() < pair["seconds"].as_f64().unwrap(),
            "{contest:#}"
        );
        assert_eq!(
            pair["among_best"], false,
            "a pair as good as the best is simpler: {contest:#}"
        );
    }
}
