//! The CPUs of this process, and of what started it.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::{Pid, getppid};

/// Words of a [`Cpus`].
pub(crate) const WORDS: usize = 16;

/// A set of CPUs by the kernel's numbers, below 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cpus(pub(crate) [u64; WORDS]);

impl Cpus {
    pub(crate) fn has(self, cpu: usize) -> bool {
        self.0.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    fn add(&mut self, cpu: usize) {
        if let Some(word) = self.0.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }

    /// Those that are in both sets.
    pub(crate) fn and(self, other: Cpus) -> Cpus {
        self.by_word(other, |a, b| a & b)
    }

    /// Those that are in either set.
    pub(crate) fn or(self, other: Cpus) -> Cpus {
        self.by_word(other, |a, b| a | b)
    }

    /// Those that are not in the other set.
    pub(crate) fn without(self, other: Cpus) -> Cpus {
        self.by_word(other, |a, b| a & !b)
    }

    fn by_word(self, other: Cpus, combine: impl Fn(u64, u64) -> u64) -> Cpus {
        Cpus(std::array::from_fn(|word| combine(self.0[word], other.0[word])))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..WORDS * 64).filter(move |cpu| self.has(*cpu))
    }

    pub(crate) fn count(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

impl FromIterator<usize> for Cpus {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Cpus {
        let mut cpus = Cpus::default();
        numbers.into_iter().for_each(|cpu| cpus.add(cpu));
        cpus
    }
}

/// Number of CPUs of the node.
pub(crate) fn online() -> usize {
    let number = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN);
    // A kernel that does not tell rules nothing out.
    number
        .ok()
        .flatten()
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or(usize::MAX)
}

/// Those on which a process (0: the calling thread) may run; none where the kernel does not tell.
fn of(process: Pid) -> Cpus {
    let set = sched_getaffinity(process).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::count())
        .filter(|cpu| set.is_set(*cpu).unwrap_or(false))
        .collect()
}

/// Those to which the launcher bound the calling thread.
pub(crate) fn allowed() -> Cpus {
    of(Pid::from_raw(0))
}

/// Those that the job was given, if this process's parent is a launcher that did not bind itself: the parent's, as far as the
/// kernel would grant them to this process. Where a bound script stands in between, these are its own.
pub(crate) fn given() -> Cpus {
    let grantable = std::thread::spawn(|| {
        let mut every = CpuSet::new();
        (0..CpuSet::count()).for_each(|cpu| {
            let _ = every.set(cpu);
        });
        // The kernel takes what is left after those that the process's control group lacks; this thread alone is concerned.
        let _ = sched_setaffinity(Pid::from_raw(0), &every);
        allowed()
    });
    of(getppid()).and(grantable.join().unwrap_or_default())
}

/// Binds the calling thread.
pub(crate) fn bind(cpu: usize) -> nix::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

#[cfg(test)]
mod tests {
    use super::{Cpus, allowed, given};

    #[test]
    fn sets() {
        let a: Cpus = [0, 63, 64, 1023, 1024].into_iter().collect();
        assert_eq!(a.iter().collect::<Vec<_>>(), [0, 63, 64, 1023]);
        let b: Cpus = [63, 65].into_iter().collect();
        assert_eq!(a.and(b).iter().collect::<Vec<_>>(), [63]);
        assert_eq!(a.without(b).count(), 3);
        assert_eq!(a.or(b).count(), 5);
    }

    #[test]
    fn this_thread_has_some_and_asking_does_not_change_them() {
        let before = allowed();
        assert!(before.count() > 0);
        let _ = given();
        assert_eq!(allowed(), before);
    }
}
