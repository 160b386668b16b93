//! `kilter detect --measure` on a broadcast written by hand: traced, found, repeated on real ranks beside its replacements, stored and printed.

use std::path::Path;
use std::process::{Command, Output};

use kilter_detect::Detection;
use kilter_detect::model::proof::Proof;
use kilter_tests::program;

use crate::dropin::job::Mpi;

/// `kilter` in a folder, with Open MPI's launcher.
fn kilter(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program("kilter"));
    command.current_dir(folder).args(words);
    for name in [
        "KILTER_MPIRUN",
        "KILTER_LIBEXEC",
        "LD_PRELOAD",
        "KILTER_HOSTFILE",
        "KILTER_WAIT",
    ] {
        command.env_remove(name);
    }
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn a_broadcast_by_hand_is_measured_beside_its_replacements() {
    let built = Mpi::OpenMpi.built(
        "mpicc",
        "../tracer/linear_broadcast.c",
        &["-std=c11", "-O1", "-g"],
        "tracer_linear_broadcast",
    );
    let folder = tempfile::tempdir().unwrap();
    let application = built.display().to_string();
    let traced = kilter(
        folder.path(),
        &[
            "trace",
            "--",
            "mpirun.openmpi",
            "--oversubscribe",
            "-n",
            "4",
            &application,
        ],
    );
    assert!(traced.status.success(), "{traced:?}");

    let measure = [
        "detect",
        "--measure",
        "--mpirun",
        "mpirun.openmpi",
        "--wait",
        "sleep",
        "--launches",
        "2",
        "--quiet",
        "--seed",
        "7",
    ];
    let measured = kilter(folder.path(), &[&measure[..], &["--format", "json"]].concat());
    assert_eq!(measured.status.code(), Some(1), "{measured:?}");
    let detection: Detection = serde_json::from_slice(&measured.stdout).unwrap();
    assert_eq!(detection.findings.len(), 1, "{}", said(&measured));
    let Some(Proof::Measured(proof)) = &detection.findings[0].proof else {
        panic!("{}", said(&measured));
    };
    assert!(
        proof.is_shown && proof.schedule_seconds > 0.0 && proof.bytes == 1 << 20,
        "{proof:?}"
    );
    assert!((1..=2).contains(&proof.launches), "{proof:?}");
    let names: Vec<&str> = proof.replacements.iter().map(|side| side.name.as_str()).collect();
    assert!(
        names.len() == 2 && names[0] == "MPI_Bcast" && names[1].starts_with("bcast."),
        "{names:?}"
    );
    assert!(proof.replacements.iter().all(|side| side.seconds > 0.0), "{proof:?}");

    // All of it is stored, the messages themselves as well.
    let store = rusqlite::Connection::open(folder.path().join("kilter-out/kilter.db")).unwrap();
    let by_hand: i64 = store
        .query_row(
            "SELECT count(*) FROM samples JOIN items ON items.id = samples.item WHERE items.name = 'by hand'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(by_hand >= 2, "{by_hand}");

    let text = said(&kilter(folder.path(), &measure));
    assert!(
        text.contains("\n  measured by hand ") && text.contains("\n  gain     "),
        "{text}"
    );
    let wrong = kilter(folder.path(), &["detect", "--measure", "-n", "3"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let error = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(error.contains("`3` is not the number of ranks"), "{error}");
}

kilter_tests::cases![a_broadcast_by_hand_is_measured_beside_its_replacements];
