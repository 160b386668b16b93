//! `kilter guard` on real ranks: a setting that changed is named, and so is the slow host of a cluster.

use kilter_tests::cluster::Cluster;
use kilter_tests::{kilter, run};
use serde_json::Value;

/// Fewest launches that are allowed.
const FEW: [&str; 3] = ["--launches", "3", "--json"];

fn a_setting_that_changed_is_named_and_nothing_else() {
    let out = tempfile::tempdir().unwrap();
    let junit = out.path().join("guard.xml");
    let night = |further: &[&str], allowed: &[i32]| -> Value {
        let mut command = kilter("guard", out.path());
        command.args(["-n", "2"]).args(FEW).args(further);
        command.arg("--junit").arg(&junit);
        let output = run(&mut command, allowed);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let first = night(&[], &[0, 2]);
    assert_eq!(
        (&first["accepts"], &first["accepted"]),
        (&true.into(), &Value::Null),
        "{first:#}"
    );
    assert!(first["facts"].as_u64().unwrap() > 100, "{first:#}");
    assert!(first["watched"].as_u64().unwrap() >= 8, "{first:#}");
    // A setting that slows nothing: what seems slower is measured in further launches.
    let second = night(&["--mca", "btl_vader_eager_limit=32768"], &[1]);
    assert_eq!(second["standing"], "differs");
    let changes = second["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{second:#}");
    assert_eq!(changes[0]["subject"], "parameter btl_vader_eager_limit");
    assert_eq!(
        (&changes[0]["from"], &changes[0]["to"]),
        (&"4096".into(), &"32768".into())
    );
    let tests = std::fs::read_to_string(&junit).unwrap();
    assert!(
        tests.contains("<failure message=\"parameter btl_vader_eager_limit: 4096 -&gt; 32768\"/>"),
        "{tests}"
    );
}

fn the_slow_host_of_a_cluster_is_named() {
    let Some(cluster) = Cluster::up_with("4", &["--slow", "2:300us"]) else {
        return;
    };
    let out = tempfile::tempdir().unwrap();
    let mut guard = kilter("guard", out.path());
    guard.args(["-n", "4", "--per-node"]).args(FEW);
    let output = run(&mut cluster.inside(&guard, None), &[1]);
    let night: Value = serde_json::from_slice(&output.stdout).unwrap();
    let slow = night["nodes"]["slow"].as_array().unwrap();
    assert!(!slow.is_empty(), "{night:#}");
    let name = format!("{}2", cluster.name());
    for one in slow {
        assert_eq!(one["hosts"], serde_json::json!([name]), "{night:#}");
    }
}

kilter_tests::cases![
    a_setting_that_changed_is_named_and_nothing_else,
    the_slow_host_of_a_cluster_is_named,
];
