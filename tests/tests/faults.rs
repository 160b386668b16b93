//! Candidates that hang or crash do not stop a run and leave no process behind.

use kilter_tests::{FEW_REPETITIONS, TOGETHER, algorithms_of, kilter, preloaded, processes_with, report, run};

fn preload(name: &str) -> String {
    preloaded::library(name, &[]).display().to_string()
}

fn a_hanging_and_a_crashing_candidate_are_quarantined_and_the_run_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (hang, crash) = (preload("hang"), preload("crash"));
    let description = directory.path().join("faults.toml");
    // Only the injected candidates are launch settings, so that the test is short.
    let faults = format!(
        "{}[[parameters]]\nname = \"LD_PRELOAD\"\nenvironment = true\ndefault = \"\"\ntry = [\"{hang}\", \"{crash}\"]\nsummary = \"test\"\n",
        algorithms_of("openmpi-4.1")
    );
    std::fs::write(&description, faults).unwrap();
    let out = directory.path().join("out");
    let marker = format!("KILTER_TEST_MARKER={}", out.display());
    let (name, value) = marker.split_once('=').unwrap();
    run(
        kilter("tune", &out)
            .env(name, value)
            .args([
                "-n",
                "2",
                "--sizes",
                "4096",
                "--guidelines",
                "GL8",
                "--fixed",
                "--launches",
                "2",
                "--budget",
                "120",
            ])
            .args(FEW_REPETITIONS)
            .args(TOGETHER)
            .args(["--contest", "reduce@4096", "--stall-timeout", "4", "--rounds", "1"])
            .arg("--library-description")
            .arg(&description),
        &[0, 1],
    );
    let report = report(&out);
    let quarantined = report["quarantined"].as_array().unwrap();
    println!("{quarantined:#?}");
    for (library, what) in [(&hang, "hung"), (&crash, "crashed")] {
        let entry = quarantined
            .iter()
            .find(|entry| entry["id"].as_str().unwrap().contains(library.as_str()));
        assert!(
            entry.is_some_and(|entry| entry["what"] == what),
            "{library} should have {what}: {quarantined:#?}"
        );
    }
    assert!(
        !report["contests"].as_array().unwrap().is_empty(),
        "the run went on to the contest"
    );
    assert_eq!(
        processes_with(&marker),
        Vec::<String>::new(),
        "processes were left behind"
    );
}

kilter_tests::cases![a_hanging_and_a_crashing_candidate_are_quarantined_and_the_run_goes_on,];
