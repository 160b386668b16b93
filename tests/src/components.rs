//! Components of Open MPI, and of what it looks at the machine with, that the tests leave out.
//!
//! The worker opens all components in each launch, so as to read the library's parameters. Some of them load libraries of networks that are
//! not here, which first measure the processor's clock for 0.2 s where `/proc/cpuinfo` does not say it: more than half of a launch, and the
//! tests make a thousand.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Names of what these components are for.
const NETWORKS: [&str; 5] = ["ofi", "openib", "psm", "ucx", "uct"];

/// The variable by which Open MPI is told where its components are.
const VARIABLE: &str = "OMPI_MCA_mca_base_component_path";

/// Devices on the bus: each `mpirun` looks for them anew, which takes a third of what it computes to start two ranks (10 launches in turn: 0.095 s of processors
/// with, 0.066 without), and names the networks among them, which are not here.
const NO_DEVICES: (&str, &str) = ("HWLOC_COMPONENTS", "-pci,-linuxio");

/// Leaves them out in all jobs of this process until the folder is dropped; `None` if the caller sets the variable, or has no Open MPI whose
/// components are files.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn leave_out() -> io::Result<Option<TempDir>> {
    if std::env::var_os(VARIABLE).is_some() {
        return Ok(None);
    }
    let Some(all) = folder() else { return Ok(None) };
    let left = tempfile::Builder::new().prefix("kilter-components-").tempdir()?;
    // Some tests run jobs as another user.
    fs::set_permissions(left.path(), fs::Permissions::from_mode(0o755))?;
    let mut linked = 0;
    for entry in fs::read_dir(&all)? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text.starts_with("mca_") && !NETWORKS.iter().any(|network| text.contains(network)) {
            symlink(entry.path(), left.path().join(&name))?;
            linked += 1;
        }
    }
    if linked == 0 {
        return Ok(None);
    }
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var(VARIABLE, left.path());
        std::env::set_var(NO_DEVICES.0, NO_DEVICES.1);
    }
    Ok(Some(left))
}

/// Gives the job all components, as any user has them. Another installation of Open MPI than the one in PATH needs that, too.
pub fn with_all(command: &mut Command) -> &mut Command {
    command.env_remove(VARIABLE).env_remove(NO_DEVICES.0)
}

/// The same for what this process starts within `run`.
pub fn with_all_here<T>(run: impl FnOnce() -> T) -> T {
    let left = std::env::var_os(VARIABLE);
    // SAFETY: tests run one at a time on the first thread, and no other reads the environment.
    unsafe { std::env::remove_var(VARIABLE) };
    let result = run();
    if let Some(left) = left {
        // SAFETY: as above.
        unsafe { std::env::set_var(VARIABLE, left) };
    }
    result
}

/// The folder of the components of the Open MPI whose `mpirun` is the first in PATH.
fn folder() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let first = std::env::split_paths(&path).find(|directory| directory.join("mpirun").is_file())?;
    let asked = Command::new(first.join("ompi_info"))
        .args(["--parsable", "--path", "pkglibdir"])
        .output()
        .ok()?;
    let said = String::from_utf8(asked.stdout).ok()?;
    let folder = Path::new(said.lines().find_map(|line| line.strip_prefix("path:pkglibdir:"))?);
    folder.is_dir().then(|| folder.to_owned())
}
