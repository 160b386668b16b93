//! `kilter tune` deploys no row that is wrong here, however fast it is.
//!
//! The contest is held in the worker, which has the rows built in; what is deployed, and so what is verified, is the plugin that
//! lies beside it. So a plugin that is wrong is put there: Kilter's own, with a wrong bit in each allreduce.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use kilter_tests::{cells, kilter, mpicc, preloaded, program, report, root, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder of programs as a build has it, with the wrong plugin in it.
fn programs(directory: &Path) {
    for name in ["kilter-worker", "kilter-verify", "libkilter.so"] {
        symlink(program(name), directory.join(name)).unwrap();
    }
    let plugin = directory.join("libkilter_collectives.so");
    mpicc(&[
        "-std=gnu11",
        "-shared",
        "-fPIC",
        &format!("-I{}", root().join("plugins/abi/include").display()),
        &format!(
            "-DKILTER_TEST_PLUGIN=\"{}\"",
            text(&program("libkilter_collectives.so"))
        ),
        text(&root().join("tests/fixtures/wrong_allreduce.c")),
        "-o",
        text(&plugin),
        "-ldl",
    ]);
    fs::set_permissions(&plugin, Permissions::from_mode(0o755)).unwrap();
}

/// The library's allreduce is slow, so that GL12 is violated and any row would fix it.
fn what_is_fast_and_wrong_is_quarantined_and_nothing_is_deployed() {
    let directory = tempfile::tempdir().unwrap();
    let libexec = directory.path().join("libexec");
    fs::create_dir(&libexec).unwrap();
    programs(&libexec);
    let delay = preloaded::library("delay", &[]);
    let out = directory.path().join("out");
    let output = run(
        preloaded::tune_slow_allreduce(&out, &delay, "algorithms").args([
            "-n",
            "2",
            "--fixed",
            "--libexec",
            text(&libexec),
        ]),
        &[1],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    let report = report(&out);
    let cell = cells(&report, "GL12", 1024)[0];
    assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}\n{said}");

    let quarantined = report["quarantined"].as_array().unwrap();
    assert!(!quarantined.is_empty(), "{said}");
    for candidate in quarantined {
        let all = candidate.to_string();
        assert!(all.contains("failed the correctness matrix"), "{all}");
        assert!(candidate["id"].as_str().unwrap().starts_with("allreduce."), "{all}");
        assert!(
            all.contains("rank 1: receive buffer: element 0")
                && all.contains("kilter verify-algorithms -n 2 --only allreduce."),
            "{all}"
        );
    }
    assert!(
        said.contains("is not deployed: it failed the correctness matrix"),
        "{said}"
    );

    assert_eq!(report["changes"], serde_json::json!([]), "{:#}", report["changes"]);
    assert!(
        cell["after"].is_null() && cell["fix"].is_null() && cell["unfixed_because"].is_string(),
        "{cell:#}"
    );
    assert!(!out.join("emit").exists(), "nothing was to be deployed");

    // The database says it of each, for this library and this build of the plugin; the next run refuses them unasked.
    let database = rusqlite::Connection::open(out.join("kilter.db")).unwrap();
    let count = |condition: &str| -> usize {
        let query = format!("SELECT count(DISTINCT row) FROM verified WHERE {condition}");
        database.query_row(&query, [], |row| row.get::<_, i64>(0)).unwrap() as usize
    };
    // One row may compete with several values of its parameters.
    let rows: BTreeSet<&str> = quarantined
        .iter()
        .filter_map(|candidate| candidate["id"].as_str()?.split(' ').next())
        .collect();
    assert_eq!((count("failed > 0"), count("failed = 0")), (rows.len(), 0), "{rows:?}");
}

/// `--out .` in a project that has an `emit` of its own.
fn a_directory_that_is_not_kilters_is_never_emptied() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("emit/main.rs");
    fs::create_dir(own.parent().unwrap()).unwrap();
    fs::write(&own, "fn main() {}").unwrap();
    let options = ["--guidelines", "GL12", "--sizes", "1024", "--budget", "60"];
    for ranks in [["-n", "2"], ["--layouts", "1x2"]] {
        let mut command = kilter("tune", directory.path());
        let output = run(command.args(options).args(ranks), &[2]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("emit/main.rs` is not Kilter's") && said.contains("--out"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&own).unwrap(), "fn main() {}");
        let database = rusqlite::Connection::open(directory.path().join("kilter.db")).unwrap();
        let launches: i64 = database
            .query_row("SELECT count(*) FROM launches", [], |row| row.get(0))
            .unwrap_or(0);
        assert_eq!(launches, 0, "before anything is measured");
    }
}

kilter_tests::cases![
    what_is_fast_and_wrong_is_quarantined_and_nothing_is_deployed,
    a_directory_that_is_not_kilters_is_never_emptied,
];
