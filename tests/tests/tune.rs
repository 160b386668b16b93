//! `kilter tune` on the real library, with two and four ranks. What is violated is injected: a reduce that is slow as long as its message
//! is not eager, so that a fix is there to be found whatever this machine is like, and slows nothing that a machine shows.

use kilter_tests::tuned::{self, SLOW_BYTES};
use kilter_tests::{FEW_REPETITIONS, TOGETHER, algorithms_of, cells, few_settings, kilter, report, run};
use serde_json::Value;

/// The slow reduce is found.
fn assert_violated(report: &Value) {
    let before = &cells(report, "GL8", SLOW_BYTES)[0]["before"];
    assert_eq!(before["verdict"], "violated", "{before:#}");
}

fn the_eager_limit_is_found_emitted_and_confirmed() {
    let out = &tuned::eager_limit().out;
    let report = report(out);
    assert_violated(&report);
    let changes = report["changes"].as_array().unwrap();
    let change = changes.iter().find(|change| change["name"] == "btl_vader_eager_limit");
    let cell = cells(&report, "GL8", SLOW_BYTES)[0];
    // The library's algorithms are as slow as its choice, so nothing else mends it.
    let change = change.unwrap_or_else(|| panic!("the eager limit is not deployed: {changes:#?} {cell:#}"));
    let limit: u64 = change["value"].as_str().unwrap().parse().unwrap();
    assert!(limit > SLOW_BYTES, "the limit has to be raised, it is {limit}");
    let file = out.join("emit").join(change["file"].as_str().unwrap());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.lines()
            .any(|line| line == format!("btl_vader_eager_limit = {limit}")),
        "{text}"
    );
    assert_ne!(cell["after"]["verdict"], "violated", "{cell:#}");
    assert_eq!(cell["fix"]["kind"], "parameter", "{cell:#}");
    let launch = report["provenance"]["launch_after"].as_str().unwrap();
    assert!(
        launch.contains("openmpi-mca-params.conf"),
        "what was verified is what was emitted: {launch}"
    );
    assert!(
        !launch.contains("btl_vader_eager_limit"),
        "the file alone carries the setting: {launch}"
    );
}

/// All messages by TCP, as a forgotten line of somebody's environment has it: calls take ten times as long, and break no guideline.
fn what_the_environment_sets_is_taken_back_and_named() {
    let out = tempfile::tempdir().unwrap();
    let mut tune = kilter("tune", out.path());
    tune.env("OMPI_MCA_btl", "tcp,self");
    let output = run(
        tune.args([
            "-n",
            "2",
            "--functions",
            "bcast",
            "--guidelines",
            "GL1",
            "--sizes",
            "8,4KiB",
        ])
        .args(FEW_REPETITIONS)
        .args([
            "--only",
            "parameters",
            "--launches",
            "5",
            "--budget",
            "60",
            "--rounds",
            "1",
        ]),
        &[0, 1],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the site sets `btl=tcp,self`"), "{said}");
    let report = report(out.path());
    let changes = report["changes"].as_array().unwrap();
    assert_eq!(changes[0]["name"], "btl", "{changes:#?}");
    let file = out.path().join("emit/kilter.sh");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\nexport OMPI_MCA_btl="), "{text}");
    assert!(!text.contains("tcp,self'"), "{text}");
}

/// Call mix of an application that mostly reduces 4 KiB.
const MIX: &str = "[[call]]\nfunction = \"reduce\"\nbytes = 4096\ncalls = 1e6\n\
                   [[call]]\nfunction = \"reduce\"\nbytes = \"16KiB..64KiB\"\ncalls = 500\nranks = 2\n";

fn with_parameters_frozen_a_plugin_or_mockup_fixes_or_the_reason_is_given() {
    let out = tempfile::tempdir().unwrap();
    let mix = out.path().join("mix.toml");
    std::fs::write(&mix, MIX).unwrap();
    let mut tune = tuned::tune_slow_reduce(out.path());
    let output = run(tune.args(["--only", "algorithms", "--mix"]).arg(&mix), &[0, 1]);
    println!("{}", String::from_utf8_lossy(&output.stderr));
    let report = report(out.path());
    let measured = report["cells"].as_array().unwrap().iter();
    assert!(
        measured.clone().count() > 0 && measured.clone().all(|cell| cell["bytes"] != 1024),
        "1 KiB is not in the mix"
    );
    assert_violated(&report);
    if !report["changes"].as_array().unwrap().is_empty() {
        let savings = report["savings"].as_array().unwrap();
        let calls: Vec<(u64, f64)> = savings
            .iter()
            .map(|one| (one["bytes"].as_u64().unwrap(), one["calls"].as_f64().unwrap()))
            .collect();
        assert!(
            calls.contains(&(4096, 1e6)) && calls.contains(&(16384, 500.0)),
            "{calls:?}"
        );
    }
    assert!(
        !out.path().join("emit/openmpi-mca-params.conf").exists(),
        "parameters are frozen"
    );
    let cell = cells(&report, "GL8", 4096)[0];
    if cell["after"].is_null() || cell["after"]["verdict"] == "violated" {
        assert!(
            cell["unfixed_because"]
                .as_str()
                .is_some_and(|reason| !reason.is_empty()),
            "{cell:#}"
        );
    } else if !cell["fix"].is_null() {
        assert!(
            ["mockup", "algorithm"].contains(&cell["fix"]["kind"].as_str().unwrap()),
            "{cell:#}"
        );
        let launch = report["provenance"]["launch_after"].as_str().unwrap();
        assert!(
            launch.contains("libkilter.so") && launch.contains("KILTER_PROFILE"),
            "{launch}"
        );
    }
}

/// A setting of whole launches is compared with the best algorithm only where it makes the call faster.
fn malloc_thresholds_are_tried_beside_an_algorithm_of_kilters_on_four_ranks() {
    let out = tempfile::tempdir().unwrap();
    run(
        kilter("tune", out.path())
            .args([
                "-n",
                "4",
                "--guidelines",
                "GL8",
                "--sizes",
                "512KiB",
                "--contest",
                "reduce@512KiB",
            ])
            .args(FEW_REPETITIONS)
            .args(TOGETHER)
            .arg("--library-description")
            .arg(few_settings(
                out.path(),
                &["MALLOC_MMAP_THRESHOLD_", "btl_vader_eager_limit"],
            ))
            .args(["--launches", "4", "--budget", "120", "--rounds", "1"]),
        &[0, 1],
    );
    let report = report(out.path());
    let contest = &report["contests"][0];
    assert_eq!(
        (contest["function"].as_str(), contest["bytes"].as_u64()),
        (Some("reduce"), Some(524_288))
    );
    let candidates = contest["candidates"].as_array().unwrap();
    // The test does not fix which of Kilter's algorithms wins: the binomial tree and the ring are close.
    let id = |candidate: &Value| candidate["id"].as_str().unwrap().to_owned();
    let find = |is: &dyn Fn(&Value) -> bool| candidates.iter().find(|candidate| is(candidate));
    for (what, found) in [
        ("the default", find(&|candidate| id(candidate) == "default")),
        ("an algorithm", find(&|candidate| candidate["kind"] == "algorithm")),
    ] {
        let found = found.unwrap_or_else(|| panic!("{what} is missing: {candidates:#?}"));
        assert!(found["ratio_to_default"].as_f64().unwrap() > 0.0);
        println!("{}: {} of the default", found["id"], found["ratio_to_default"]);
    }
    let proof = contest["proof"].as_str().unwrap();
    assert!(proof.starts_with("proven by messages"), "{proof}");
    let html = std::fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(html.contains("proven by messages"));
    let database = rusqlite::Connection::open(out.path().join("kilter.db")).unwrap();
    let under_them = "SELECT count(*) FROM launches WHERE command_line LIKE '%MALLOC_MMAP_THRESHOLD_=1073741824%'";
    let launches: i64 = database.query_row(under_them, [], |row| row.get(0)).unwrap();
    // Settings have nothing to gain where an algorithm halves the time, and none is launched.
    let halved = candidates
        .iter()
        .any(|candidate| candidate["ratio_to_default"].as_f64().unwrap() < 0.5);
    assert!(launches > 0 || halved, "{candidates:#?}");
}

/// Another component stands before the one whose algorithms are switched, as HAN does on several hosts of Open MPI 5.0: every setting
/// reads back, and none is asked for.
fn algorithms_that_nobody_asks_for_are_not_credited() {
    let out = tempfile::tempdir().unwrap();
    let algorithms = algorithms_of("openmpi-4.1");
    let file = out.path().join("library.toml");
    std::fs::write(&file, algorithms).unwrap();
    run(
        kilter("tune", out.path())
            .arg("--library-description")
            .arg(&file)
            .args(["-n", "4", "--mca", "coll_basic_priority=90", "--guidelines", "GL8"])
            .args(["--sizes", "64KiB", "--contest", "reduce@64KiB", "--only", "parameters"])
            .args(FEW_REPETITIONS)
            .args(TOGETHER)
            .args(["--fixed", "--launches", "2", "--budget", "120", "--rounds", "1"]),
        &[0, 1],
    );
    let report = report(out.path());
    let contest = &report["contests"][0];
    let proof = contest["proof"].as_str().unwrap();
    assert!(
        proof.starts_with("no effect: each of the library's 7 algorithms"),
        "{proof}"
    );
    let candidates = contest["candidates"].as_array().unwrap();
    let ids: Vec<&str> = candidates.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["default"]);
    assert_eq!(report["changes"].as_array().map(Vec::len), Some(0));
    let away = report["quarantined"].as_array().unwrap();
    let of_reduce = |one: &&Value| one["id"] == "coll_tuned_reduce_algorithm for reduce 65536";
    assert!(
        away.iter()
            .find(of_reduce)
            .is_some_and(|one| one["what"] == "had no effect"),
        "{away:#?}"
    );
}

kilter_tests::cases![
    the_eager_limit_is_found_emitted_and_confirmed,
    what_the_environment_sets_is_taken_back_and_named,
    with_parameters_frozen_a_plugin_or_mockup_fixes_or_the_reason_is_given,
    malloc_thresholds_are_tried_beside_an_algorithm_of_kilters_on_four_ranks,
    algorithms_that_nobody_asks_for_are_not_credited,
];
