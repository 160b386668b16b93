//! The library in use is what the ranks say, whatever a launcher says of itself: launchers that no description knows, launchers that name another
//! library, and libraries in any prefix. Open MPI's launcher stands behind the stand-ins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kilter_tests::{ONE_LAUNCH, brought, build, folder_of, kilter, program, report, root, run, script};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures").join(name)
}

/// `kilter check` of two ranks with a launcher that says `says` of itself and takes options in this form.
fn check(out: &Path, launcher: &Path, says: &str, form: &str) -> Command {
    let mut check = kilter("check", out);
    check
        .args(["-n", "2", "--guidelines", "GL8", "--sizes", "4096"])
        .args(ONE_LAUNCH)
        .args(["--sync", "barrier", "--min-repetitions", "3", "--max-repetitions", "4"])
        .args(["--mca", "coll_tuned_priority=31", "--mpirun"])
        .arg(launcher)
        .env("KILTER_TEST_SAYS", says)
        .env("KILTER_TEST_FORM", form);
    check
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The words of a check with the worker of this build, and how it launched jobs. The parameter reads back from the ranks, or the check fails.
fn checked(launcher: &Path, says: &str, form: &str) -> (String, String) {
    let out = tempfile::tempdir().unwrap();
    let libexec = build();
    let output = run(
        check(out.path(), launcher, says, form).arg("--libexec").arg(libexec),
        &[0, 1],
    );
    let report = report(out.path());
    assert_eq!(report["library"]["name"], "Open MPI");
    let launched = report["provenance"]["launch_before"].as_str().unwrap();
    let launched = launched.replace(launcher.to_str().unwrap(), "LAUNCHER");
    (said(&output), launched.replace(" --allow-run-as-root", ""))
}

fn a_launcher_that_no_description_knows_starts_the_worker_which_says_the_library() {
    let launcher = fixture("unknown_launcher");
    let pals = "mpiexec version 1.2.3 revision 0123abc";
    let (said, launched) = checked(&launcher, pals, "standard");
    assert_eq!(
        launched,
        "LAUNCHER -n 2 env OMPI_MCA_coll_tuned_priority=31 APPLICATION"
    );
    assert!(
        said.contains(&format!(
            "says `{pals}`, which names no library, and its ranks ran with `Open MPI v"
        )) && said.contains("(`openmpi-4.1`) is measured"),
        "{said}"
    );
    // The library's own options come first, which say more: a site's wrapper takes them.
    let (_, launched) = checked(&launcher, "site launcher 7", "own");
    assert_eq!(launched, "LAUNCHER -np 2 --mca coll_tuned_priority 31 APPLICATION");
}

/// A batch system's launcher is known by its name.
fn a_launcher_without_a_version_is_known_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let flux = directory.path().join("flux");
    std::os::unix::fs::symlink(fixture("unknown_launcher"), &flux).unwrap();
    let (said, launched) = checked(&flux, "", "flux");
    assert_eq!(
        launched,
        "LAUNCHER run --ntasks 2 env OMPI_MCA_coll_tuned_priority=31 APPLICATION"
    );
    assert!(
        said.contains("does not say its version, and its ranks ran with `Open MPI v"),
        "{said}"
    );
}

const HYDRA: &str = "HYDRA build details: Version: 4.0.2";

fn ranks_that_contradict_their_launcher_decide_and_both_are_named() {
    let launcher = fixture("unknown_launcher");
    let (said, launched) = checked(&launcher, HYDRA, "hydra");
    // Options of the launcher that answers, and names of the library that runs.
    assert_eq!(
        launched,
        "LAUNCHER -n 2 -genv OMPI_MCA_coll_tuned_priority 31 APPLICATION"
    );
    assert!(
        said.contains(&format!(
            "warning: `{}` says `{HYDRA}`, which is MPICH 4.0.2, but its ranks ran with",
            launcher.display()
        )) && said.contains("the ranks decide, Open MPI 4.1."),
        "{said}"
    );
}

/// Ranks of another library than the launcher's each find themselves alone.
fn ranks_that_do_not_find_each_other_are_refused_and_both_are_named() {
    let out = tempfile::tempdir().unwrap();
    let launcher = fixture("unknown_launcher");
    for says in [HYDRA, "site launcher 7"] {
        let libexec = build();
        let output = run(
            check(out.path(), &launcher, says, "alone")
                .arg("--libexec")
                .arg(libexec),
            &[2],
        );
        let said = said(&output);
        assert!(
            said.contains("each of the 2 ranks that")
                && said.contains("was alone")
                && !out.path().join("launches").exists(),
            "{said}"
        );
        if says == HYDRA {
            let both = [
                "was built for `Open MPI v",
                "belongs to MPICH 4.0.2",
                "`scripts/build --mpi mpich-4.0`",
            ];
            assert!(both.iter().all(|part| said.contains(part)), "{said}");
        } else {
            assert!(
                said.contains("says `site launcher 7`, which names no library"),
                "{said}"
            );
        }
    }
}

/// The worker of Open MPI 5.0 finds its ranks under the launcher of 4.1 as well, so that nothing says which is meant.
fn of_several_libraries_that_start_none_is_chosen() {
    if brought("openmpi-5.0").is_none() {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let output = run(
        &mut check(out.path(), &fixture("unknown_launcher"), "site launcher 7", "standard"),
        &[2],
    );
    let said = said(&output);
    assert!(
        said.contains("Open MPI 4.1.")
            && said.contains("Open MPI 5.0.")
            && said.contains("say by --libexec DIRECTORY which is meant"),
        "{said}"
    );
}

/// A build for a library in any prefix, under any name, is found by the library of the launcher in that prefix.
fn a_library_in_any_prefix_is_built_for_and_found() {
    if brought("openmpi-5.0").is_none() {
        return;
    }
    // A tree of its own, with the build for this library alone beside that for the system's.
    let directory = tempfile::tempdir_in(build()).unwrap();
    let own = directory.path().join(build().file_name().unwrap());
    fs::create_dir(&own).unwrap();
    let libraries = ["", "_collectives", "_progress", "_tracer"].map(|name| format!("libkilter{name}.so"));
    for name in ["kilter", "kilter-worker", "kilter-verify"]
        .into_iter()
        .chain(libraries.iter().map(String::as_str))
    {
        fs::hard_link(program(name), own.join(name)).unwrap();
    }
    let prefix = directory.path().join("opt/site mpi");
    fs::create_dir(directory.path().join("opt")).unwrap();
    std::os::unix::fs::symlink(folder_of("openmpi-5.0").join("install"), &prefix).unwrap();
    let builds = |arguments: &[&str], allowed| {
        run(
            script("build")
                .args(arguments)
                .args(["--abi-of", "openmpi-4.1"])
                .env("CARGO_TARGET_DIR", directory.path()),
            allowed,
        )
    };
    let prefix_text = prefix.to_str().unwrap();
    let refused = builds(&["--mpi-prefix", "/nonexistent", "--name", "site"], &[2]);
    assert!(
        said(&refused).contains("there is no /nonexistent/bin/mpicc"),
        "{refused:?}"
    );
    let refused = builds(&["--mpi-prefix", prefix_text], &[2]);
    assert!(said(&refused).contains("--name NAME go together"), "{refused:?}");
    builds(&["--mpi-prefix", prefix_text, "--name", "site"], &[0]);
    let worker = directory
        .path()
        .join("mpi/site")
        .join(build().file_name().unwrap())
        .join("kilter-worker");
    let library = run(Command::new(&worker).arg("library"), &[0]);
    assert!(
        String::from_utf8_lossy(&library.stdout).starts_with("Open MPI v5.0."),
        "{library:?}"
    );

    let out = directory.path().join("out");
    let mut doctor = Command::new(own.join("kilter"));
    doctor
        .args(["doctor", "-n", "2", "--format", "json", "--out"])
        .arg(&out)
        .arg("--mpirun")
        .arg(prefix.join("bin/mpirun"))
        .env_remove("KILTER_LIBEXEC");
    let examination: Value = serde_json::from_slice(&run(&mut doctor, &[0, 1]).stdout).unwrap();
    assert!(
        examination["library"].as_str().unwrap().starts_with("Open MPI 5.0."),
        "{examination:#}"
    );
    let findings = examination["findings"].as_array().unwrap();
    let finding = |id: &str| findings.iter().find(|finding| finding["id"] == id).unwrap();
    assert_eq!(finding("library")["level"], "fit", "{examination:#}");
    assert_eq!(finding("hosts")["says"], "2 ranks on 1 host", "{examination:#}");
}

/// Nothing is launched to find the tracer for a command: the launcher's word, or the only build that may be meant.
fn a_program_under_an_unknown_launcher_is_profiled_with_the_build_that_is_named() {
    let out = tempfile::tempdir().unwrap();
    let profile = out.path().join("profile");
    let mut command = Command::new(program("kilter"));
    let mpiexec = out.path().join("mpiexec");
    std::os::unix::fs::symlink(fixture("unknown_launcher"), &mpiexec).unwrap();
    command
        .args(["profile", "--out"])
        .arg(&profile)
        .arg("--libexec")
        .arg(build())
        .arg("--");
    command
        .arg(mpiexec)
        .args(["-n", "2"])
        .arg(program("kilter-worker"))
        .arg("describe");
    command
        .env("KILTER_TEST_SAYS", "site launcher 7")
        .env("KILTER_TEST_FORM", "standard");
    run(&mut command, &[0]);
    assert!(profile.exists());
}

kilter_tests::cases![
    a_launcher_that_no_description_knows_starts_the_worker_which_says_the_library,
    a_launcher_without_a_version_is_known_by_its_name,
    ranks_that_contradict_their_launcher_decide_and_both_are_named,
    ranks_that_do_not_find_each_other_are_refused_and_both_are_named,
    of_several_libraries_that_start_none_is_chosen,
    a_library_in_any_prefix_is_built_for_and_found,
    a_program_under_an_unknown_launcher_is_profiled_with_the_build_that_is_named,
];
