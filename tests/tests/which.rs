//! `kilter which` on real ranks: the algorithm that ran, and what decided it.

use kilter_tests::{build_for, in_path, kilter, left_out, run};
use serde_json::Value;

/// The answer for calls, under these variables, and the exit status.
fn which(arguments: &[&str], environment: &[(&str, &str)], allowed: &[i32]) -> Value {
    let out = tempfile::tempdir().unwrap();
    let mut command = kilter("which", out.path());
    command.args(arguments).args(["--format", "json", "--quiet"]);
    command.envs(environment.iter().copied());
    let output = run(&mut command, allowed);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(cell: &Value) -> Vec<&str> {
    let all = cell["algorithms"].as_array().unwrap();
    all.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

fn open_mpi_says_by_its_functions_that_it_decided_by_itself() {
    let set = [("OMPI_MCA_coll_tuned_reduce_algorithm", "1")];
    let answer = which(&["reduce@4096", "-n", "4"], &set, &[1]);
    let cell = &answer["cells"][0];
    assert_eq!(cell["component"], "tuned", "{answer:#}");
    assert_eq!(
        (&cell["decided"]["by"], &cell["decided"]["function"]),
        (&"default".into(), &"ompi_coll_tuned_reduce_intra_dec_fixed".into()),
        "{answer:#}"
    );
    assert!(
        !names(cell).is_empty() && !names(cell).contains(&"linear"),
        "{answer:#}"
    );
    let kinds: Vec<&str> = cell["known"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["call_path", "messages"], "{answer:#}");
    let because = cell["not_followed"][0]["because"].as_str().unwrap();
    assert!(because.starts_with("`coll_tuned_use_dynamic_rules` is "), "{answer:#}");
}

fn open_mpi_follows_a_parameter_and_a_rules_file() {
    let directory = tempfile::tempdir().unwrap();
    let rules = directory.path().join("rules.conf");
    std::fs::write(&rules, "1\n7 # bcast\n1\n0\n2\n0 0 0 0\n1024 1 0 0\n").unwrap();
    let file = rules.display().to_string();
    let set = [
        ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
        ("OMPI_MCA_coll_tuned_reduce_algorithm", "1"),
        ("OMPI_MCA_coll_tuned_dynamic_rules_filename", file.as_str()),
    ];
    let answer = which(&["reduce@4096", "bcast@4096", "-n", "4"], &set, &[0]);
    let (reduce, bcast) = (&answer["cells"][0], &answer["cells"][1]);
    assert_eq!(names(reduce), ["linear"], "{answer:#}");
    assert_eq!(
        reduce["decided"]["setting"], "coll_tuned_reduce_algorithm=1",
        "{answer:#}"
    );
    let place = "`OMPI_MCA_coll_tuned_reduce_algorithm` in the environment";
    assert_eq!(reduce["decided"]["place"], place, "{answer:#}");
    assert_eq!(names(bcast), ["basic_linear"], "{answer:#}");
    assert_eq!(
        (&bcast["decided"]["rule"], &bcast["decided"]["place"]),
        (&"1024 1 0 0".into(), &format!("{file}:7").into()),
        "{answer:#}"
    );
}

fn mpich_without_names_of_functions_is_known_by_them() {
    if !in_path("mpirun.mpich") {
        left_out("no `mpirun.mpich` in PATH; install it with `scripts/setup --mpi mpich-4.0`");
        return;
    }
    let worker = build_for("mpich-4.0").join("kilter-worker");
    assert!(
        worker.exists(),
        "{} is missing: run `scripts/build --mpi mpich-4.0` first",
        worker.display()
    );
    let set = [
        ("MPIR_CVAR_REDUCE_INTRA_ALGORITHM", "binomial"),
        ("MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE", "0"),
    ];
    let arguments = ["reduce@4096", "bcast@4096", "-n", "2", "--mpirun", "mpirun.mpich"];
    let answer = which(&arguments, &set, &[0]);
    let (reduce, bcast) = (&answer["cells"][0], &answer["cells"][1]);
    assert_eq!(names(reduce), ["binomial"], "{answer:#}");
    assert_eq!(reduce["decided"]["by"], "parameter", "{answer:#}");
    assert_eq!(names(bcast), ["binomial"], "{answer:#}");
    assert_eq!(bcast["decided"]["by"], "default", "{answer:#}");
}

kilter_tests::cases![
    open_mpi_says_by_its_functions_that_it_decided_by_itself,
    open_mpi_follows_a_parameter_and_a_rules_file,
    mpich_without_names_of_functions_is_known_by_them,
];
