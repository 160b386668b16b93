//! Libraries that `scripts/setup --mpi NAME` installs beside those of the system: each is known by its launcher, runs its own worker, and
//! gives verdicts. Ignored where they are not installed.

use kilter_tests::components::with_all;
use kilter_tests::{ONE_LAUNCH, brought, cells, kilter, report, run};
use serde_json::Value;

/// One guideline at one size on two ranks, and what the doctor says of the library: `named` is its name, `version` how that begins.
fn verified(name: &str, named: &str, version: &str) {
    let Some(launcher) = brought(name).map(|bin| bin.join("mpiexec")) else {
        return;
    };
    let out = tempfile::tempdir().unwrap();
    let what = ["-n", "2", "--guidelines", "GL8", "--sizes", "4096"];
    run(
        with_all(&mut kilter("check", out.path()))
            .args(what)
            .args(ONE_LAUNCH)
            // No clocks have to be made one, and a verdict is all that is asked for.
            .args(["--sync", "barrier", "--min-repetitions", "5", "--max-repetitions", "10"])
            .arg("--quiet")
            .arg("--mpirun")
            .arg(&launcher),
        &[0, 1],
    );
    let report = report(out.path());
    assert_eq!(report["library"]["name"], named);
    let found = report["library"]["version"].as_str().unwrap();
    assert!(found.starts_with(version), "{name}: {found}");
    // Two ranks of one job: not two jobs of one rank each with another library.
    assert_eq!(report["ranks"], 2);
    let cells = cells(&report, "GL8", 4096);
    assert!(!cells.is_empty(), "{name}: {report:#}");
    for cell in cells {
        let verdict = cell["before"]["verdict"].as_str().unwrap();
        assert!(
            ["holds", "violated", "undecided", "unstable"].contains(&verdict),
            "{name}: {cell:#}"
        );
        let seconds = cell["before"]["seconds"].as_f64().unwrap();
        assert!(seconds > 0.0, "{name}: {cell:#}");
    }

    let output = run(
        with_all(&mut kilter("doctor", out.path()))
            .args(["-n", "2", "--format", "json", "--mpirun"])
            .arg(&launcher),
        &[0, 1],
    );
    let examination: Value = serde_json::from_slice(&output.stdout).unwrap();
    let library = examination["library"].as_str().unwrap();
    assert!(library.starts_with(&format!("{named} {version}")), "{name}: {library}");
    let findings = examination["findings"].as_array().unwrap();
    let level = |id: &str| findings.iter().find(|finding| finding["id"] == id).unwrap()["level"].clone();
    for id in ["library", "worker", "hosts", "printed"] {
        assert_eq!(level(id), "fit", "{name}: {examination:#}");
    }
}

fn open_mpi_5_0_gives_verdicts() {
    verified("openmpi-5.0", "Open MPI", "5.0.");
}

fn mpich_4_3_gives_verdicts() {
    verified("mpich-4.3", "MPICH", "4.3.");
}

fn mpich_5_0_gives_verdicts() {
    verified("mpich-5.0", "MPICH", "5.0.");
}

fn intel_mpi_2021_gives_verdicts() {
    verified("intelmpi-2021", "Intel MPI", "2021.");
}

kilter_tests::cases![
    open_mpi_5_0_gives_verdicts,
    mpich_4_3_gives_verdicts,
    mpich_5_0_gives_verdicts,
    intel_mpi_2021_gives_verdicts,
];
