//! `kilter guard` on real ranks: a setting that changed is named, and what it had fixed, and so is the slow host of a cluster. What it
//! writes for systemd is read by systemd.

use std::process::Command;

use kilter_tests::cluster::Cluster;
use kilter_tests::{in_path, kilter, left_out, report, run, tuned};
use serde_json::Value;

/// Fewest launches that are allowed.
const FEW: [&str; 3] = ["--launches", "3", "--json"];

/// A night on the library as `tune` found it slow, with what it deployed, and one after somebody has taken that back.
fn a_deployed_setting_that_was_reverted_is_named_with_what_it_fixed_and_nothing_else() {
    let tuned::Tuned { out, description } = tuned::eager_limit();
    let tuned = report(out);
    let change = &tuned["changes"][0];
    assert_eq!(change["name"], "btl_vader_eager_limit", "{tuned:#}");
    let value = change["value"].as_str().unwrap();
    let id = format!("btl_vader_eager_limit={value}");
    // Installed as a site does it, in a file of parameters that every job reads.
    let site = tempfile::tempdir().unwrap();
    let (file, junit) = (site.path().join("site.conf"), site.path().join("guard.xml"));
    std::fs::copy(out.join("emit").join(change["file"].as_str().unwrap()), &file).unwrap();
    let night = |allowed: &[i32]| -> Value {
        let mut guard = tuned::with_slow_reduce("guard", out, tuned::DELAY_NS);
        guard.arg("--library-description").arg(description);
        // A reduce that is ten times too slow shows beside any other program, as long as no repetition is void because a rank came late.
        guard.args(["--wait", "sleep", "--sync", "barrier"]);
        guard.args(FEW).arg("--junit").arg(&junit);
        let output = run(guard.env("OMPI_MCA_mca_base_param_files", &file), allowed);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let first = night(&[0, 2]);
    assert_eq!(
        (&first["accepts"], &first["accepted"]),
        (&true.into(), &Value::Null),
        "{first:#}"
    );
    assert!(first["facts"].as_u64().unwrap() > 100, "{first:#}");
    assert!(first["watched"].as_u64().unwrap() >= 8, "{first:#}");
    let acts = |night: &Value| {
        let all = night["deployed"].as_array().unwrap();
        let one = all.iter().find(|one| one["id"] == id.as_str());
        one.unwrap_or_else(|| panic!("{night:#}"))["acts"].clone()
    };
    assert_eq!(acts(&first)["acts"], "yes", "{first:#}");

    let text = std::fs::read_to_string(&file).unwrap();
    let left = text.lines().filter(|line| !line.starts_with("btl_vader_eager_limit"));
    let left: String = left.map(|line| format!("{line}\n")).collect();
    assert!(left.len() < text.len());
    std::fs::write(&file, left).unwrap();
    let second = night(&[1]);
    assert_eq!(second["standing"], "differs");
    let changes = second["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{second:#}");
    assert_eq!(changes[0]["subject"], "parameter btl_vader_eager_limit");
    assert_eq!(
        (&changes[0]["from"], &changes[0]["to"]),
        (&value.into(), &"4096".into())
    );
    let tests = std::fs::read_to_string(&junit).unwrap();
    let failure = format!("<failure message=\"parameter btl_vader_eager_limit: {value} -&gt; 4096\"/>");
    assert!(tests.contains(&failure), "{tests}");
    let expected = serde_json::json!({"acts": "no", "because": "it reads back as `4096`"});
    assert_eq!(acts(&second), expected, "{second:#}");
    let guideline = &second["guidelines"][0];
    assert_eq!(guideline["comparison"]["verdict"], "violated", "{second:#}");
    assert_eq!(guideline["fix"], id.as_str());
}

fn systemd_takes_the_timer_and_the_service() {
    if !in_path("systemd-analyze") {
        left_out("no `systemd-analyze` in PATH: apt-get install systemd");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let hints = out.path().join("hints");
    run(
        kilter("guard", out.path())
            .args(["-n", "2", "--install-hints"])
            .arg(&hints),
        &[0],
    );
    // It also ends with 0 where it warns of a line that it does not know.
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]).current_dir(&hints);
    let output = run(verify.args(["kilter-guard.service", "kilter-guard.timer"]), &[0]);
    let said = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("kilter-guard")).collect();
    assert!(ours.is_empty(), "{said}");
    let mut calendar = Command::new("systemd-analyze");
    let timer = std::fs::read_to_string(hints.join("kilter-guard.timer")).unwrap();
    let when = timer.lines().find_map(|line| line.strip_prefix("OnCalendar=")).unwrap();
    run(calendar.args(["calendar", when]), &[0]);
}

fn the_slow_host_of_a_cluster_is_named() {
    let Some(cluster) = Cluster::up_with("4", &["--slow", "2:3000us"]) else {
        return;
    };
    let out = tempfile::tempdir().unwrap();
    let mut guard = kilter("guard", out.path());
    let page = out.path().join("guard.html");
    guard.args(["-n", "4", "--per-node"]).args(FEW).arg("--html").arg(&page);
    let output = run(&mut cluster.inside(&guard, None), &[1]);
    let night: Value = serde_json::from_slice(&output.stdout).unwrap();
    let slow = night["nodes"]["slow"].as_array().unwrap();
    assert!(!slow.is_empty(), "{night:#}");
    let name = format!("{}2", cluster.name());
    for one in slow {
        assert_eq!(one["hosts"], serde_json::json!([name]), "{night:#}");
    }
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("<rect class=\"slow\"") && page.contains(&name), "{page}");
}

kilter_tests::cases![
    a_deployed_setting_that_was_reverted_is_named_with_what_it_fixed_and_nothing_else,
    systemd_takes_the_timer_and_the_service,
    the_slow_host_of_a_cluster_is_named,
];
