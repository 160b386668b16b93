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
fn parameters_or_own_algorithms_fix_what_the_cluster_shows() {
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
        ("GL14", "reduce", &["parameter", "algorithm", "mockup"][..]),
        ("GL10", "bcast", &["parameter", "algorithm", "mockup"]),
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
    let scan = fix(&report, "SCAN_RD");
    assert!(scan.starts_with("scan.pipelined_chain"), "{scan}");
    for contest in report["contests"].as_array().unwrap() {
        the_simplest_of_the_best_is_chosen(contest);
    }
}

fn fix(report: &Value, guideline: &str) -> String {
    cells(report, guideline, 262_144)[0]["fix"]["id"]
        .as_str()
        .unwrap()
        .to_owned()
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
