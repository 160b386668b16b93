//! `epoll_wait` and `poll` of the C library, replaced.
//!
//! The calls go to the kernel directly, not to the next definition: they may come before the dynamic linker can look
//! anything up.

use std::{
    cell::Cell,
    ffi::{c_int, c_long, c_void},
    ptr,
};

use libc::{epoll_event, nfds_t, pollfd, timespec};

use crate::settings::{Mode, mode};

/// The kernel's signal set, not the C library's larger one.
const SIGSET_BYTES: usize = 8;

thread_local! {
    /// The last poll of this thread found nothing.
    static EMPTY: Cell<bool> = const { Cell::new(false) };
    /// This thread's timers have no slack: a wait of 1 ms ends after 1 ms, not 50 us later.
    static PRECISE: Cell<bool> = const { Cell::new(false) };
}

/// # Safety
///
/// As for epoll_wait(2): `events` has room for `capacity` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    capacity: c_int,
    timeout_ms: c_int,
) -> c_int {
    let ordinary = |timeout_ms: c_int| {
        let mask = ptr::null::<c_void>();
        // SAFETY: the caller's promise; a null mask leaves the signals alone.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait,
                epoll,
                events,
                capacity,
                timeout_ms,
                mask,
                SIGSET_BYTES,
            )
        }
    };
    polled(mode, timeout_ms, ordinary, |nanos| {
        let timeout = timespec {
            tv_sec: nanos / 1_000_000_000,
            tv_nsec: nanos % 1_000_000_000,
        };
        let (timeout, mask) = (&raw const timeout, ptr::null::<c_void>());
        // SAFETY: as above, and the timeout outlives the call.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                epoll,
                events,
                capacity,
                timeout,
                mask,
                SIGSET_BYTES,
            )
        };
        // Linux before 5.11 waits in milliseconds only.
        if found < 0 && errno() == libc::ENOSYS {
            ordinary((nanos / 1_000_000).max(1) as c_int)
        } else {
            found
        }
    })
}

/// # Safety
///
/// As for poll(2): `descriptors` points to `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(descriptors: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
    let wait = |nanos: Option<c_long>| {
        // The kernel writes the time that is left into it, so it is a copy of each call.
        let mut timeout = nanos.map(|n| timespec {
            tv_sec: n / 1_000_000_000,
            tv_nsec: n % 1_000_000_000,
        });
        let timeout = timeout.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        let mask = ptr::null::<c_void>();
        // SAFETY: the caller's promise; the timeout is null or outlives the call; a null mask leaves the signals alone.
        unsafe { libc::syscall(libc::SYS_ppoll, descriptors, count, timeout, mask, SIGSET_BYTES) }
    };
    let ordinary = |timeout_ms: c_int| wait((timeout_ms >= 0).then(|| c_long::from(timeout_ms) * 1_000_000));
    polled(mode, timeout_ms, ordinary, |nanos| wait(Some(nanos)))
}

/// A poll with the caller's timeout, unless it was to return at once, the one before found nothing, and the process is
/// asked to wait. The first empty poll returns at once: a library that looks at several sources in turn is not held up
/// at each of them while there is work.
fn polled(
    mode: impl FnOnce() -> Mode,
    timeout_ms: c_int,
    ordinary: impl Fn(c_int) -> c_long,
    wait: impl Fn(c_long) -> c_long,
) -> c_int {
    let mode = if timeout_ms == 0 { mode() } else { Mode::Off };
    let found = match mode {
        Mode::Off => return ordinary(timeout_ms) as c_int,
        Mode::Block { nanos } if EMPTY.get() => {
            lose_slack();
            wait(nanos)
        }
        _ => ordinary(0),
    };
    match found {
        0 => {
            EMPTY.set(true);
            if mode == Mode::Yield {
                // SAFETY: sched_yield has no arguments and no failure on Linux.
                unsafe { libc::sched_yield() };
            }
        }
        1.. => EMPTY.set(false),
        // An error says nothing about the traffic, and `errno` is the caller's to read.
        _ => {}
    }
    found as c_int
}

fn lose_slack() {
    if !PRECISE.replace(true) {
        // SAFETY: PR_SET_TIMERSLACK takes one integer.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    }
}

fn errno() -> c_int {
    // SAFETY: the C library's errno of this thread is always readable.
    unsafe { *libc::__errno_location() }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// The calls to the kernel that polls make, given scripted answers.
    fn calls(mode: Mode, polls: &[(c_int, c_long)]) -> Vec<String> {
        EMPTY.set(false);
        let asked = RefCell::new(Vec::new());
        for (timeout_ms, found) in polls {
            let ordinary = |timeout: c_int| {
                asked.borrow_mut().push(format!("poll {timeout}"));
                *found
            };
            let wait = |nanos: c_long| {
                asked.borrow_mut().push(format!("wait {nanos}"));
                *found
            };
            assert_eq!(polled(|| mode, *timeout_ms, ordinary, wait), *found as c_int);
        }
        asked.into_inner()
    }

    const BLOCK: Mode = Mode::Block { nanos: 50 };

    #[test]
    fn the_second_empty_poll_in_a_row_waits_until_something_is_found() {
        let asked = calls(BLOCK, &[(0, 0), (0, 0), (0, 3), (0, 1), (0, 0), (0, 0)]);
        assert_eq!(asked, ["poll 0", "wait 50", "wait 50", "poll 0", "poll 0", "wait 50"]);
    }

    #[test]
    fn waits_of_the_caller_are_its_own() {
        assert_eq!(
            calls(BLOCK, &[(0, 0), (-1, 1), (7, 0), (0, 0)]),
            ["poll 0", "poll -1", "poll 7", "wait 50"]
        );
    }

    #[test]
    fn errors_change_nothing() {
        assert_eq!(
            calls(BLOCK, &[(0, 0), (0, -1), (0, 0)]),
            ["poll 0", "wait 50", "wait 50"]
        );
    }

    #[test]
    fn without_waiting_every_poll_goes_through() {
        for mode in [Mode::Off, Mode::Yield] {
            assert_eq!(
                calls(mode, &[(0, 0), (0, 0), (0, 0), (5, 0)]),
                ["poll 0", "poll 0", "poll 0", "poll 5"]
            );
        }
    }
}
