//! Real-time scheduling of the switch, so that it delivers packets at the times of the model.

use nix::{
    errno::Errno,
    sys::{
        mman::{MlockAllFlags, mlockall},
        prctl,
    },
};

/// Above the ranks (10), so that a rank that computes never delays a packet of another.
const PRIORITY: libc::c_int = 50;

/// Real-time priority, memory that stays, timers without slack. Returns what could not be had: the cluster works
/// without, with worse times.
pub(crate) fn claim() -> Vec<String> {
    let parameters = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    let scheduler = Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) });
    let memory = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
    let slack = prctl::set_timerslack(1);
    let wanted = [
        (scheduler.map(drop), "real-time priority (SCHED_FIFO)"),
        (memory, "locked memory"),
        (slack, "timers without slack"),
    ];
    let missed = wanted.into_iter().filter_map(|(result, what)| {
        result
            .err()
            .map(|errno| format!("no {what} for the switch ({}): times will scatter", errno.desc()))
    });
    missed.collect()
}
