//! `kilter tune --plugin`: a row of a user's plugin wins a contest, is emitted with its file, and runs in the verification.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_tests::{
    FEW_LAUNCHES, FEW_REPETITIONS, TOGETHER, cells, kilter, mpicc, preloaded, program, report, root, run,
};

fn built(directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let file = directory.join(name);
    let (output, source) = (file.display().to_string(), root().join(source).display().to_string());
    let fixed = ["-std=gnu11", "-O1", "-shared", "-fPIC", "-o", &output, &source];
    mpicc(&[&fixed[..], options].concat());
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    file
}

fn plugin(directory: &Path, name: &str, source: &str) -> PathBuf {
    let include = format!("-I{}", root().join("plugins/abi/include").display());
    built(directory, name, source, &[&include])
}

/// The plugin of the kit, in C.
fn example(directory: &Path) -> PathBuf {
    plugin(directory, "mine.so", "plugins/example/c/kilter_plugin.c")
}

fn a_plugins_row_wins_is_emitted_and_runs() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = example(directory.path());
    let unavailable = self::plugin(directory.path(), "unavailable.so", "tests/fixtures/unavailable.c");
    // The library's broadcast is slow, and so is whatever calls it; messages are not.
    let slow = preloaded::library("slow_bcast", &[]);
    let out = directory.path().join("out");
    let tuned = run(
        preloaded::preload(&mut kilter("tune", &out), &slow)
            .args(["-n", "2", "--guidelines", "GL10", "--sizes", "1024"])
            .args(["--budget", "240", "--rounds", "1", "--only", "plugins"])
            .args(FEW_LAUNCHES)
            .args(FEW_REPETITIONS)
            .args(TOGETHER)
            // Rows that did not say what they keep would be no candidates.
            .args(["--scratch-limit", "2KiB"])
            .arg("--plugin")
            .arg(&plugin)
            .arg("--plugin")
            .arg(&unavailable),
        &[0, 1],
    );
    let report = report(&out);
    let cell = cells(&report, "GL10", 1024)[0];
    // On a busy machine few launches may not decide that it holds; violated it is no more, by a factor of a hundred.
    assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}");
    assert_ne!(cell["after"]["verdict"], "violated", "{cell:#}");
    let fix = &cell["fix"];
    assert!(
        fix["kind"] == "algorithm"
            && fix["id"]
                .as_str()
                .unwrap()
                .starts_with("bcast.example_chain segment_bytes="),
        "{cell:#}"
    );
    let candidates = report["contests"][0]["candidates"].as_array().unwrap();
    assert!(
        candidates
            .iter()
            .all(|one| one["kind"].is_null() || one["id"].as_str().unwrap().contains("example_chain")),
        "nothing else was asked for: {candidates:#?}"
    );
    // The drop-in ran what was chosen, and the row that cannot run where it is measured took nothing down.
    let put_away = report["quarantined"].as_array().unwrap();
    assert!(
        put_away.len() == 1 && put_away[0]["id"] == "bcast.nowhere" && put_away[0]["what"] == "could not be run",
        "{put_away:#?}"
    );
    let detail = put_away[0]["detail"].as_str().unwrap();
    assert!(
        detail.contains("row `bcast.nowhere` says that it cannot run on this communicator"),
        "{detail}"
    );
    let warning = format!("candidate `bcast.nowhere` could not be run and is not proposed again: {detail}");
    assert!(String::from_utf8_lossy(&tuned.stderr).contains(&warning), "{tuned:?}");
    let text = fs::read_to_string(out.join("emit/kilter-profile.json")).unwrap();
    let profile: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        profile["rules"][0]["implementation"], "bcast.example_chain",
        "{profile:#}"
    );
    assert!(
        profile["plugins"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one == "lib/mine.so"),
        "{profile:#}"
    );
    assert_eq!(
        fs::read(out.join("emit/lib/mine.so")).unwrap(),
        fs::read(&plugin).unwrap(),
        "what is deployed is a copy"
    );
    // The emitted files can be installed.
    let prefix = directory.path().join("prefix");
    let mut apply = Command::new(program("kilter"));
    apply.arg("apply").arg(out.join("emit"));
    run(apply.arg("--yes").arg("--prefix").arg(&prefix), &[0]);
    let installed = installed(&prefix, "mine.so");
    assert!(installed.is_some(), "nothing below {}", prefix.display());
}

fn installed(below: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(below)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .find_map(|path| {
            if path.is_dir() {
                installed(&path, name)
            } else {
                path.ends_with(name).then_some(path)
            }
        })
}

fn a_plugin_that_cannot_be_used_ends_the_command_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |plugin: &Path| {
        let out = directory.path().join("out");
        let output = run(kilter("tune", &out).args(["-n", "2", "--plugin"]).arg(plugin), &[2]);
        assert!(!out.join("launches").exists(), "nothing is launched");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(Path::new("/nonexistent/mine.so"));
    assert!(
        said.contains("--plugin `/nonexistent/mine.so`") && said.contains("cannot open"),
        "{said}"
    );
    let plugin = example(directory.path());
    fs::set_permissions(&plugin, Permissions::from_mode(0o775)).unwrap();
    let said = refused(&plugin);
    assert!(said.contains("775") && said.contains("chmod go-w"), "{said}");
}

kilter_tests::cases![
    a_plugins_row_wins_is_emitted_and_runs,
    a_plugin_that_cannot_be_used_ends_the_command_before_anything_is_measured,
];
