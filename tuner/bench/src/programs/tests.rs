//! Programs of builds that describe themselves in every way that was seen.

use kilter_model::config::library::find_for;

use super::*;

/// Writes a worker that describes itself by `body`. Another process writes the script. A descriptor open for
/// writing in this process could be inherited by a child that another test starts at this moment, and the script
/// could then not be run.
fn worker(directory: &Path, body: &str) {
    let write =
        r#"mkdir -p "$0" && printf '#!/bin/sh\n%s\n' "$1" > "$0/kilter-worker" && chmod 755 "$0/kilter-worker""#;
    let mut shell = std::process::Command::new("/bin/sh");
    shell.arg("-c").arg(write).arg(directory).arg(body);
    assert!(shell.status().unwrap().success());
}

fn find(libexec: Option<&Path>, own: &Path, line: &str) -> Result<Programs, ProgramsError> {
    let library = find_for(line).unwrap();
    let version = library.version_of(line);
    Programs::find(libexec, own, (&library, &version), Path::new("mpirun.mpich"))
}

const HYDRA: &str = "HYDRA build details: Version: 4.0.2";

#[test]
fn the_worker_of_the_launchers_library_is_found() {
    let target = kilter_fixtures::directory();
    let own = target.path().join("release");
    let mpich = target.path().join("mpi/mpich-4.0/release");
    worker(&own, "echo 'Open MPI v4.1.4, package: Debian OpenMPI'");
    worker(
        &mpich,
        "echo 'MPICH Version:	4.0.2'; echo 'file: /opt/a b/libmpi.so.12'",
    );
    let found = find(None, &own, HYDRA).unwrap();
    assert_eq!(found.worker, mpich.join("kilter-worker"));
    assert_eq!(found.library, Some(PathBuf::from("/opt/a b/libmpi.so.12")));
    // These directories are as after an installation.
    let installed = target.path().join("libexec/kilter/mpich-4.0");
    worker(&installed, "echo 'MPICH Version: 4.0.2'");
    let found = find(None, &target.path().join("bin"), HYDRA).unwrap();
    assert_eq!(found.worker, installed.join("kilter-worker"));
    let found = find(None, &own, "mpirun.openmpi (OpenRTE) 4.1.4").unwrap();
    assert_eq!(found.worker, own.join("kilter-worker"));
    let error = found.dropin().unwrap_err().to_string();
    assert!(
        error.ends_with("build it with `scripts/build --mpi openmpi-4.1`"),
        "{error}"
    );
}

/// MVAPICH2's Hydra has the version of the MPICH that it is made of.
#[test]
fn the_worker_says_the_version_where_the_launcher_says_another_one() {
    let target = kilter_fixtures::directory();
    let own = target.path().join("release");
    let line = "HYDRA build details: Version: 3.2.1";
    let missing = find(None, &own, line).unwrap_err().to_string();
    assert!(
        missing.starts_with("kilter-worker for MVAPICH2 is in none of") && missing.contains("mpi/mvapich2-2.3/release"),
        "{missing}"
    );
    let built = target.path().join("mpi/mvapich2-2.3/release");
    worker(&built, "echo 'MVAPICH2 Version      :	2.3.7'");
    let found = find(None, &own, line).unwrap();
    let library = find_for(line).unwrap();
    assert_eq!(version(&library, line, &found), "2.3.7");
    let rsh = "Version: mvapich2-2.3.7";
    let found = find(None, &own, rsh).unwrap();
    assert_eq!(version(&find_for(rsh).unwrap(), rsh, &found), "2.3.7");
    // MPICH 3.2.1 has no description.
    worker(&built, "echo 'MPICH Version:	3.2.1'");
    let error = find(None, &own, line).unwrap_err().to_string();
    assert!(
        error.contains("was built for `MPICH Version: 3.2.1`, but `mpirun.mpich` belongs to MVAPICH2;"),
        "{error}"
    );
}

/// A library in a prefix of its own has a build of any name, and comes before the system's where the launcher lies in that prefix.
#[test]
fn a_build_of_any_name_is_found_by_what_its_worker_says() {
    let target = kilter_fixtures::directory();
    let root = target.path().canonicalize().unwrap();
    let own = root.join("release");
    worker(&own, "echo 'Open MPI v4.1.4, package: Debian OpenMPI'");
    let site = root.join("mpi/site/release");
    let prefix = root.join("opt/mpich");
    for file in ["lib/libmpi.so.12", "bin/mpirun"] {
        let file = prefix.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    let says = format!(
        "echo 'MPICH Version:	4.0.2'; echo 'file: {}'",
        prefix.join("lib/libmpi.so.12").display()
    );
    worker(&site, &says);
    assert_eq!(find(None, &own, HYDRA).unwrap().worker, site.join("kilter-worker"));
    // Another version of the library is another library.
    find(None, &own, "HYDRA build details: Version: 4.0.3").unwrap_err();
    let named = root.join("mpi/mpich-4.0/release");
    worker(&named, "echo 'MPICH Version:	4.0.2'");
    assert_eq!(find(None, &own, HYDRA).unwrap().worker, named.join("kilter-worker"));
    let library = find_for(HYDRA).unwrap();
    let found = Programs::find(None, &own, (&library, "4.0.2"), &prefix.join("bin/mpirun")).unwrap();
    assert_eq!(found.worker, site.join("kilter-worker"));
}

#[test]
fn a_worker_of_another_library_is_refused_with_the_command_that_builds_the_right_one() {
    let target = kilter_fixtures::directory();
    let own = target.path().join("release");
    let missing = find(None, &own, HYDRA).unwrap_err().to_string();
    assert!(
        missing.starts_with("kilter-worker for MPICH 4.0.2 is in none of")
            && missing.contains("mpi/mpich-4.0/release")
            && missing.contains("`scripts/build --mpi mpich-4.0`"),
        "{missing}"
    );
    worker(&own, "echo 'Open MPI v4.1.4, package: Debian OpenMPI'");
    for (libexec, line) in [(None, HYDRA), (Some(own.as_path()), HYDRA)] {
        let error = find(libexec, &own, line).unwrap_err().to_string();
        assert!(
            error.contains(
                "was built for `Open MPI v4.1.4, package: Debian OpenMPI`, but `mpirun.mpich` belongs to MPICH 4.0.2"
            ) && error.contains("`scripts/build --mpi mpich-4.0`"),
            "{error}"
        );
    }
    // The right library in another version measures something else as well.
    let other = target.path().join("other");
    worker(&other, "echo 'MPICH Version:      4.3.2'");
    let error = find(Some(&other), &own, HYDRA).unwrap_err().to_string();
    assert!(error.contains("was built for `MPICH Version: 4.3.2`"), "{error}");
    worker(
        &other,
        "echo 'error while loading shared libraries: libmpi.so.12'; exit 127",
    );
    let error = find(Some(&other), &own, HYDRA).unwrap_err().to_string();
    assert!(
        error.contains("libmpi.so.12") && error.contains("build it anew"),
        "{error}"
    );
}
