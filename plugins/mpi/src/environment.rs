//! The environment, as far as it may steer this process.

use std::ffi::OsString;

/// A variable. None in a process that has more rights than who started it (set-user-ID, file capabilities): whoever starts it must not choose the
/// code that it loads. The dynamic linker ignores `LD_PRELOAD` there; a program may be linked with Kilter's libraries, too.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    of(has_more_rights(), || std::env::var_os(name))
}

fn of(has_more_rights: bool, read: impl FnOnce() -> Option<OsString>) -> Option<OsString> {
    if has_more_rights { None } else { read() }
}

/// True if the kernel has started this process with more rights than who started it has.
fn has_more_rights() -> bool {
    // SAFETY: reads a number that the kernel gave to the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(test)]
mod tests {
    use super::{has_more_rights, of, variable};

    #[test]
    fn nobody_steers_a_process_with_more_rights_than_his() {
        let read = || Some("/profile".into());
        assert_eq!(of(false, read), read());
        assert_eq!(of(true, read), None);
        assert!(!has_more_rights());
        assert_eq!(variable("PATH"), std::env::var_os("PATH"));
    }
}
