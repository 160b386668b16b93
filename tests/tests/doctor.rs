//! `kilter doctor` on this machine, whatever it is like: every check answers, and the exit status says how it is.

use std::collections::BTreeMap;
use std::path::Path;

use kilter_tests::components::with_all;
use kilter_tests::{ONE_LAUNCH, in_path, kilter, left_out, preloaded, root, run};
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

const MODEL: &str = "/proc/cpuinfo";
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const MEMORY: &str = "/proc/meminfo";
const KERNEL: &str = "/proc/sys/kernel/osrelease";

/// Files of two hosts, `a` and `b`, of which the second has these.
fn two_hosts(roots: &Path, of_b: &[(&str, &str)]) {
    let usual = [
        (MODEL, "model name : Xeon\n"),
        (GOVERNOR, "performance\n"),
        (PAGES, "always [madvise] never\n"),
        (MEMORY, "MemTotal: 67108864 kB\nMemAvailable: 60000000 kB\n"),
        (KERNEL, "6.1.0\n"),
        ("/sys/devices/system/cpu/online", "0-3\n"),
    ];
    for (host, own) in [("a", &[][..]), ("b", of_b)] {
        for (path, text) in usual.iter().chain(own) {
            let file = roots.join(host).join(path.trim_start_matches('/'));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
    }
}

/// Both ranks are on this machine, and each is told that it is on a host of its own. The pre-checks of `check` judge those, and not this machine.
fn unlike_hosts_of_a_job_are_named_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let library = preloaded::library("other_host", &[]);
    let hosts = directory.path().join("hosts");
    std::fs::write(&hosts, "a slots=1\nb slots=1\n").unwrap();
    let checked = |command: &str, of_b: &[(&str, &str)]| {
        let roots = directory.path().join("roots");
        two_hosts(&roots, of_b);
        let mut kilter = kilter(command, &directory.path().join(format!("out-{command}-{}", of_b.len())));
        if command == "check" {
            kilter.args(["--guidelines", "GL8", "--sizes", "4096"]).args(ONE_LAUNCH);
            kilter.args(["--sync", "barrier", "--min-repetitions", "3", "--max-repetitions", "4"]);
        }
        let output = run(
            kilter
                .args(["-n", "2", "--hostfile"])
                .arg(&hosts)
                .arg("--mpirun")
                .arg(root().join("tests/fixtures/two_hosts_launcher"))
                .env("KILTER_TEST_LIBRARY", &library)
                .env("KILTER_TEST_ROOTS", &roots),
            &[0, 1],
        );
        let of = |stream: &[u8]| String::from_utf8_lossy(stream).into_owned();
        of(&output.stdout) + &of(&output.stderr)
    };
    let said = checked("check", &[]);
    assert!(
        !said.contains("hosts differ") && !said.contains("not examined"),
        "{said}"
    );
    let said = checked(
        "check",
        &[
            (MODEL, "model name : EPYC\n"),
            (GOVERNOR, "powersave\n"),
            (PAGES, "[always] madvise never\n"),
            (MEMORY, "MemTotal: 33554432 kB\nMemAvailable: 30000000 kB\n"),
            (KERNEL, "6.12.0\n"),
        ],
    );
    for part in [
        "CPU model (a: Xeon; b: EPYC)",
        "memory (a: 64.0 GiB; b: 32.0 GiB)",
        "kernel (a: 6.1.0; b: 6.12.0)",
        "hosts differ in the frequency governor (a: performance; b: powersave)",
        "hosts differ in transparent huge pages (a: madvise; b: always)",
    ] {
        assert!(said.contains(part), "`{part}` in {said}");
    }
    let said = checked("doctor", &[(KERNEL, "6.12.0\n")]);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("note alike hosts differ in kernel (a: 6.1.0; b: 6.12.0)"),
        "{said}"
    );
}

kilter_tests::cases![
    unlike_hosts_of_a_job_are_named_before_anything_is_measured,
    this_machine_is_examined_with_open_mpi,
    a_description_of_another_release_is_contradicted,
    this_machine_is_examined_with_mpich,
    more_ranks_than_processors_are_a_warning,
    what_keeps_a_job_from_starting_is_an_error_with_the_next_step,
];
