//! `kilter doctor` on this machine, whatever it is like: every check answers, and the exit status says how it is.

use std::collections::BTreeMap;

use kilter_tests::components::with_all;
use kilter_tests::{in_path, kilter, left_out, root, run};
use serde_json::Value;

/// Status and findings by check.
fn doctor(arguments: &[&str]) -> (i32, Value, BTreeMap<String, Value>) {
    let out = tempfile::tempdir().unwrap();
    let output = run(
        with_all(&mut kilter("doctor", out.path()))
            .args(arguments)
            .args(["--format", "json"]),
        &[0, 1, 2],
    );
    let examination: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = examination["findings"].as_array().unwrap();
    let by_id = findings
        .iter()
        .map(|finding| (finding["id"].as_str().unwrap().to_owned(), finding.clone()))
        .collect();
    (output.status.code().unwrap(), examination, by_id)
}

/// The finding on what the library's own program prints.
fn check(launcher: &str, library: &str, variable: &str) -> Value {
    let (status, examination, found) = doctor(&["-n", "2", "--mpirun", launcher]);
    println!("{examination:#}");
    assert_eq!(
        status,
        match examination["level"].as_str().unwrap() {
            "warning" => 1,
            "error" => 2,
            _ => 0,
        }
    );
    assert!(status < 2, "{examination:#}");
    assert!(examination["library"].as_str().unwrap().starts_with(library));
    assert_eq!(found["hosts"]["says"], "2 ranks on 1 host");
    for id in ["library", "worker", "hosts", "clocks"] {
        assert_eq!(found[id]["level"], "fit", "{id}: {}", found[id]);
    }
    // The job has spoken: what only it knows is known.
    for id in ["description", "timer", "clocks", "transport", "binding", "malloc"] {
        assert_ne!(found[id]["level"], "unknown", "{id}: {}", found[id]);
    }
    let transport = found["transport"]["says"].as_str().unwrap();
    assert!(transport.contains(variable), "{transport}");
    for finding in found.values() {
        let bad = matches!(finding["level"].as_str(), Some("warning" | "error"));
        assert_eq!(bad, finding["action"].is_string(), "{finding}");
    }
    found["printed"].clone()
}

fn this_machine_is_examined_with_open_mpi() {
    let printed = check("mpirun", "Open MPI 4.1.", "btl_vader_single_copy_mechanism=");
    assert_eq!(printed["level"], "fit", "{printed}");
    assert!(printed["says"].as_str().unwrap().starts_with("`ompi_info` prints "));
}

/// A description that another release's has become: the doctor says where `ompi_info` contradicts it.
fn a_description_of_another_release_is_contradicted() {
    let real = std::fs::read_to_string(root().join("configs/libraries/openmpi-4.1.toml")).unwrap();
    let old = "{ value = 2, name = \"recursive_doubling\", kilter = \"scan.recursive_doubling\" }";
    assert!(real.contains(old), "scan has another line now");
    let changed = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        changed.path(),
        real.replacen(old, "{ value = 2, name = \"binomial\" }", 1),
    )
    .unwrap();
    let (status, _, found) = doctor(&["-n", "2", "--library-description", changed.path().to_str().unwrap()]);
    assert_eq!(status, 1);
    let printed = &found["printed"];
    assert_eq!(printed["level"], "warning", "{printed}");
    let says = printed["says"].as_str().unwrap();
    assert!(
        says.contains("value 2 binomial is only described")
            && says.contains("value 2 recursive_doubling is only reported"),
        "{says}"
    );
    let action = printed["action"].as_str().unwrap();
    assert!(action.contains("--library-description"), "{action}");
}

fn this_machine_is_examined_with_mpich() {
    if !in_path("mpirun.mpich") {
        left_out("no `mpirun.mpich` in PATH; install it with `scripts/setup --mpi mpich-4.0`");
        return;
    }
    let printed = check("mpirun.mpich", "MPICH 4.0.", "MPIR_CVAR_NOLOCAL=");
    assert_eq!(printed["level"], "fit", "{printed}");
    assert!(printed["says"].as_str().unwrap().starts_with("`mpivars` prints "));
}

fn more_ranks_than_processors_are_a_warning() {
    let processors = std::thread::available_parallelism().unwrap().get();
    let (status, _, found) = doctor(&["-n", &(processors + 1).to_string()]);
    assert_eq!(status, 1);
    assert_eq!(found["cores"]["level"], "warning", "{}", found["cores"]);
}

fn what_keeps_a_job_from_starting_is_an_error_with_the_next_step() {
    let (status, examination, found) = doctor(&["--mpirun", "/nonexistent/mpirun"]);
    assert_eq!((status, &examination["level"]), (2, &Value::from("error")));
    assert!(
        found["library"]["action"]
            .as_str()
            .unwrap()
            .contains("/nonexistent/mpirun")
    );
    let (status, _, found) = doctor(&["--libexec", "/nonexistent"]);
    assert_eq!(status, 2);
    let action = found["worker"]["action"].as_str().unwrap();
    assert!(action.contains("scripts/build --mpi openmpi-4.1"), "{action}");
    let hosts = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(hosts.path(), "no-such-host.invalid slots=2\n").unwrap();
    let (status, _, found) = doctor(&["--hostfile", hosts.path().to_str().unwrap(), "--stall-timeout", "5"]);
    assert_eq!(status, 2, "{found:#?}");
    assert_eq!(found["hosts"]["level"], "error", "{}", found["hosts"]);
}

kilter_tests::cases![
    this_machine_is_examined_with_open_mpi,
    a_description_of_another_release_is_contradicted,
    this_machine_is_examined_with_mpich,
    more_ranks_than_processors_are_a_warning,
    what_keeps_a_job_from_starting_is_an_error_with_the_next_step,
];
