//! Network namespaces that live as bind mounts, and the processes in them.

use std::{
    fs::{self, File},
    os::linux::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
};

use anyhow::{Context, Result, anyhow};
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, setns, unshare},
};

use crate::{
    process::{Pid, Process},
    unavailable::missing,
};

/// Unique identity of a namespace: device and inode of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// Makes a network namespace and mounts it at `path`, which must not exist.
pub(crate) fn create(path: &Path) -> Result<()> {
    on_thread(|| {
        missing(unshare(CloneFlags::CLONE_NEWNET), "making a network namespace")?;
        File::create_new(path).with_context(|| format!("cannot make {}", path.display()))?;
        let own = Path::new("/proc/thread-self/ns/net");
        let mounted = mount(Some(own), path, None::<&str>, MsFlags::MS_BIND, None::<&str>);
        missing(mounted, &format!("mounting a network namespace at {}", path.display()))
    })
}

/// Unmounts and removes what [`create`] made; a path that is not mounted (any more) is only removed.
pub(crate) fn remove(path: &Path) -> Result<()> {
    // EINVAL says that nothing is mounted there: its maker was interrupted before the mount, or a previous removal after it.
    while umount2(path, MntFlags::MNT_DETACH).is_ok() {}
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove the network namespace {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Runs `work`, and the processes that it starts, inside the namespace at `path`. The calling thread stays where it is.
pub(crate) fn inside<T: Send>(path: &Path, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    on_thread(|| {
        enter(path)?;
        work()
    })
}

/// Moves the calling thread into the namespace at `path`.
pub(crate) fn enter(path: &Path) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open the network namespace {}", path.display()))?;
    setns(&file, CloneFlags::CLONE_NEWNET)
        .with_context(|| format!("cannot enter the network namespace {}", path.display()))
}

/// A namespace belongs to a thread, so whatever enters one gets a thread of its own, which ends with it.
fn on_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_| anyhow!("a thread inside a network namespace panicked"))?
}

/// The identity of the namespace that is mounted at `path`, or that `/proc/PID/ns/net` names.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    let data = fs::metadata(path).ok()?;
    Some(Identity {
        device: data.st_dev(),
        inode: data.st_ino(),
    })
}

/// True if the calling thread is in one of `namespaces`.
pub(crate) fn is_inside(namespaces: &[Identity]) -> bool {
    identity(Path::new("/proc/thread-self/ns/net")).is_some_and(|own| namespaces.contains(&own))
}

/// The identities of the namespaces at `paths`. Paths with no namespace mounted are harmless: the identity of
/// an ordinary file is no namespace's.
pub(crate) fn identities(paths: &[PathBuf]) -> Vec<Identity> {
    paths.iter().filter_map(|path| identity(path)).collect()
}

/// Every process that is in one of `namespaces`, each held by a descriptor so that its number cannot change hands.
pub(crate) fn processes(namespaces: &[Identity]) -> Result<Vec<Process>> {
    let lives_there =
        |pid: Pid| identity(&PathBuf::from(format!("/proc/{pid}/ns/net"))).is_some_and(|own| namespaces.contains(&own));
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("cannot list /proc")? {
        let name = entry.context("cannot list /proc")?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<Pid>().ok()) else {
            continue;
        };
        if !lives_there(pid) {
            continue;
        }
        // The descriptor is taken first and the namespace looked at again: between the two the number is the same process.
        if let Ok(process) = Process::open(pid)
            && lives_there(pid)
        {
            found.push(process);
        }
    }
    Ok(found)
}
