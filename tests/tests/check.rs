//! `kilter check` on the real library.

use kilter_tests::{FEW_REPETITIONS, cells, kilter, report, run};

const WORDS: [&str; 5] = ["holds", "violated", "undecided", "unstable", "screened"];

fn reduce_at_4096_bytes_is_judged_against_allreduce_with_all_its_evidence() {
    let out = tempfile::tempdir().unwrap();
    let sizes = "1,2,1024,4096,16384,65536,1MiB";
    let output = run(
        kilter("check", out.path())
            .args([
                "-n",
                "2",
                "--sizes",
                sizes,
                "--functions",
                "reduce,gather",
                "--launches",
                "7",
                "--quiet",
            ])
            .args(FEW_REPETITIONS),
        &[0, 1],
    );
    let report = report(out.path());
    let found = cells(&report, "GL8", 4096);
    assert_eq!(found.len(), 1);
    let before = &found[0]["before"];
    println!("GL8 reduce 4096: {before}");
    assert!(WORDS.contains(&before["verdict"].as_str().unwrap()));
    // Never a bare p-value: ratio, interval, both times, p before and after correction, every launch's median.
    for number in ["ratio", "p", "p_adjusted", "seconds", "right_seconds"] {
        assert!(
            before[number].as_f64().is_some_and(f64::is_finite),
            "{number} in {before}"
        );
    }
    // A cell that is decided early gets no further launches.
    let launches = before["left_medians"].as_array().unwrap().len();
    assert!((2..=7).contains(&launches), "{launches}");
    assert_eq!(before["right_medians"].as_array().unwrap().len(), launches);
    let (low, high) = (
        before["ratio_ci"][0].as_f64().unwrap(),
        before["ratio_ci"][1].as_f64().unwrap(),
    );
    assert!(low <= high);
    if before["verdict"] == "violated" {
        assert!(before["ratio"].as_f64().unwrap() > 1.05 && before["p_adjusted"].as_f64().unwrap() <= 0.05);
    }
    // Every guideline with reduce or gather on the left is there, at every size.
    for (guideline, count) in [("GL8", 6), ("GL14", 6), ("GL3", 6), ("GL4", 6), ("GL1", 11)] {
        let cells = report["cells"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|cell| cell["guideline"] == guideline)
            .count();
        assert_eq!(cells, count, "{guideline}");
    }
    let violated = report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .any(|cell| cell["before"]["verdict"] == "violated");
    assert_eq!(
        output.status.code(),
        Some(i32::from(violated)),
        "the exit status says whether violations remain"
    );
    assert!(out.path().join("report.html").exists());
    let database = rusqlite::Connection::open(out.path().join("kilter.db")).unwrap();
    let samples: i64 = database
        .query_row("SELECT count(*) FROM samples", [], |row| row.get(0))
        .unwrap();
    assert!(samples > 100, "{samples} rows of samples");
}

fn what_cannot_be_done_is_exit_status_2_with_the_next_step() {
    let out = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (vec!["--sizes", "8..1"], "--sizes"),
        (vec!["--guidelines", "GL99"], "GL1, GL2"),
        (vec!["--functions", "reduse"], "allgather"),
        (vec!["--mpirun", "/nonexistent/mpirun"], "/nonexistent/mpirun"),
        (vec!["--ranks", "0"], "at least 1"),
        (vec!["--guideline-file", "/nonexistent.toml"], "/nonexistent.toml"),
    ] {
        let output = run(kilter("check", out.path()).args(&arguments), &[2]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(part), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty(), "errors belong to standard error");
    }
}

kilter_tests::cases![
    reduce_at_4096_bytes_is_judged_against_allreduce_with_all_its_evidence,
    what_cannot_be_done_is_exit_status_2_with_the_next_step,
];
