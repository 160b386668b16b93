//! A check that the library which is here is the one that the settings were found for.

use kilter_model::config::library;

use crate::manifest::TunedLibrary;

/// Another library, or another version of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the settings are for {tuned}, and `{launcher}` belongs to {found}: nothing says that they hold or are even read there; run \
     `kilter tune` with this library, name the launcher of the other one by --mpirun, or install them all the same with --other-version"
)]
pub struct OtherLibrary {
    /// The tuned library.
    pub tuned: String,
    /// The library that is here.
    pub found: String,
    /// The launcher that was asked.
    pub launcher: String,
}

/// Compares the tuned library with the version line of the launcher that is here.
pub fn check(tuned: &TunedLibrary, launcher: &str, line: &str) -> Result<(), OtherLibrary> {
    let found = library::find_for(line).ok();
    let version = library::version_in(line);
    // A description of the user's own is not among those that a line can find: its version is all that can be compared.
    let is_described = library::load_embedded().is_ok_and(|all| all.iter().any(|one| one.id == tuned.id));
    let same_library = !is_described || found.as_ref().is_some_and(|found| found.id == tuned.id);
    if same_library && version.as_ref() == Some(&tuned.version) {
        return Ok(());
    }
    let version = version.unwrap_or_default();
    Err(OtherLibrary {
        tuned: format!("{} {}", tuned.name, tuned.version),
        found: match found {
            Some(found) => format!("{} {version}", found.name),
            None => format!("none that is known (`{line}`)"),
        },
        launcher: launcher.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "mpirun (Open MPI) 4.1.4";

    fn tuned(id: &str, version: &str) -> TunedLibrary {
        TunedLibrary {
            id: id.to_owned(),
            name: "Open MPI".to_owned(),
            version: version.to_owned(),
            site_file: None,
        }
    }

    #[test]
    fn the_same_version_of_the_same_library_is_needed() {
        check(&tuned("openmpi-4.1", "4.1.4"), "mpirun", LINE).unwrap();
        for (id, version, line, found) in [
            ("openmpi-4.1", "4.1.5", LINE, "belongs to Open MPI 4.1.4"),
            ("openmpi-5.0", "4.1.4", LINE, "belongs to Open MPI 4.1.4"),
            (
                "openmpi-4.1",
                "4.1.4",
                "HYDRA build details: Version: 4.0.2",
                "belongs to MPICH 4.0.2",
            ),
            (
                "openmpi-4.1",
                "4.1.4",
                "mpirun of nobody 4.1.4",
                "none that is known (`mpirun of",
            ),
        ] {
            let error = check(&tuned(id, version), "mpirun", line).unwrap_err().to_string();
            assert!(error.contains(found) && error.contains("--other-version"), "{error}");
        }
    }

    #[test]
    fn of_a_description_of_the_users_own_the_version_is_compared() {
        check(&tuned("our-mpi", "4.1.4"), "mpirun", LINE).unwrap();
        check(&tuned("our-mpi", "4.1.5"), "mpirun", LINE).unwrap_err();
    }
}
