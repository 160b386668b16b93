//! `kilter verify-algorithms` on real libraries: what is right passes, what is wrong, crashes or hangs is found and can be run again.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_algorithms::mockup::{MOCKUPS, Mockup};
use kilter_algorithms::{Collective, registry};
use kilter_tests::{in_path, kilter, left_out, mpicc, processes_with, program, root, run};
use serde_json::Value;

/// The plugin of `plugin.c`, wrong as the options say.
fn plugin(directory: &Path, options: &[&str]) -> PathBuf {
    build(directory, &root().join("tests/tests/correctness/plugin.c"), options)
}

fn build(directory: &Path, source: &Path, options: &[&str]) -> PathBuf {
    let file = directory.join("plugin.so");
    let include = format!("-I{}", root().join("plugins/abi/include").display());
    let (source, output) = (source.display().to_string(), file.display().to_string());
    let fixed = [
        "-std=gnu11",
        "-O1",
        "-shared",
        "-fPIC",
        &include,
        &source,
        "-o",
        &output,
    ];
    mpicc(&[&fixed[..], options].concat());
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    file
}

fn verify(out: &Path, arguments: &[&str]) -> Command {
    let mut command = kilter("verify-algorithms", out);
    command
        .args(["--stall-timeout", "5", "--quiet", "--format", "json"])
        .args(arguments);
    command
}

/// Runs it and reads what it printed.
fn verified(out: &Path, status: i32, arguments: &[&str]) -> Value {
    let output = run(&mut verify(out, arguments), &[status]);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// (row, failed) of all rows that were wrong.
fn wrong(report: &Value) -> Vec<&str> {
    let rows = report["rows"].as_array().unwrap();
    rows.iter()
        .filter(|row| row["failed"] != 0)
        .map(|row| row["row"].as_str().unwrap())
        .collect()
}

fn the_reference_of_all_sixteen_collectives_is_what_the_library_says() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = plugin(directory.path(), &[]);
    let out = directory.path().join("out");
    let report = verified(
        &out,
        0,
        &["--plugin", plugin.to_str().unwrap(), "-n", "1,2,3,5", "--reduced"],
    );
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4 * 16);
    assert!(rows.iter().all(|row| row["cases"].as_u64().unwrap() > 0), "{report:#}");
    // These rows are the library itself, and add as it does.
    let has_bits = |row: &&Value| row["bits"]["compared"].as_u64().unwrap() > 0;
    assert_eq!(rows.iter().filter(has_bits).count(), 4 * 6, "{report:#}");
    assert!(rows.iter().all(|row| row["bits"]["other"] == 0), "{report:#}");
    // The database has each verified row.
    let database = rusqlite::Connection::open(out.join("kilter.db")).unwrap();
    let stored: i64 = database
        .query_row(
            "SELECT count(*) FROM verified WHERE failed = 0 AND ranks IN (1, 2, 3, 5) AND depth = 'reduced' AND length(digest) = 16",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(stored, 64);
}

/// Asserts that every row passed on all these numbers of ranks, but for rows of an even number of ranks; returns how many passed.
fn assert_all_passed(report: &Value, ranks: &[u64]) -> usize {
    let rows = report["rows"].as_array().unwrap();
    let is_odd = |row: &Value| row["ranks"].as_u64().unwrap() % 2 == 1;
    let (passed, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row["outcome"] == "passed");
    for row in others {
        assert!(
            row["outcome"] == "nothing_compared" && is_odd(row) && row["cases"] == 0,
            "{row:#}"
        );
        let skipped = row["skipped"].as_object().unwrap();
        assert_eq!(skipped.keys().collect::<Vec<_>>(), ["its number of ranks must be even"]);
    }
    for ranks in ranks {
        let collectives: std::collections::BTreeSet<&str> = passed
            .iter()
            .filter(|row| row["ranks"] == *ranks)
            .filter_map(|row| row["row"].as_str()?.split('.').next())
            .collect();
        assert_eq!(collectives.len(), 16, "{ranks} ranks: {collectives:?}");
    }
    assert!(
        passed.iter().all(|row| row["cases"].as_u64().unwrap() > 0),
        "{report:#}"
    );
    passed.len()
}

/// More ranks than cores, one more than a tree of two levels has, and none that divides the other.
fn every_row_passes_on_seven_and_eight_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let report = verified(directory.path(), 0, &["-n", "7,8", "--reduced"]);
    assert!(assert_all_passed(&report, &[7, 8]) > 2 * 64, "{report:#}");
}

/// MPICH spins while it waits: no more ranks than cores.
fn every_row_passes_on_mpich() {
    if !in_path("mpirun.mpich") {
        left_out("no `mpirun.mpich` in PATH; install it with `scripts/setup --mpi mpich-4.0`");
        return;
    }
    // MPICH 4.0.2 overwrites memory in a Reduce_scatter_block with an operator that does not commute on a type that begins with a
    // hole, so compositions of it are wrong there.
    let sound = |mockup: &&Mockup| !mockup.calls.contains(&Collective::ReduceScatterBlock);
    let algorithms = registry::algorithms().map(|row| row.id);
    let ids: Vec<&str> = algorithms
        .chain(MOCKUPS.iter().filter(sound).map(|row| row.id))
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let only = ids.join(",");
    let arguments = ["--mpirun", "mpirun.mpich", "-n", "2", "--reduced", "--only", &only];
    let report = verified(directory.path(), 0, &arguments);
    assert!(report["library"].as_str().unwrap().contains("MPICH"), "{report:#}");
    assert!(assert_all_passed(&report, &[2]) > 64, "{report:#}");
}

fn a_row_of_which_nothing_was_compared_has_not_passed() {
    let directory = tempfile::tempdir().unwrap();
    let only = ["--only", "allgather.neighbour_exchange", "--reduced"];
    let judged = |status, ranks: &str| {
        let report = verified(directory.path(), status, &[&only[..], &["-n", ranks]].concat());
        let rows = report["rows"].as_array().unwrap().clone();
        let outcome = |row: &Value| {
            (
                row["outcome"].as_str().unwrap().to_owned(),
                row["cases"].as_u64().unwrap() > 0,
            )
        };
        rows.iter().map(outcome).collect::<Vec<_>>()
    };
    let (passed, nothing) = (("passed".to_owned(), true), ("nothing_compared".to_owned(), false));
    // A number of ranks that does not suit a row is no fault, but a job that compared nothing at all has shown nothing.
    assert_eq!(judged(0, "2,3"), [passed, nothing.clone()]);
    assert_eq!(judged(1, "3"), [nothing]);
    let mut command = kilter("verify-algorithms", directory.path());
    let output = run(command.args(only).args(["-n", "3", "--quiet"]), &[1]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("nothing compared") && said.contains("(its number of ranks must be even)"),
        "{said}"
    );
}

fn kilters_own_rows_pass_the_whole_matrix_of_a_collective() {
    let directory = tempfile::tempdir().unwrap();
    let report = verified(
        directory.path(),
        0,
        &["--only", "reduce_scatter,scan.pipelined_chain", "-n", "3"],
    );
    let rows = report["rows"].as_array().unwrap();
    assert!(
        rows.len() >= 3 && rows.iter().all(|row| row["cases"].as_u64().unwrap() > 100),
        "{report:#}"
    );
}

fn each_wrong_row_is_found_and_its_line_runs_it_again() {
    for (fault, row, words, ranks) in [
        (
            "-DWRONG_BYTE",
            "allreduce.own",
            "rank 2: receive buffer: element 3",
            "3",
        ),
        ("-DHOLE", "scan.own", "a hole, was written", "3"),
        ("-DSENDS", "gather.own", "send buffer", "3"),
        ("-DORDER", "reduce.own", "receive buffer: element 0", "3"),
        ("-DCRASHES", "bcast.own", "crashed", "2,3"),
        ("-DHANGS", "barrier.own", "hung: no sign of life for 5 s", "2"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let plugin = plugin(directory.path(), &[fault]);
        let file = plugin.to_str().unwrap();
        let collective = row.trim_end_matches(".own");
        // A right row beside the wrong one is run to its end whatever that does.
        let only = format!("{collective},allgather");
        let arguments = ["--plugin", file, "-n", ranks, "--only", &only, "--reduced"];
        let report = verified(&directory.path().join("out"), 1, &arguments);
        assert_eq!(wrong(&report), [row], "{fault}: {report:#}");
        let rows = report["rows"].as_array().unwrap();
        let found = rows.iter().find(|found| found["failed"] != 0).unwrap();
        let failure = &found["failures"][0];
        assert!(
            failure["reason"].as_str().unwrap().contains(words),
            "{fault}: {failure:#}"
        );
        // Cases that were right before the wrong one count, and those that were not come to are not taken for right.
        let planned = |row: &Value| {
            let skipped = row["skipped"].as_object().unwrap().values();
            row["cases"].as_u64().unwrap() + skipped.map(|runs| runs.as_u64().unwrap()).sum::<u64>()
        };
        let like = rows
            .iter()
            .find(|row| row["row"] == "allgather.own" && row["ranks"] == found["ranks"])
            .unwrap();
        let (runs, failed) = (found["cases"].as_u64().unwrap(), found["failed"].as_u64().unwrap());
        match fault {
            "-DCRASHES" => assert_eq!((runs, failed, planned(found)), (1, 1, 8), "{found:#}"),
            "-DHANGS" => assert_eq!((runs, failed, planned(found)), (1, 1, 3), "{found:#}"),
            _ => assert!(runs >= failed && planned(found) >= planned(like), "{found:#}"),
        }
        let others = rows.iter().filter(|found| found["row"] == "allgather.own");
        assert_eq!(others.count(), ranks.split(',').count(), "{fault}: {report:#}");

        // The line is one that a shell runs, and it finds the same in one case.
        let line = failure["reproduce"].as_str().unwrap();
        let line = line.replacen("kilter ", &format!("{} ", program("kilter").display()), 1);
        let out = directory.path().join("again");
        let again = format!("{line} --format json --quiet --stall-timeout 5 --out {}", out.display());
        let output = run(Command::new("sh").arg("-c").arg(again), &[1]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "{report:#}");
        assert_eq!(
            (&rows[0]["row"], &rows[0]["cases"], &rows[0]["failed"]),
            (&found["row"], &1.into(), &1.into())
        );
        assert_eq!(rows[0]["failures"][0]["case"], failure["case"], "{fault}");
        assert_eq!(processes_with(file), Vec::<String>::new());
    }
}

fn what_cannot_be_asked_is_refused_with_what_can() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = root().join("tests/tests/dropin/foreign_plugin.c");
    let refused = |arguments: &[&str]| {
        let output = run(&mut verify(&directory.path().join("out"), arguments), &[2]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (arguments, words) in [
        (
            &["--only", "bcast.nothing", "-n", "2"][..],
            &["bcast.nothing", "bcast.binomial"][..],
        ),
        (
            &["--only", "bcast", "--case", "type=mud", "-n", "2"],
            &["type=mud", "struct"],
        ),
        (
            &["--only", "bcast", "--case", "root=2", "-n", "2"],
            &["root=2 is no rank of a communicator of 2"],
        ),
        (
            &["--only", "bcast.binomial@x", "-n", "2"],
            &["--only", "bcast.pipelined_chain@8192"],
        ),
        (&["--plugin", "/nonexistent.so", "-n", "1"], &["/nonexistent.so"]),
        (&["-n", "0"], &["at least 1"]),
    ] {
        let said = refused(arguments);
        for word in words {
            assert!(said.contains(word), "{arguments:?}: `{word}` is missing: {said}");
        }
    }
    for (options, words) in [
        (&["-DABI_VERSION=7"][..], &["version 7"][..]),
        (&["-DIDENTITY=((2u<<16)|4u)"], &["MPICH", "Open MPI"]),
        (&["-DNO_SYMBOL"], &["kilter_plugin"]),
    ] {
        let file = build(directory.path(), &foreign, options);
        let said = refused(&["--plugin", file.to_str().unwrap(), "-n", "2"]);
        assert!(words.iter().all(|word| said.contains(word)), "{options:?}: {said}");
        assert!(!said.contains("the foreign plugin was called"), "{said}");
    }
    let file = build(directory.path(), &foreign, &[]);
    fs::set_permissions(&file, Permissions::from_mode(0o775)).unwrap();
    assert!(refused(&["--plugin", file.to_str().unwrap(), "-n", "2"]).contains("775"));
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    fs::write(&file, "no shared object").unwrap();
    assert!(refused(&["--plugin", file.to_str().unwrap(), "-n", "2"]).contains("cannot be loaded"));
}

fn the_plugins_of_the_kit_pass() {
    let directory = tempfile::tempdir().unwrap();
    let in_c = build(directory.path(), &root().join("plugins/example/c/kilter_plugin.c"), &[]);
    let built = program("libkilter_example.so");
    let in_rust = directory.path().join("libkilter_example.so");
    fs::copy(&built, &in_rust).unwrap();
    fs::set_permissions(&in_rust, Permissions::from_mode(0o755)).unwrap();
    for file in [&in_c, &in_rust] {
        let arguments = ["--plugin", file.to_str().unwrap(), "-n", "1,2,4"];
        let report = verified(&directory.path().join("out"), 0, &arguments);
        let rows = report["rows"].as_array().unwrap();
        assert!(
            rows.iter()
                .any(|row| row["row"] == "bcast.example_chain" && row["cases"].as_u64().unwrap() > 50),
            "{report:#}"
        );
    }
    // A panic is no hang: the row is named, with what it said.
    let mut command = verify(
        &directory.path().join("out"),
        &["--plugin", in_rust.to_str().unwrap(), "-n", "2", "--reduced"],
    );
    let output = run(command.args(["--env", "KILTER_EXAMPLE_PANIC=1"]), &[1]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = report["rows"][0]["failures"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("crashed") && reason.contains("it panicked"), "{reason}");
}

kilter_tests::cases![
    the_reference_of_all_sixteen_collectives_is_what_the_library_says,
    every_row_passes_on_seven_and_eight_ranks,
    every_row_passes_on_mpich,
    a_row_of_which_nothing_was_compared_has_not_passed,
    kilters_own_rows_pass_the_whole_matrix_of_a_collective,
    each_wrong_row_is_found_and_its_line_runs_it_again,
    what_cannot_be_asked_is_refused_with_what_can,
    the_plugins_of_the_kit_pass,
];
