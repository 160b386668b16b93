//! Locks beside the database, never on it: closing a second descriptor of it would drop SQLite's own locks.
//!
//! * `FILE.lock` (`flock`) is shared by all who write. Who makes or migrates the tables has it alone, as kilters up to 0.1 had it for all of their time.
//! * `FILE.runs` has 64 bytes for each run, locked by the process that measures it: a run has one.
//!
//! Locks end with the process, however it ends; the files stay and say who holds or held them.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use nix::libc;

use super::{StoreError, shared};

/// Time that an opening waits for another one, which has the lock alone for milliseconds unless it migrates.
const WAIT: Duration = Duration::from_secs(2);

/// Interval at which it asks again: the system has no event for a lock that is waited for with a limit.
const ASKED_EVERY: Duration = Duration::from_millis(20);

/// The lock of all writers; released when dropped.
#[derive(Debug)]
pub(super) struct WriterLock {
    file: Flock<File>,
    path: PathBuf,
    /// True until it is shared.
    is_alone: bool,
}

impl WriterLock {
    /// Takes the lock: alone if nobody else has it, and else with the others.
    pub(super) fn take(database: &Path) -> Result<WriterLock, StoreError> {
        WriterLock::take_within(database, WAIT)
    }

    fn take_within(database: &Path, wait: Duration) -> Result<WriterLock, StoreError> {
        let path = beside(database, "lock");
        let until = Instant::now() + wait;
        let mut file = shared::open(&path)?;
        loop {
            for (argument, is_alone) in [
                (FlockArg::LockExclusiveNonblock, true),
                (FlockArg::LockSharedNonblock, false),
            ] {
                match Flock::lock(file, argument) {
                    Ok(taken) => {
                        let mut lock = WriterLock {
                            file: taken,
                            path,
                            is_alone,
                        };
                        lock.sign()?;
                        return Ok(lock);
                    }
                    Err((back, Errno::EWOULDBLOCK)) => file = back,
                    Err((_, errno)) => return Err(refused(&path, errno)),
                }
            }
            if Instant::now() >= until {
                return Err(in_use(database, path, &mut file));
            }
            std::thread::sleep(ASKED_EVERY);
        }
    }

    /// True if nobody else has the database open.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Lets others in.
    pub(super) fn share(&mut self) -> Result<(), StoreError> {
        self.file
            .relock(FlockArg::LockSharedNonblock)
            .map_err(|errno| refused(&self.path, errno))?;
        self.is_alone = false;
        Ok(())
    }

    /// The error for what needs the lock alone while others have it.
    pub(super) fn in_use(&mut self, database: &Path) -> StoreError {
        in_use(database, self.path.clone(), &mut self.file)
    }

    /// Writes who has it, for people.
    fn sign(&mut self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let io = |source| StoreError::Io {
            path: path.clone(),
            source,
        };
        self.file.set_len(0).map_err(io)?;
        self.file.rewind().map_err(io)?;
        writeln!(self.file, "{}", signature()).map_err(io)
    }
}

/// The locks of runs that a store holds; released when dropped.
#[derive(Debug)]
pub(super) struct RunLocks {
    file: File,
    path: PathBuf,
    database: PathBuf,
}

/// Bytes of a run in the file.
const RECORD: u64 = 64;

impl RunLocks {
    /// Opens the file of locks.
    pub(super) fn open(database: &Path) -> Result<RunLocks, StoreError> {
        let path = beside(database, "runs");
        Ok(RunLocks {
            file: shared::open(&path)?,
            path,
            database: database.to_path_buf(),
        })
    }

    /// Takes the lock of a run for as long as the store is open. Taking it again does nothing.
    pub(super) fn hold(&self, run: i64) -> Result<(), StoreError> {
        match self.set(run, libc::F_WRLCK) {
            Ok(()) => {
                let mut text = signature().into_bytes();
                text.resize(RECORD as usize, b'\n');
                self.file
                    .write_all_at(&text, offset(run))
                    .map_err(|source| StoreError::Io {
                        path: self.path.clone(),
                        source,
                    })
            }
            Err(Errno::EAGAIN | Errno::EACCES) => {
                let mut text = [0; RECORD as usize];
                // The holder is only named for people: an unreadable file is no reason for another error.
                let read = self.file.read_at(&mut text, offset(run)).unwrap_or(0);
                let holder = String::from_utf8_lossy(&text[..read]);
                Err(StoreError::RunInUse {
                    path: self.database.clone(),
                    run,
                    holder: named(&holder),
                })
            }
            Err(errno) => Err(refused(&self.path, errno)),
        }
    }

    /// Gives it back: the run is finished.
    pub(super) fn release(&self, run: i64) {
        // Whoever finishes a run holds it, or read it alone; the lock ends with the process at the latest.
        let _ = self.set(run, libc::F_UNLCK);
    }

    fn set(&self, run: i64, kind: i32) -> Result<(), Errno> {
        self.set_bytes(offset(run), RECORD, kind)
    }

    /// Locks of the open file, not of the process: another store of this process is another one. Length 0 is to the end of the file.
    fn set_bytes(&self, start: u64, length: u64, kind: i32) -> Result<(), Errno> {
        let lock = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start.cast_signed(),
            l_len: length.cast_signed(),
            l_pid: 0,
        };
        fcntl(self.file.as_fd(), FcntlArg::F_OFD_SETLK(&lock)).map(drop)
    }
}

impl Drop for RunLocks {
    /// Closing the file is not enough: a child that another thread has just forked has it open until it runs its own program.
    fn drop(&mut self) {
        // If the system refuses, the lock ends when the last of them closes the file.
        let _ = self.set_bytes(0, 0, libc::F_UNLCK);
    }
}

fn offset(run: i64) -> u64 {
    run.unsigned_abs() * RECORD
}

/// This process, in words that fit a record.
fn signature() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().filter(char::is_ascii).take(40).collect();
    format!("process {} on {host}", std::process::id())
}

fn named(text: &str) -> String {
    match text.trim_matches(['\0', '\n', ' ']) {
        "" => "unknown process".to_owned(),
        text => text.to_owned(),
    }
}

fn in_use(database: &Path, lock: PathBuf, file: &mut File) -> StoreError {
    let mut holder = String::new();
    // As above.
    let _ = file
        .rewind()
        .and_then(|()| std::io::Read::by_ref(file).take(200).read_to_string(&mut holder));
    StoreError::InUse {
        path: database.to_path_buf(),
        lock,
        holder: named(&holder),
    }
}

/// The error of a lock that the system does not give, to anybody.
fn refused(path: &Path, errno: Errno) -> StoreError {
    let path = path.to_path_buf();
    match errno {
        Errno::ENOLCK | Errno::ENOTSUP | Errno::ENOSYS => StoreError::NoLocks { path, errno },
        _ => StoreError::Io {
            path,
            source: errno.into(),
        },
    }
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_share_the_lock_and_who_has_it_alone_keeps_them_out() {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("kilter.db");
        let take = || WriterLock::take_within(&path, Duration::ZERO);
        let mut first = take().unwrap();
        assert!(first.is_alone());
        let message = take().unwrap_err().to_string();
        let own = format!("process {}", std::process::id());
        assert!(
            message.contains("in use by another kilter") && message.contains(&own) && message.contains("--db"),
            "{message}"
        );
        first.share().unwrap();
        let second = take().unwrap();
        assert!(!second.is_alone() && !first.is_alone());
        drop((first, second));
        assert!(take().unwrap().is_alone());
    }

    #[test]
    fn a_run_has_one_process_and_says_which() {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("kilter.db");
        let [first, second] = [(); 2].map(|()| RunLocks::open(&path).unwrap());
        first.hold(7).unwrap();
        first.hold(7).unwrap();
        second.hold(8).unwrap();
        let message = second.hold(7).unwrap_err().to_string();
        let own = format!("process {}", std::process::id());
        assert!(
            message.contains("run 7") && message.contains(&own) && message.contains("--fresh"),
            "{message}"
        );
        first.release(7);
        second.hold(7).unwrap();
    }

    #[test]
    fn a_child_that_has_the_file_open_keeps_no_lock_of_a_store_that_is_gone() {
        let directory = kilter_fixtures::directory();
        let path = directory.path().join("kilter.db");
        let first = RunLocks::open(&path).unwrap();
        first.hold(7).unwrap();
        let of_child = first.file.try_clone().unwrap();
        drop(first);
        RunLocks::open(&path).unwrap().hold(7).unwrap();
        drop(of_child);
    }

    #[test]
    fn a_file_system_without_locks_is_named_as_such() {
        let message = refused(Path::new("/nfs/kilter.db.lock"), Errno::ENOLCK).to_string();
        assert!(
            message.contains("/nfs/kilter.db.lock") && message.contains("NFS 4") && message.contains("--db"),
            "{message}"
        );
    }
}
