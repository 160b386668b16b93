//! `kilter guard` on real ranks: a setting that changed is named, so is a deployed one that was reverted, and so is the slow host of a cluster. What it
//! writes for systemd is read by systemd.

use std::path::Path;
use std::process::Command;

use kilter_tests::cluster::Cluster;
use kilter_tests::{FEW_REPETITIONS, TOGETHER, few_settings, in_path, kilter, left_out, preloaded, report, run};
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

/// Far more than a reduce of 4 KiB takes: for many repetitions, and for few, of which each must tell.
const DELAY_NS: u64 = 2_000_000;
const LONG_DELAY_NS: u64 = 20_000_000;

/// `kilter COMMAND` on two ranks whose reduce is slow as long as its message is not eager.
fn with_slow_reduce(command: &str, out: &Path, (slow, delay_ns): (&Path, u64), few: &Path) -> Command {
    let mut kilter = kilter(command, out);
    preloaded::delayed_by(preloaded::preload(&mut kilter, slow), delay_ns).args(["-n", "2"]);
    kilter.arg("--library-description").arg(few);
    kilter
}

fn a_deployed_setting_that_was_reverted_is_named_with_what_it_fixed() {
    let out = tempfile::tempdir().unwrap();
    let slow = preloaded::library(out.path(), "slow_reduce", &[]);
    let few = few_settings(out.path(), &["btl_vader_eager_limit"]);
    let mut tune = with_slow_reduce("tune", out.path(), (&slow, LONG_DELAY_NS), &few);
    tune.args(["--guidelines", "GL8", "--sizes", "4096", "--only", "parameters"])
        .args(["--launches", "6", "--budget", "240", "--rounds", "1", "--seed", "7"])
        .args(FEW_REPETITIONS)
        .args(TOGETHER);
    run(&mut tune, &[0, 1]);
    let tuned = report(out.path());
    let change = &tuned["changes"][0];
    assert_eq!(change["name"], "btl_vader_eager_limit", "{tuned:#}");
    let id = format!("btl_vader_eager_limit={}", change["value"].as_str().unwrap());
    // Installed as a site does it, in a file of parameters that every job reads.
    let file = out.path().join("site.conf");
    std::fs::copy(out.path().join("emit").join(change["file"].as_str().unwrap()), &file).unwrap();
    let night = |allowed: &[i32]| -> Value {
        let mut guard = with_slow_reduce("guard", out.path(), (&slow, DELAY_NS), &few);
        guard.args(FEW).env("OMPI_MCA_mca_base_param_files", &file);
        let output = run(&mut guard, allowed);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let first = night(&[0, 2]);
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
    let Some(cluster) = Cluster::up_with("4", &["--slow", "2:300us"]) else {
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
    a_setting_that_changed_is_named_and_nothing_else,
    a_deployed_setting_that_was_reverted_is_named_with_what_it_fixed,
    systemd_takes_the_timer_and_the_service,
    the_slow_host_of_a_cluster_is_named,
];
