//! Processes held by a descriptor (pidfd): signals and waits that cannot hit another process with the same number.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    time::Duration,
};

use anyhow::{Context, Result};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
};

use crate::state::State;

/// A process number.
pub(crate) type Pid = i32;

/// A process that is, or was, running.
pub(crate) struct Process {
    descriptor: OwnedFd,
}

impl Process {
    /// Holds process `pid`. Fails with ESRCH if there is none.
    pub(crate) fn open(pid: Pid) -> io::Result<Self> {
        // SAFETY: pidfd_open(2) takes two integers and touches no memory of ours.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, and nobody else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
        Ok(Self { descriptor })
    }

    /// Sends a signal; a process that has ended is no error.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let null = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: a null siginfo_t is allowed and means the default; the descriptor is open while `self` lives.
        let result = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.descriptor.as_raw_fd(),
                signal as i32,
                null,
                0,
            )
        };
        match io::Error::last_os_error() {
            error if result < 0 && error.raw_os_error() != Some(libc::ESRCH) => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until the process has ended; false when it still runs after `limit`.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
        let mut wanted = [PollFd::new(self.descriptor.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut wanted, timeout), Ok(ready) if ready > 0)
    }
}

impl AsFd for Process {
    /// Becomes readable when the process ends.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Writes down which process is the switch: number and start time, which together name one process only.
pub(crate) fn record_switch(state: &State) -> Result<()> {
    let pid = std::process::id() as Pid;
    let start = start_time(pid).context("cannot read the start time of the switch")?;
    let path = state.path("switch.pid");
    fs::write(&path, format!("{pid} {start}\n")).with_context(|| format!("cannot write {}", path.display()))
}

/// The switch of the cluster, if it runs.
pub(crate) fn running_switch(state: &State) -> Option<Process> {
    let text = fs::read_to_string(state.path("switch.pid")).ok()?;
    let (pid, start) = text.trim().split_once(' ')?;
    let pid: Pid = pid.parse().ok()?;
    let process = Process::open(pid).ok()?;
    (start_time(pid)? == start.parse().ok()?).then_some(process)
}

/// Start of a process, in clock ticks since boot; `None` for one that has ended.
fn start_time(pid: Pid) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command may hold blanks and parentheses; what follows its last one is the state, and the start is field 22.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let start = fields.nth(18)?.parse().ok()?;
    (!ended).then_some(start)
}
