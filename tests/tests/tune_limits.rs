//! Limits on fixes: functions that must be left alone, scratch, and results that must stay the same bit by bit.

use kilter_tests::{FEW_REPETITIONS, TOGETHER, cells, kilter, preloaded, report, run};

fn a_function_that_is_left_alone_stays_violated_with_that_reason() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let slow = preloaded::library("slow_bcast", &[]);
    run(
        preloaded::preload(&mut kilter("tune", &out), &slow)
            .args(["-n", "2", "--guidelines", "GL10", "--sizes", "1024"])
            .args(["--budget", "240", "--leave", "bcast"])
            // Of four launches none may be disturbed, and of eight one may, as beside a compilation.
            .args(["--fixed", "--launches", "8"])
            .args(FEW_REPETITIONS),
        &[1],
    );
    let report = report(&out);
    let cell = cells(&report, "GL10", 1024)[0];
    assert_eq!(cell["before"]["verdict"], "violated", "{cell:#}");
    assert_eq!(cell["unfixed_because"], "no fix may touch bcast (--leave)", "{cell:#}");
    assert_eq!(report["changes"].as_array().unwrap().len(), 0);
    assert!(!out.join("emit").exists(), "nothing is emitted");
}

fn who_keeps_too_much_scratch_is_no_candidate_and_the_report_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    run(
        kilter("tune", &out)
            .args([
                "-n",
                "2",
                "--guidelines",
                "GL8",
                "--sizes",
                "64KiB",
                "--launches",
                "2",
                "--fixed",
            ])
            .args(["--budget", "120", "--rounds", "1", "--only", "algorithms"])
            .args(["--contest", "reduce@64KiB", "--scratch-limit", "40KiB"])
            .args(FEW_REPETITIONS)
            .args(TOGETHER),
        &[0, 1],
    );
    let contest = &report(&out)["contests"][0];
    let ids = |list: &str| -> Vec<String> {
        let all = contest[list].as_array().unwrap().iter();
        all.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let (measured, refused) = (ids("candidates"), ids("refused"));
    println!("measured {measured:?}, refused {refused:?}");
    assert!(refused.contains(&"reduce.binomial".to_owned()) && refused.contains(&"reduce.ring".to_owned()));
    assert!(measured.iter().all(|id| !refused.contains(id)) && measured.len() > 1);
    assert!(
        contest["refused"][0]["because"]
            .as_str()
            .unwrap()
            .contains("--scratch-limit allows 40 KiB"),
        "{contest:#}"
    );
}

/// On three ranks a sum is added in one of three orders, and the default's is one of them.
fn what_leaves_other_bits_than_the_default_is_no_candidate() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    run(
        kilter("tune", &out)
            .args([
                "-n",
                "3",
                "--guidelines",
                "GL8",
                "--sizes",
                "64KiB",
                "--launches",
                "2",
                "--fixed",
            ])
            .args([
                "--budget",
                "120",
                "--rounds",
                "1",
                "--contest",
                "allreduce@64KiB",
                "--reproducible",
                "--only",
                "algorithms",
            ])
            .args(FEW_REPETITIONS)
            .args(TOGETHER),
        &[0, 1],
    );
    let report = report(&out);
    let ids = |list: &serde_json::Value| -> Vec<String> {
        let all = list.as_array().unwrap().iter();
        all.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let measured = ids(&report["contests"][0]["candidates"]);
    let quarantined = report["quarantined"].as_array().unwrap().iter();
    let other = quarantined.filter(|one| one["what"] == "other results");
    let other = ids(&serde_json::Value::Array(other.cloned().collect()));
    println!("measured {measured:?}, out {other:?}");
    assert!(!other.is_empty() && measured.len() > 1);
    for id in &measured {
        assert!(!other.contains(&format!("{id} for allreduce 65536")), "{id}");
    }
    // One that is there adds in rank order, the other as a tree of two does from either end: not both can be the default's.
    let is_out = |id: &str| other.iter().any(|one| one.starts_with(&format!("{id} for ")));
    assert!(
        is_out("allreduce.linear") || is_out("allreduce.recursive_doubling"),
        "{other:?}"
    );
}

kilter_tests::cases![
    a_function_that_is_left_alone_stays_violated_with_that_reason,
    who_keeps_too_much_scratch_is_no_candidate_and_the_report_says_why,
    what_leaves_other_bits_than_the_default_is_no_candidate,
];
