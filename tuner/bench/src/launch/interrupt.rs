//! Interruption of the tuner by Ctrl-C and SIGTERM: a flag at which sessions look, so that a job is ended before the
//! tuner is.

use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Number of the signal that came, or 0.
pub type Flag = AtomicI32;

static RECEIVED: Flag = Flag::new(0);

/// Signals that end the tuner.
const NOTED: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Notes SIGINT, SIGTERM and SIGHUP from now on instead of dying of them. Call it once, early.
pub fn install() -> Result<(), nix::Error> {
    handle(SigHandler::Handler(note))
}

/// Dies of these signals again. Only system calls are made, so that a child may call it before it becomes another program.
pub(super) fn reset() -> Result<(), nix::Error> {
    handle(SigHandler::SigDfl)
}

fn handle(handler: SigHandler) -> Result<(), nix::Error> {
    let action = SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty());
    for signal in NOTED {
        // SAFETY: the one handler there is only stores to an atomic, which is safe in a signal handler.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

extern "C" fn note(signal: i32) {
    RECEIVED.store(signal, Ordering::SeqCst);
}

/// The flag that [`install`] fills.
#[must_use]
pub fn flag() -> &'static Flag {
    &RECEIVED
}

/// The signal received, if any.
#[must_use]
pub fn received(flag: &Flag) -> Option<i32> {
    match flag.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(signal),
    }
}

/// Exit status of a process that ends because of a signal: 130 for Ctrl-C, 143 for SIGTERM.
#[must_use]
pub fn exit_status(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
