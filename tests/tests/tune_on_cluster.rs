//! `kilter tune` on the virtual cluster: eight real ranks, each on a host of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use kilter_tests::cluster::Cluster;
use kilter_tests::{TOGETHER, cells, few_settings, kilter, report, root, run};
use serde_json::Value;

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
    // The fewest launches that show two cells violated. The network is a model, and its times vary little.
    .args(["--launches", "5", "--max-repetitions", "5"])
    .args(["--budget", "300", "--rounds", "2"])
    .args(TOGETHER)
    .arg("--guideline-file")
    .arg(root().join("configs/examples/scan-recursive-doubling.toml"));
    // A setting of whole launches competes, but one is enough: each takes launches, and none mends these.
    tune.arg("--library-description")
        .arg(few_settings(out.path(), &["btl_tcp_links"]));
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
    if fix(&report, "SCAN_RD").is_some() {
        what_is_emitted_reaches_hosts_that_share_no_environment(&cluster, out.path());
    }
}

/// `kilter.sh` is read where `mpirun` is started, and the other hosts are reached as over ssh: with an environment of their own.
fn what_is_emitted_reaches_hosts_that_share_no_environment(cluster: &Cluster, out: &Path) {
    let path = |name: &str| out.join(name).display().to_string();
    let source = root().join("tests/fixtures/scan.c").display().to_string();
    kilter_tests::mpicc(&["-O1", "-o", &path("scan"), &source]);
    let agent = "#!/bin/sh\nexec env -i PATH=/usr/bin:/bin HOME=/root \"$KILTER_LAUNCH_AGENT\" \"$@\"\n";
    fs::write(path("agent"), agent).unwrap();
    fs::set_permissions(path("agent"), fs::Permissions::from_mode(0o755)).unwrap();
    let launched = |forget: &str| {
        let script = format!(
            "unset LD_PRELOAD; KILTER_PRELOAD=1; . {}; {forget}\n\
             IFS=';'; for one in $KILTER_MCA; do export \"OMPI_MCA_${{one%%=*}}=${{one#*=}}\"; done; unset IFS\n\
             export KILTER_LOG=1 KILTER_INIT_WAIT=2\n\
             exec timeout 60 mpirun --allow-run-as-root -np 8 --hostfile \"$KILTER_HOSTFILE\" --mca plm_rsh_agent {} {}\n",
            path("emit/kilter.sh"),
            path("agent"),
            path("scan")
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]);
        let output = run(&mut cluster.inside(&shell, None), &[0]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(String::from_utf8_lossy(&output.stdout).ends_with("OK\n"), "{said}");
        said
    };
    let with = launched("");
    let counted = with
        .lines()
        .find_map(|line| line.strip_prefix("kilter: scan.pipelined_chain: "));
    assert_eq!(counted, Some("5 calls"), "{with}");
    let without = launched("unset OMPI_MCA_orte_launch_agent");
    assert!(
        without.contains("ranks 1, 2, 3, 4, 5, 6, 7 did not load libkilter.so"),
        "{without}"
    );
}

fn fix<'r>(report: &'r Value, guideline: &str) -> Option<&'r str> {
    cells(report, guideline, 262_144)[0]["fix"]["id"].as_str()
}

/// The winner varies between runs: an algorithm of Kilter's or a parameter of the library. But if a parameter is among the best and meets the
/// bound, the parameter must be deployed.
fn the_simplest_of_the_best_is_chosen(contest: &Value) {
    let candidates = contest["candidates"].as_array().unwrap();
    let chosen = candidates.iter().find(|candidate| candidate["chosen"] == true);
    let Some(chosen) = chosen.filter(|chosen| chosen["kind"] == "algorithm" || chosen["kind"] == "mockup") else {
        return;
    };
    let simpler = candidates.iter().find(|candidate| {
        // Only in-job parameters count: settings of a whole launch were compared among themselves.
        candidate["id"].as_str().unwrap().starts_with("coll_tuned_")
            && candidate["among_best"] == true
            && candidate["ratio_to_bound"].as_f64().unwrap() <= 1.05
    });
    assert!(simpler.is_none(), "{simpler:?} is simpler than {chosen:?}");
}

kilter_tests::cases![parameters_or_own_algorithms_fix_what_the_cluster_shows,];
