//! `kilter tune --layouts`: several layouts in one go, and one set of files that holds for each.

use std::fs;
use std::path::Path;

use kilter_tests::cluster::Cluster;
use kilter_tests::{TOGETHER, few_settings, kilter, preloaded, run};
use serde_json::Value;

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn two_layouts_are_tuned_into_one_profile_and_proven_on_it() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let library = preloaded::library("delay", &[]);
    let mut tune = preloaded::tune_slow_allreduce(&out, &library, "algorithms");
    tune.args(["--layouts", "2,1x3", "--fixed"]);
    let output = run(&mut tune, &[0, 1]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{said}");
    let index = json(&out.join("layouts.json"));
    let layouts: Vec<&str> = index["layouts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["layout"].as_str().unwrap())
        .collect();
    assert_eq!(layouts, ["1x2", "1x3"]);
    assert!(out.join("kilter.db").is_file(), "one database");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for entry in index["layouts"].as_array().unwrap() {
        assert!(entry["violated_before"].as_u64().unwrap() > 0, "{index:#}");
    }
    let mut violated = false;
    for (layout, ranks) in [("1x2", 2), ("1x3", 3)] {
        assert!(page.contains(&format!("href=\"{layout}/report.html\"")), "{page}");
        assert!(out.join(layout).join("report.html").is_file());
        let report = json(&out.join(layout).join("report.json"));
        assert_eq!(report["ranks"], ranks);
        for cell in report["cells"].as_array().unwrap() {
            assert!(
                cell["after"].is_object(),
                "it is verified with the merged files: {cell:#}"
            );
            let (before, after) = (&cell["before"]["verdict"], &cell["after"]["verdict"]);
            violated |= after == "violated" || (before == "violated" && after != "holds");
        }
        let launch = report["provenance"]["launch_after"].as_str().unwrap();
        let profile = format!("KILTER_PROFILE={}", out.join("emit/kilter-profile.json").display());
        assert!(
            launch.contains(&profile),
            "what is proven is the profile of all layouts: {launch}"
        );
    }
    assert_eq!(output.status.code(), Some(i32::from(violated)));
    let profile = json(&out.join("emit/kilter-profile.json"));
    assert_eq!(profile["version"], 2, "{profile:#}");
    let rules = profile["rules"].as_array().unwrap().iter();
    let mut held: Vec<&Value> = rules.map(|rule| &rule["communicators"]).collect();
    held.dedup();
    let on_one_node = |ranks: u64| {
        serde_json::json!({
            "ranks": {"min": ranks, "max": ranks},
            "nodes": {"min": 1, "max": 1},
            "ranks_per_node": {"min": ranks, "max": ranks},
        })
    };
    assert_eq!(held, [&on_one_node(2), &on_one_node(3)], "{profile:#}");
    let manifest = json(&out.join("emit/manifest.json"));
    assert_eq!(manifest["tuned_under"]["layouts"], serde_json::json!(["1x2", "1x3"]));
}

fn a_layout_that_the_machine_does_not_have_is_named_with_what_was_got() {
    let out = tempfile::tempdir().unwrap();
    let mut tune = kilter("tune", out.path());
    tune.args([
        "--layouts",
        "2x1",
        "--guidelines",
        "GL12",
        "--sizes",
        "8",
        "--launches",
        "3",
    ]);
    let output = run(&mut tune, &[2]);
    let said = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(
        said.contains("the ranks lie as") || said.contains("more processes than the ppr"),
        "{said}"
    );
    assert!(!out.path().join("emit").exists());
}

fn what_is_no_layout_is_refused_before_anything_runs() {
    let out = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (&["--layouts", "2x"][..], "--layouts: `2x` is no layout"),
        (&["--layouts", "auto"], "such as SLURM_JOB_ID, is set here"),
        (&["--layouts", "2", "--platform", "ib-32x1"], "--layouts"),
        (&["--layouts", "2", "-n", "4"], "--ranks"),
    ] {
        let mut tune = kilter("tune", out.path());
        tune.args(arguments).env_remove("SLURM_JOB_ID");
        let output = run(&mut tune, &[2]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(!out.path().join("kilter.db").exists());
}

fn ranks_are_spread_over_the_hosts_of_a_cluster() {
    let Some(cluster) = Cluster::up("2") else { return };
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let mut tune = kilter("tune", &out);
    tune.args([
        "--layouts",
        "2x1,2x2,1x2",
        "--guidelines",
        "GL12,TGT39_BCAST",
        "--sizes",
        "1024",
    ])
    .args([
        "--launches",
        "4",
        "--budget",
        "90",
        "--stall-timeout",
        "60",
        "--rounds",
        "1",
        "--only",
        "parameters",
    ])
    .args(TOGETHER);
    tune.arg("--library-description").arg(few_settings(
        directory.path(),
        &["btl_tcp_eager_limit", "btl_vader_eager_limit"],
    ));
    let output = run(&mut cluster.inside(&tune, None), &[0, 1]);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    for (layout, ranks, hosts) in [("2x1", 2, 2), ("2x2", 4, 2), ("1x2", 2, 1)] {
        let report = json(&out.join(layout).join("report.json"));
        assert_eq!(report["ranks"], ranks);
        let found = report["provenance"]["hosts"].as_array().unwrap();
        assert_eq!(found.len(), hosts, "{layout}: {found:?}");
        // Two ranks on each of two hosts are two lanes: the side over lanes was carried out, and its data were right.
        let over_lanes = report["cells"].as_array().unwrap().iter();
        let judged =
            over_lanes.filter(|cell| cell["guideline"] == "TGT39_BCAST" && cell["before"]["ratio"].is_number());
        assert!(judged.count() == 1 || layout != "2x2", "{report:#}");
        let launch = report["provenance"]["launch_before"].as_str().unwrap();
        let per_node = ranks / hosts;
        assert!(launch.contains(&format!("ppr:{per_node}:node")), "{launch}");
    }
}

kilter_tests::cases![
    two_layouts_are_tuned_into_one_profile_and_proven_on_it,
    a_layout_that_the_machine_does_not_have_is_named_with_what_was_got,
    what_is_no_layout_is_refused_before_anything_runs,
    ranks_are_spread_over_the_hosts_of_a_cluster,
];
