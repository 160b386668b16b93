//! `kilter detect --measure` on collectives written by hand, with each installed library: traced, found, repeated on real ranks beside their
//! replacements, stored and printed.

use std::path::Path;
use std::process::{Command, Output};

use kilter_detect::Detection;
use kilter_detect::model::proof::{Measured, Proof};
use kilter_tests::{program, root};

use crate::dropin::job::Mpi;

/// `kilter` in a folder.
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

/// The library's launcher, with what lets more ranks than cores start.
fn launcher(mpi: Mpi) -> &'static [&'static str] {
    match mpi {
        Mpi::OpenMpi => &["mpirun.openmpi", "--oversubscribe"],
        _ => &["mpirun.mpich"],
    }
}

/// Times of the finding with this function, and the names of its replacements.
fn measured<'d>(detection: &'d Detection, function: &str) -> (&'d Measured, Vec<&'d str>) {
    let mut all = detection.findings.iter().filter_map(|one| match &one.proof {
        Some(Proof::Measured(measured)) => Some(measured.as_ref()),
        _ => None,
    });
    let found = all.find(|measured| measured.replacements[0].name == function);
    let found = found.unwrap_or_else(|| panic!("{function} is not measured: {detection:#?}"));
    let names = found.replacements.iter().map(|side| side.name.as_str());
    (found, names.collect())
}

fn collectives_by_hand_are_measured_beside_their_replacements() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich] {
        if mpi.is_there() {
            on(mpi);
        }
    }
}

fn on(mpi: Mpi) {
    let include = format!("-I{}", root().join("plugins/tracer/include").display());
    let built = mpi.built(
        "mpicc",
        "../tracer/measured.c",
        &["-std=c11", "-O1", "-g", &include],
        "tracer_measured",
    );
    let folder = tempfile::tempdir().unwrap();
    let application = built.display().to_string();
    let words = [&["trace", "--"], launcher(mpi), &["-n", "3", &application]].concat();
    let traced = kilter(folder.path(), &words);
    assert!(traced.status.success(), "{mpi:?}: {traced:?}");

    let measure = [
        "detect",
        "--measure",
        "--mpirun",
        launcher(mpi)[0],
        "--wait",
        "sleep",
        "--launches",
        "2",
        "--max-repetitions",
        "4",
        "--quiet",
        "--seed",
        "7",
        // Three ranks that spin on what other tests leave of two processors take most of the default.
        "--budget",
        "600",
    ];
    let output = kilter(folder.path(), &[&measure[..], &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{mpi:?}: {output:?}");
    let detection: Detection = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(detection.findings.len(), 3, "{mpi:?}: {}", said(&output));
    for (function, algorithm, bytes) in [
        ("MPI_Bcast", "bcast.", 1 << 18),
        ("MPI_Gatherv", "gatherv.", 3000 + 6000),
        ("MPI_Reduce", "reduce.", 8000),
    ] {
        let (proof, names) = measured(&detection, function);
        assert!(
            proof.is_shown && proof.schedule_seconds > 0.0 && proof.bytes == bytes,
            "{mpi:?}: {proof:?}"
        );
        assert!((1..=2).contains(&proof.launches), "{mpi:?}: {proof:?}");
        assert!(proof.failed.is_empty(), "{mpi:?}: {proof:?}");
        assert!(
            names.len() == 2 && names[1].starts_with(algorithm),
            "{mpi:?}: {names:?}"
        );
        assert!(
            proof.replacements.iter().all(|side| side.seconds > 0.0),
            "{mpi:?}: {proof:?}"
        );
    }
    let combined = measured(&detection, "MPI_Reduce").0.combined.as_deref();
    assert_eq!(combined, Some("MPI_MAX of MPI_DOUBLE"));
    is_stored(&folder.path().join("kilter-out/kilter.db"));

    // Words are no library's.
    if mpi != Mpi::OpenMpi {
        return;
    }
    let text = said(&kilter(folder.path(), &measure));
    assert!(
        text.contains("\n  measured by hand ") && text.contains("\n  gain     "),
        "{text}"
    );
    let wrong = kilter(folder.path(), &["detect", "--measure", "-n", "4"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let error = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(error.contains("`4` is not the number of ranks"), "{error}");
}

/// All of it is stored, the messages themselves as well.
fn is_stored(database: &Path) {
    let store = rusqlite::Connection::open(database).unwrap();
    let count = |query: &str| -> i64 { store.query_row(query, [], |row| row.get(0)).unwrap() };
    let by_hand =
        count("SELECT count(*) FROM samples JOIN items ON items.id = samples.item WHERE items.name = 'by hand'");
    assert!(by_hand >= 2, "{by_hand}");
    // Jobs end in order: one that is killed has no end line.
    let killed = count("SELECT count(*) FROM launches WHERE outcome NOT LIKE 'ended%' OR end_json IS NULL");
    assert_eq!(killed, 0);
}

kilter_tests::cases![collectives_by_hand_are_measured_beside_their_replacements];
