//! The environment variables, read once, without allocation: hooks may run before `main` and inside signal handlers.

use std::{
    ffi::{CStr, c_int, c_long},
    sync::atomic::{AtomicI64, AtomicU8, Ordering::Relaxed},
};

/// Behaviour after an empty poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Off,
    Yield,
    /// Wait for at most this long.
    Block {
        nanos: c_long,
    },
}

const UNREAD: u8 = 0;
const OFF: u8 = 1;
const YIELD: u8 = 2;
const BLOCK: u8 = 3;

// Two threads that read the environment at once store the same values.
static MODE: AtomicU8 = AtomicU8::new(UNREAD);
static NANOS: AtomicI64 = AtomicI64::new(0);

/// The mode of this process.
pub(crate) fn mode() -> Mode {
    if MODE.load(Relaxed) == UNREAD {
        read();
    }
    match MODE.load(Relaxed) {
        YIELD => Mode::Yield,
        BLOCK => Mode::Block {
            nanos: NANOS.load(Relaxed),
        },
        _ => Mode::Off,
    }
}

/// The real-time priority that ranks get, if any.
pub(crate) fn priority() -> Option<c_int> {
    let priority = number(variable(c"KILTER_WAITER_PRIORITY")?)?;
    (1..=99).contains(&priority).then_some(priority as c_int)
}

fn read() {
    let nanos = variable(c"KILTER_WAITER_US")
        .and_then(number)
        .unwrap_or(1_000)
        .clamp(1, 1_000_000)
        * 1_000;
    NANOS.store(nanos, Relaxed);
    let mode = match variable(c"KILTER_WAITER") {
        Some(b"block") => BLOCK,
        Some(b"yield") => YIELD,
        None | Some(b"off" | b"") => OFF,
        Some(_) => {
            const COMPLAINT: &[u8] = b"libkilter_waiter: KILTER_WAITER must be block, yield or off; it stays off\n";
            // SAFETY: the buffer is a constant of the given length. A write that fails has nobody left to tell.
            unsafe { libc::write(libc::STDERR_FILENO, COMPLAINT.as_ptr().cast(), COMPLAINT.len()) };
            OFF
        }
    };
    MODE.store(mode, Relaxed);
}

fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: the name ends with a zero byte. The value stays valid until the program changes this very variable, which
    // an MPI program has no reason to do; it is read at once and not kept.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    }
}

/// A decimal number of at most nine digits.
fn number(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 9 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_decimal_and_bounded() {
        assert_eq!(number(b"1000"), Some(1000));
        assert_eq!(number(b"999999999"), Some(999_999_999));
        for text in [&b""[..], b"-1", b"1e3", b"1234567890", b" 1"] {
            assert_eq!(number(text), None);
        }
    }
}
