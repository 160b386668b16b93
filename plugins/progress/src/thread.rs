//! The thread: while operations are under way and no thread of the program waits for them, it makes progress; else it sleeps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle, Thread};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};
use nix::time::{ClockId, clock_gettime};

use crate::cpus;
use crate::outstanding::Outstanding;

/// Time that a thread with a core of its own stays awake after the last operation, without a probe. A program that soon
/// begins the next one does not pay for waking it.
const LINGER: Duration = Duration::from_micros(100);
/// Pauses of the processor between two probes without a nap: the program's own calls find the library's lock free.
const PAUSES: u32 = 32;

/// Place and rhythm of the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    /// The CPU to bind it to.
    pub(crate) cpu: Option<usize>,
    /// True if it has a core of its own.
    pub(crate) alone: bool,
    /// Between two probes.
    pub(crate) nap: Duration,
}

/// Counts of the thread's work so far.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) wakeups: AtomicU64,
    pub(crate) probes: AtomicU64,
    /// Time awake, up to the last time that it fell asleep.
    pub(crate) active_us: AtomicU64,
    /// Processor time, up to then.
    pub(crate) cpu_us: AtomicU64,
}

impl Counts {
    pub(crate) const fn new() -> Counts {
        Counts {
            wakeups: AtomicU64::new(0),
            probes: AtomicU64::new(0),
            active_us: AtomicU64::new(0),
            cpu_us: AtomicU64::new(0),
        }
    }
}

/// State that thread and program share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) outstanding: Outstanding,
    pub(crate) counts: Counts,
    /// True if it is to end.
    stop: AtomicBool,
    /// True if it may be inside the library.
    inside: AtomicBool,
}

impl Shared {
    pub(crate) const fn new() -> Shared {
        Shared {
            outstanding: Outstanding::new(),
            counts: Counts::new(),
            stop: AtomicBool::new(false),
            inside: AtomicBool::new(false),
        }
    }

    /// Keeps the thread out of the library from now on; returns when it is out, or after `limit`.
    pub(crate) fn keep_out(&self, limit: Duration) {
        self.stop.store(true, Ordering::SeqCst);
        let begin = Instant::now();
        // No event: a thread that announced each leaving would take a lock or make a system call for every probe.
        while self.inside.load(Ordering::SeqCst) && begin.elapsed() < limit {
            std::thread::yield_now();
        }
    }
}

/// A thread that was started, with the `P` that it hands back at its end.
#[derive(Debug)]
pub(crate) struct Started<P> {
    shared: &'static Shared,
    handle: JoinHandle<P>,
}

/// Result of a step of progress.
pub(crate) enum Step {
    /// The step was made.
    Made,
    /// The thread is to end, and says why.
    Failed(String),
}

impl<P: Send + 'static> Started<P> {
    /// Starts the thread, which calls `step` on `probe` while there is work. It gets none of the process's signals. An
    /// error if no thread can be had, or none on this CPU.
    pub(crate) fn new(
        shared: &'static Shared,
        manner: Manner,
        probe: P,
        step: fn(&mut P) -> Step,
    ) -> std::io::Result<Started<P>> {
        let (tell, told) = mpsc::sync_channel(1);
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK);
        let handle = Builder::new().name("kilter-progress".to_owned()).spawn(move || {
            let mut probe = probe;
            let bound = manner.cpu.map_or(Ok(()), cpus::bind);
            let _ = tell.send(bound);
            if bound.is_ok() {
                run(shared, manner, || step(&mut probe));
            }
            probe
        });
        if let Ok(mask) = before {
            let _ = mask.thread_set_mask();
        }
        let started = Started {
            shared,
            handle: handle?,
        };
        // Soon: binding is the first thing that the thread does.
        match told.recv() {
            Ok(Err(error)) => Err(error.into()),
            _ => Ok(started),
        }
    }

    /// The thread to wake.
    pub(crate) fn thread(&self) -> Thread {
        self.handle.thread().clone()
    }

    /// Ends it; returns the probe, or `None` where it has not ended after `limit` or panicked.
    pub(crate) fn end(self, limit: Duration) -> Option<P> {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.handle.thread().unpark();
        let begin = Instant::now();
        while !self.handle.is_finished() {
            if begin.elapsed() > limit {
                return None;
            }
            // The standard library has no `join` with a limit.
            std::thread::sleep(Duration::from_micros(20));
        }
        self.handle.join().ok()
    }
}

fn run(shared: &Shared, manner: Manner, mut step: impl FnMut() -> Step) {
    // Naps are as long as they were asked for, not 50 us longer.
    let _ = nix::sys::prctl::set_timerslack(1);
    let Shared {
        outstanding,
        counts,
        stop,
        inside,
    } = shared;
    let is_stopped = || stop.load(Ordering::SeqCst);
    let mut awake = Instant::now();
    while !is_stopped() {
        if outstanding.needs_progress() {
            inside.store(true, Ordering::SeqCst);
            // A caller that keeps the thread out either sees it inside or is seen here.
            let step = if is_stopped() { Step::Made } else { step() };
            inside.store(false, Ordering::SeqCst);
            if let Step::Failed(reason) = step {
                kilter_mpi::say(format_args!(
                    "warning: progress: {reason}; the program goes on without the thread"
                ));
                break;
            }
            counts.probes.fetch_add(1, Ordering::Relaxed);
            if manner.nap > Duration::ZERO {
                std::thread::park_timeout(manner.nap);
            } else {
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
            }
            continue;
        }
        if manner.alone && lingers(|| outstanding.needs_progress() || is_stopped()) {
            continue;
        }
        if outstanding.may_sleep() && !is_stopped() {
            publish(counts, awake);
            std::thread::park();
            awake = Instant::now();
            counts.wakeups.fetch_add(1, Ordering::Relaxed);
        }
        outstanding.awake();
    }
    publish(counts, awake);
}

/// Stays awake for a while; true where something came up.
fn lingers(something: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < LINGER {
        if something() {
            return true;
        }
        (0..PAUSES).for_each(|_| std::hint::spin_loop());
    }
    false
}

fn publish(counts: &Counts, awake: Instant) {
    let microseconds = awake.elapsed().as_micros() as u64;
    counts.active_us.fetch_add(microseconds, Ordering::Relaxed);
    if let Ok(time) = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID) {
        let microseconds = Duration::from(time).as_micros() as u64;
        counts.cpu_us.store(microseconds, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use super::{Manner, Shared, Started, Step};

    const MANNER: Manner = Manner {
        cpu: None,
        alone: false,
        nap: Duration::from_micros(50),
    };

    const LIMIT: Duration = Duration::from_secs(20);

    fn shared() -> &'static Shared {
        Box::leak(Box::new(Shared::new()))
    }

    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < Duration::from_secs(20), "not in time: {what}");
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    #[test]
    fn it_probes_while_something_is_under_way_and_sleeps_without_waking_else() {
        let shared = shared();
        let started = Started::new(shared, MANNER, (), |()| Step::Made).unwrap();
        let probes = || shared.counts.probes.load(Ordering::SeqCst);
        let wakeups = || shared.counts.wakeups.load(Ordering::SeqCst);
        let falls_asleep = || until("asleep", || shared.outstanding.is_asleep());
        for round in 1..4 {
            falls_asleep();
            let before = probes();
            assert_eq!(before == 0, round == 1);
            if shared.outstanding.begin(1) {
                started.thread().unpark();
            }
            until("probes", || probes() > before + 3);
            shared.outstanding.complete(1);
            falls_asleep();
            let (quiet, woken) = (probes(), wakeups());
            assert_eq!(woken, round);
            // A thread that polls would be seen; one that sleeps passes however long this takes.
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!((probes(), wakeups()), (quiet, woken));
        }
        assert_eq!(started.end(LIMIT), Some(()));
    }

    #[test]
    fn it_leaves_what_somebody_waits_for_alone() {
        let shared = shared();
        shared.outstanding.wait_begins();
        shared.outstanding.begin(1);
        let started = Started::new(shared, MANNER, (), |()| Step::Made).unwrap();
        until("asleep", || shared.outstanding.is_asleep());
        assert_eq!(shared.counts.probes.load(Ordering::SeqCst), 0);
        assert!(shared.outstanding.wait_ends());
        started.thread().unpark();
        until("probes", || shared.counts.probes.load(Ordering::SeqCst) > 0);
        assert_eq!(started.end(LIMIT), Some(()));
    }

    #[test]
    fn it_ends_at_a_failure_and_can_be_ended_then() {
        static STEPS: AtomicU64 = AtomicU64::new(0);
        let shared = shared();
        shared.outstanding.begin(1);
        let step = |(): &mut ()| match STEPS.fetch_add(1, Ordering::SeqCst) {
            0 => Step::Made,
            _ => Step::Failed("a test".to_owned()),
        };
        let started = Started::new(shared, MANNER, (), step).unwrap();
        until("the end", || started.handle.is_finished());
        assert_eq!(STEPS.load(Ordering::SeqCst), 2);
        assert_eq!(started.end(LIMIT), Some(()));
    }

    #[test]
    fn a_thread_that_does_not_come_back_is_left_behind() {
        let shared = shared();
        shared.outstanding.begin(1);
        let step = |(): &mut ()| -> Step {
            loop {
                std::thread::park();
            }
        };
        let started = Started::new(shared, MANNER, (), step).unwrap();
        until("inside", || shared.inside.load(Ordering::SeqCst));
        let begin = Instant::now();
        shared.keep_out(Duration::from_millis(10));
        assert_eq!(started.end(Duration::from_millis(50)), None);
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}
