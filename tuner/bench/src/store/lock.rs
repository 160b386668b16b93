//! One writer per database: an advisory lock (`flock`) on `<database>.lock`.
//!
//! The lock ends with the process, however it ends; the file stays and says who holds or held it.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::StoreError;

/// The lock; released when dropped.
#[derive(Debug)]
pub(super) struct WriterLock {
    _file: Flock<File>,
}

impl WriterLock {
    /// Takes the lock, or fails at once.
    pub(super) fn take(database: &Path) -> Result<WriterLock, StoreError> {
        let path = lock_path(database);
        let io = |source| StoreError::Io {
            path: path.clone(),
            source,
        };
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(mut file) => {
                let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
                file.set_len(0).map_err(io)?;
                file.rewind().map_err(io)?;
                writeln!(file, "process {} on {}", std::process::id(), host.trim()).map_err(io)?;
                Ok(WriterLock { _file: file })
            }
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut holder = String::new();
                // The holder is only named for people: an unreadable file is no reason for another error.
                let _ = std::io::Read::by_ref(&mut file).take(200).read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "unknown process".to_owned(),
                    text => text.to_owned(),
                };
                Err(StoreError::InUse {
                    path: database.to_path_buf(),
                    lock: path,
                    holder,
                })
            }
            Err((_, errno)) => Err(io(errno.into())),
        }
    }
}

fn lock_path(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}
