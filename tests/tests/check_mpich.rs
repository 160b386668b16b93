//! `kilter check` on MPICH: Debian's 4.0 with two ranks in shared memory, the 4.3 of PyPI on the virtual cluster.

use std::collections::BTreeSet;

use kilter_tests::cluster::Cluster;
use kilter_tests::{
    FEW_REPETITIONS, ONE_LAUNCH, brought, build, build_for, in_path, kilter, left_out, report, root, run,
};

const LAUNCHER: &str = "mpirun.mpich";

/// True if Debian's MPICH is installed. It panics if Kilter's build for it is missing: that is a mistake in running the tests.
fn mpich() -> bool {
    if !in_path(LAUNCHER) {
        left_out("no `mpirun.mpich` in PATH; install it with `scripts/setup --mpi mpich-4.0`");
        return false;
    }
    let worker = build_for("mpich-4.0").join("kilter-worker");
    assert!(
        worker.exists(),
        "{} is missing: run `scripts/build --mpi mpich-4.0` first",
        worker.display()
    );
    true
}

fn every_guideline_is_verified_on_mpich() {
    if !mpich() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    run(
        kilter("check", out.path())
            .args(["-n", "2", "--mpirun", LAUNCHER, "--sizes", "256,4096", "--quiet"])
            .args(FEW_REPETITIONS)
            .args(ONE_LAUNCH),
        &[0, 1],
    );
    let report = report(out.path());
    assert_eq!(report["library"]["name"], "MPICH");
    // Two ranks of one job, with the library that the launcher belongs to: not two jobs of one rank with another.
    let said = report["provenance"]["library_string"].as_str().unwrap();
    assert!(said.starts_with("MPICH Version:"), "{said}");
    assert_eq!(report["ranks"], 2);
    let launch = report["provenance"]["launch_before"].as_str().unwrap();
    assert!(launch.contains("mpirun.mpich -n 2"), "{launch}");
    let seen: BTreeSet<&str> = report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["guideline"].as_str().unwrap())
        .collect();
    // GL2 is not among them: parts are judged where the times of the whole predict a violation, and beside other programs they may predict none.
    for guideline in ["GL1", "GL3", "GL8", "GL10", "GL14", "GL16", "GL17"] {
        assert!(seen.contains(guideline), "{guideline} is not among {seen:?}");
    }
    for cell in report["cells"].as_array().unwrap() {
        assert!(
            cell["before"]["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0),
            "{cell}"
        );
    }
}

fn a_worker_of_another_library_is_refused_before_anything_is_measured() {
    if !mpich() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let output = run(
        kilter("check", out.path())
            .args(["--mpirun", LAUNCHER, "--libexec"])
            .arg(build()),
        &[2],
    );
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("was built for `Open MPI") && text.contains("`scripts/build --mpi mpich-4.0`"),
        "{text}"
    );
    assert!(
        text.contains("each of the 2 ranks that") && text.contains("was alone"),
        "{text}"
    );
    assert!(!out.path().join("launches").exists(), "something was measured");
}

fn tuning_a_library_without_an_emitter_says_what_is_not_there_yet() {
    if !mpich() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("mpich.toml");
    let text = std::fs::read_to_string(root().join("configs/libraries/mpich-4.toml")).unwrap();
    std::fs::write(&file, text.replace("emitter = \"mpich\"\n", "")).unwrap();
    let mut tune = kilter("tune", out.path());
    let output = run(
        tune.args(["--mpirun", LAUNCHER, "--library-description"]).arg(&file),
        &[2],
    );
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("tuning MPICH is not there yet"), "{text}");
    assert!(!out.path().join("launches").exists(), "a job was launched");
}

fn eight_hosts_of_mpich_are_verified_on_the_virtual_cluster() {
    let Some(bin) = brought("mpich-4.3") else { return };
    let launcher = bin.join("mpiexec");
    let Some(cluster) = Cluster::up("8") else { return };
    let out = tempfile::tempdir().unwrap();
    let mut check = kilter("check", out.path());
    check
        .args(["-n", "8", "--sizes", "1024,32KiB", "--guidelines", "GL3,GL8,GL10"])
        .args(ONE_LAUNCH)
        .arg("--mpirun")
        .arg(&launcher);
    let mut inside = cluster.inside(&check, Some("mpich"));
    run(&mut inside, &[0, 1]);
    let report = report(out.path());
    assert_eq!(report["provenance"]["hosts"].as_array().unwrap().len(), 8);
    for cell in report["cells"].as_array().unwrap() {
        // Through the modelled network: no collective of eight hosts is faster than one message.
        assert!(cell["before"]["seconds"].as_f64().unwrap() > 200e-6, "{cell}");
    }
}

kilter_tests::cases![
    every_guideline_is_verified_on_mpich,
    a_worker_of_another_library_is_refused_before_anything_is_measured,
    tuning_a_library_without_an_emitter_says_what_is_not_there_yet,
    eight_hosts_of_mpich_are_verified_on_the_virtual_cluster,
];
