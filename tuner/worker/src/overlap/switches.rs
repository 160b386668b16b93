//! Counts how often the operating system took the processor from the measuring thread.

/// Number of times so far for the calling thread; always 0 on a system that does not count by thread.
pub(super) fn involuntary() -> u64 {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: all zeros is a value of the struct, and the call writes it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        u64::try_from(usage.ru_nivcsw).unwrap_or(0)
    }
    #[cfg(not(target_os = "linux"))]
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_never_falls() {
        let first = involuntary();
        std::thread::yield_now();
        assert!(involuntary() >= first);
    }
}
