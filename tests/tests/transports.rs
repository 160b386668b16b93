//! Transports as the running job names them: Open MPI over UCX and over libfabric, where this machine's build has both.

use std::collections::BTreeMap;

use kilter_tests::components::with_all;
use kilter_tests::{in_path, kilter, left_out, run};
use serde_json::Value;

/// UCX takes itself for no use without InfiniBand, unless it is told that any device will do.
const UCX: [&str; 10] = [
    "--mca",
    "pml=ucx",
    "--mca",
    "pml_ucx_tls=any",
    "--mca",
    "pml_ucx_devices=any",
    "--env",
    "UCX_TLS=posix,cma,self",
    "-n",
    "2",
];

/// Says of Open MPI's directory of components if it has this one.
fn is_built(component: &str) -> bool {
    let listed = with_all(&mut std::process::Command::new("ompi_info")).output();
    listed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(component))
}

/// The doctor's words, by check.
fn doctor(arguments: &[&str]) -> BTreeMap<String, String> {
    let out = tempfile::tempdir().unwrap();
    let mut doctor = kilter("doctor", out.path());
    let output = run(
        with_all(&mut doctor).args(arguments).args(["--format", "json"]),
        &[0, 1],
    );
    let examination: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = examination["findings"].as_array().unwrap().iter();
    let says = |finding: &Value| {
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        (text("id"), text("says"))
    };
    findings.map(says).collect()
}

fn open_mpi_says_that_it_goes_by_ucx() {
    if !is_built("MCA pml: ucx") {
        left_out("this Open MPI has no component pml/ucx");
        return;
    }
    let found = doctor(&UCX);
    assert_eq!(found["fallback"], "messages go by ucx (posix, cma)");
    if in_path("ucx_info") {
        assert_eq!(found["transport-settings"], "`ucx_info` prints what is described");
    }
    let over_sockets = UCX.map(|word| {
        if word.starts_with("UCX_TLS") {
            "UCX_TLS=tcp,self"
        } else {
            word
        }
    });
    let found = doctor(&over_sockets);
    assert!(
        found["fallback"].contains("by ucx (tcp), that is over sockets"),
        "{found:#?}"
    );
}

fn open_mpi_says_that_it_goes_by_libfabric() {
    if !is_built("MCA mtl: ofi") {
        left_out("this Open MPI has no component mtl/ofi");
        return;
    }
    let by = [
        "--mca",
        "pml=cm",
        "--mca",
        "mtl=ofi",
        "--mca",
        "mtl_ofi_provider_include=tcp",
        "-n",
        "2",
    ];
    let found = doctor(&by);
    assert!(
        found["fallback"].contains("by ofi (") && found["fallback"].contains("tcp"),
        "{found:#?}"
    );
}

/// Before anything is measured, tune asks; the time is too short for more.
fn tune_hears_what_carries_the_messages() {
    if !is_built("MCA pml: ucx") {
        left_out("this Open MPI has no component pml/ucx");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let mut tune = kilter("tune", out.path());
    let little = [
        "--guidelines",
        "GL10",
        "--sizes",
        "1024",
        "--launches",
        "2",
        "--fixed",
        "--budget",
        "4",
        "--only",
        "parameters",
    ];
    let output = run(with_all(&mut tune).args(UCX).args(little), &[0, 1]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("the running job says that messages go by ucx (posix, cma)"),
        "{said}"
    );
}

kilter_tests::cases![
    open_mpi_says_that_it_goes_by_ucx,
    open_mpi_says_that_it_goes_by_libfabric,
    tune_hears_what_carries_the_messages,
];
