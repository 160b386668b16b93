//! A call on its way to the counts and the trace.
//!
//! A call within a call of MPI is neither counted nor traced again: the Fortran layer calls `PMPI_X` in `MPI_X`, libraries call `PMPI_Y` in `MPI_X`, and the
//! drop-in's algorithms send messages inside of a collective.

use std::sync::atomic::Ordering;

use kilter_mpi::constants;
use mpi_sys::MPI_Status;

use crate::amount::amount;
use crate::call::Call;
use crate::clock;
use crate::count::{count, count_poll};
use crate::datatype;
use crate::number::Number;
use crate::start::{self, Tracer};
use crate::thread::{self, Thread};
use crate::trace::act::Kind;
use crate::trace::event;
use crate::trace::local::Run;
use crate::trace::recorder::{Happened, Passed};
use kilter_protocol::functions::{self, Function};

/// A status for a program that wants none.
#[inline]
pub(crate) fn no_status() -> MPI_Status {
    // SAFETY: zeros are a status.
    unsafe { std::mem::zeroed() }
}

/// The program's status, or this one if it wants none and its calls are counted or traced.
#[inline]
pub(crate) fn wanted(status: *mut MPI_Status, own: *mut MPI_Status) -> *mut MPI_Status {
    if status == constants::status_ignore() && start::active().is_some() {
        own
    } else {
        status
    }
}

/// A call that has begun.
pub(crate) struct Begun {
    function: Function,
    tracer: Option<&'static Tracer>,
    /// The state of the calling thread.
    thread: *mut Thread,
    site: usize,
    /// The clock at its begin, if it is timed.
    ticks: u64,
    /// Calls for which its time stands; 0 if it is not timed.
    stands_for: u64,
}

impl Begun {
    /// Begins a call of this function.
    #[inline(always)]
    pub(crate) fn now(function: Function) -> Begun {
        // SAFETY: the state of this thread, which nobody else looks at.
        unsafe {
            let thread = thread::current();
            let tracer = if (*thread).gate.enter() { start::active() } else { None };
            let stands_for = match tracer {
                None => 0,
                // A trace has each call's begin.
                Some(tracer) if function.may_find_nothing() && tracer.trace.is_none() => {
                    (*thread).polls.next_stands_for(&mut (*thread).gate, clock::reading())
                }
                Some(_) => 1,
            };
            Begun {
                function,
                tracer,
                thread,
                site: (*thread).site,
                ticks: if stands_for > 0 { clock::ticks() } else { 0 },
                stands_for,
            }
        }
    }

    /// True if the call is counted.
    #[inline(always)]
    pub(crate) fn is_counted(&self) -> bool {
        self.tracer.is_some()
    }

    /// Ends a call that returned `code`, and counts it.
    ///
    /// # Safety
    /// The call was valid if it returned 0, and its communicator and types still are.
    #[inline(always)]
    pub(crate) unsafe fn end<N: Number>(self, code: i32, call: impl FnOnce() -> Call<N>) {
        if let Some(tracer) = self.tracer {
            // SAFETY: by this function's contract.
            unsafe {
                if code == 0 {
                    self.ended(tracer, call);
                } else {
                    // The handle of one request is in the wrapper alone.
                    let act = matches!(self.function, Function::Wait | Function::Test).then(|| call().act);
                    failed(tracer, act.map(|act| act.kind));
                }
            }
        }
        // SAFETY: the state of this thread, which nobody else looks at. The counting itself calls MPI, and is still within the call.
        unsafe { (*self.thread).gate.leave() };
    }

    /// Counts and traces a call.
    ///
    /// # Safety
    /// The call was valid, and its communicator and types still are.
    #[inline(always)]
    unsafe fn ended<N: Number>(&self, tracer: &'static Tracer, call: impl FnOnce() -> Call<N>) {
        let function = self.function;
        let (call, end) = if function.may_find_nothing() {
            let call = call();
            // SAFETY: by this function's contract.
            let Some(end) = (unsafe { self.polled(tracer, &call) }) else {
                return;
            };
            (call, end)
        } else {
            let end = clock::ticks();
            (call(), end)
        };
        // SAFETY: by this function's contract.
        unsafe {
            let state = call.place.state();
            if let Some(counts) = &tracer.counts
                && function.kind() != functions::Kind::Other
            {
                // `count` gets copies, whose addresses escape: the originals stay in registers for the trace, and the compiler knows the kind of the act.
                let (volume, act) = (call.volume, call.act);
                count(
                    counts,
                    (function, state),
                    (self.site, self.ticks, end.wrapping_sub(self.ticks), self.stands_for),
                    &volume,
                    &act,
                );
            }
            if let Some(trace) = &tracer.trace {
                let happened = Happened {
                    function,
                    state,
                    site: self.site,
                    begin: self.ticks,
                    end,
                };
                if function.is_collective() {
                    let (bytes, class) = amount(state, &call.volume);
                    let passed = Passed {
                        bytes,
                        class,
                        operator: call.volume.op.map_or(0, datatype::operator),
                        root: call.volume.root.map(|(root, _)| root),
                    };
                    event::collective(trace, &happened, &passed, call.act.request);
                } else {
                    event::record(trace, &happened, &call.act);
                }
            }
        }
    }

    /// Takes the short way of a poll; the clock at its end if it needs the long one.
    ///
    /// Counts of a poll have all in its cell. A trace tells calls that found nothing together, and the begin of each is enough: the clock is not read again.
    /// All take the long way if calls are both counted and traced: the counts need the length of each.
    ///
    /// # Safety
    /// The call was valid, and its communicator still is.
    #[inline(always)]
    unsafe fn polled<N: Number>(&self, tracer: &'static Tracer, call: &Call<N>) -> Option<u64> {
        // SAFETY: by this function's contract.
        let asked = unsafe { call.act.looked_in_vain() };
        let Some(trace) = &tracer.trace else {
            let end = if self.stands_for > 0 { clock::ticks() } else { 0 };
            let ticks = end.wrapping_sub(self.ticks);
            // SAFETY: the state of this thread, which nobody else looks at; else by this function's contract.
            unsafe {
                let thread = self.thread;
                if self.stands_for > 0 {
                    (*thread).polls.took(ticks);
                }
                if asked.is_none() {
                    (*thread).polls.found((*thread).gate);
                }
                let counts = tracer.counts.as_ref()?;
                let polled = (*thread).polled.of(self.function);
                let timed = (self.site, ticks, self.stands_for);
                let is_counted = count_poll(counts, polled, self.function, timed, call);
                return (!is_counted).then_some(end);
            }
        };
        let (None, Some(asked)) = (&tracer.counts, asked) else {
            return Some(clock::ticks());
        };
        // SAFETY: by this function's contract.
        let state = unsafe { call.place.state() };
        let run = Run {
            function: self.function,
            communicator: state.map(|state| state.id),
            site: self.site,
            asked,
        };
        (!event::polled(trace, &run, self.ticks)).then(clock::ticks)
    }
}

#[cold]
fn failed(tracer: &Tracer, kind: Option<Kind>) {
    tracer.failed.fetch_add(1, Ordering::Relaxed);
    if let Some(trace) = &tracer.trace {
        trace.fail(kind);
    }
}
