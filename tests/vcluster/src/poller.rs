//! epoll with nanosecond timeouts.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

use crate::quantity::Nanos;

/// Descriptors to wait for, each with a number of the caller's.
pub(crate) struct Poller {
    epoll: OwnedFd,
    ready: [libc::epoll_event; 64],
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1 takes an integer.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, and nobody else has it.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        Ok(Self {
            epoll,
            ready: [libc::epoll_event { events: 0, u64: 0 }; 64],
        })
    }

    /// Waits for `source` to become readable too, under the number `token`.
    pub(crate) fn add(&self, source: impl AsFd, token: usize) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: token as u64,
        };
        let descriptor = source.as_fd().as_raw_fd();
        let (epoll, add) = (self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD);
        // SAFETY: `self` and `source` keep both descriptors open, and the event outlives the call.
        let result = unsafe { libc::epoll_ctl(epoll, add, descriptor, &raw mut event) };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Tokens of what is readable, after at most `timeout` nanoseconds (`None`: as long as it takes).
    pub(crate) fn wait(&mut self, timeout: Option<Nanos>) -> io::Result<impl Iterator<Item = usize>> {
        let timeout = timeout.map(|nanos| libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let room = self.ready.len() as libc::c_int;
        // SAFETY: the events' buffer has room for `room` events; the timeout is null or outlives the call.
        let count = unsafe {
            libc::epoll_pwait2(
                self.epoll.as_raw_fd(),
                self.ready.as_mut_ptr(),
                room,
                timeout,
                ptr::null(),
            )
        };
        match io::Error::last_os_error() {
            error if count < 0 && error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(self.ready[..count.max(0) as usize]
                .iter()
                .map(|event| event.u64 as usize)),
        }
    }
}
