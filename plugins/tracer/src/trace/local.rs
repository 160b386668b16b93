//! A thread's stream of records, and memory that it uses again.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use kilter_protocol::trace::WhenFull;
use kilter_protocol::trace::record::{Call, Part, Plain, Role};
use kilter_protocol::trace::space::Stream;
use mpi_sys::MPI_Status;

use super::Trace;
use super::operations::Pending;
use super::payload::Scratch;
use crate::clock::Moment;
use crate::thread;
use kilter_protocol::functions::Function;

/// Ticks between two readings of both clocks; some milliseconds.
const BETWEEN_READINGS: u64 = 1 << 24;

/// State of a thread.
pub(crate) struct Local {
    trace: &'static Trace,
    number: u64,
    stream: Option<Stream>,
    /// True once the file has no space for this thread any more.
    full: bool,
    next_reading: u64,
    pub(crate) scratch: Scratch,
    /// Requests of a completing call, as they were before it.
    pub(crate) handles: Vec<usize>,
    /// Statuses for a program that wants none.
    pub(crate) statuses: Vec<MPI_Status>,
    /// Operations that the call completed, each with the number of its status.
    pub(crate) done: Vec<(Pending, usize)>,
    /// Payload of a message that is sent from the buffer into which another one is received.
    pub(crate) before: Option<Part>,
    /// The latest record, if it is of calls that found nothing.
    run: Option<Run>,
}

/// Calls that are told together, since they follow each other and find nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) function: Function,
    /// Number of the communicator.
    pub(crate) communicator: Option<u32>,
    /// Return address.
    pub(crate) site: usize,
    /// Source and tag for which they look; zeros for requests.
    pub(crate) asked: (c_int, c_int),
}

/// The state of this thread. No other reference to it is alive: the wrappers call one function of this module's users after the other.
#[inline]
pub(crate) fn of(trace: &Trace) -> &'static mut Local {
    // SAFETY: the state of this thread, which nobody else looks at; it lives until the thread ends.
    unsafe {
        let known = (*thread::current()).trace;
        if known.is_null() {
            made(trace)
        } else {
            &mut *known.cast::<Local>()
        }
    }
}

#[cold]
fn made(trace: &Trace) -> &'static mut Local {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: writes a number; the function lives as long as the process.
        let code = unsafe { libc::pthread_key_create(&raw mut key, Some(end)) };
        (code == 0).then_some(key)
    });
    // SAFETY: the trace is part of what `start` holds for as long as the process lives.
    let trace: &'static Trace = unsafe { &*std::ptr::from_ref(trace) };
    let local = Box::into_raw(Box::new(Local {
        trace,
        number: trace.threads.fetch_add(1, Ordering::Relaxed) + 1,
        stream: None,
        full: false,
        next_reading: 0,
        scratch: Scratch::default(),
        handles: Vec::new(),
        statuses: Vec::new(),
        done: Vec::new(),
        before: None,
        run: None,
    }));
    // SAFETY: the state of this thread, which nobody else looks at; the box is freed in `end`.
    unsafe {
        (*thread::current()).trace = local.cast();
        if let Some(key) = key {
            libc::pthread_setspecific(*key, local.cast());
        }
        &mut *local
    }
}

/// The thread ends: its segment may be overwritten.
unsafe extern "C" fn end(local: *mut c_void) {
    // SAFETY: what `made` set for this thread, which makes no call now.
    unsafe {
        (*thread::current()).trace = std::ptr::null_mut();
        let local = Box::from_raw(local.cast::<Local>());
        if let Some(stream) = &local.stream {
            local.trace.space.close(stream);
        }
    }
}

impl Local {
    /// True if nothing more can be recorded.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Requests that were noted before the call, which are forgotten.
    pub(crate) fn taken(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.handles)
    }

    /// Writes a call; false if there is no space.
    #[inline]
    pub(crate) fn call(&mut self, call: &Call) -> bool {
        self.begin(call.end);
        let is_put = self.written(|stream| stream.call(call));
        if !is_put {
            self.trace.space.lose(1);
        }
        is_put
    }

    /// Writes a call with its only part; false if there is no space.
    #[inline(always)]
    pub(crate) fn call_with(&mut self, call: &Call, role: Role, part: &Plain) -> bool {
        self.begin(call.end);
        if let Some(stream) = &mut self.stream
            && stream.call_with(call, role, part)
        {
            return true;
        }
        // Copies have the addresses that the rare way takes: the originals stay in registers on the short one.
        self.call_with_elsewhere(&{ *call }, role, &{ *part })
    }

    /// The same, into a new segment.
    #[cold]
    fn call_with_elsewhere(&mut self, call: &Call, role: Role, part: &Plain) -> bool {
        let is_put = self.renew()
            && self
                .stream
                .as_mut()
                .is_some_and(|stream| stream.call_with(call, role, part));
        if !is_put {
            self.trace.space.lose(1);
        }
        is_put
    }

    /// Begins with a call that has ended now.
    #[inline(always)]
    fn begin(&mut self, end: u64) {
        if end > self.next_reading {
            self.read_clocks(end);
        }
        self.run = None;
    }

    #[cold]
    fn read_clocks(&mut self, end: u64) {
        self.next_reading = end + BETWEEN_READINGS;
        let now = Moment::now();
        self.trace.space.read_clocks(now.ticks(), now.nanoseconds());
    }

    /// Writes into the segment, or into a new one. False if there is none; what does not fit into a new one does not exist.
    fn written(&mut self, write: impl Fn(&mut Stream) -> bool) -> bool {
        let is_put = self.stream.as_mut().is_some_and(&write);
        is_put || (self.renew() && self.stream.as_mut().is_some_and(write))
    }

    /// Adds a call that found nothing, and began then, to the latest record, if that is of the same calls.
    #[inline(always)]
    pub(crate) fn poll(&mut self, run: &Run, begin: u64) -> bool {
        self.run == Some(*run) && self.stream.as_mut().is_some_and(|stream| stream.poll(begin))
    }

    /// Says that the latest record is of such calls.
    #[inline(always)]
    pub(crate) fn polls(&mut self, run: &Run) {
        self.run = Some(*run);
    }

    /// Writes a part of the latest call.
    #[inline]
    pub(crate) fn plain(&mut self, role: Role, part: &Plain) {
        self.written(|stream| stream.plain(role, part));
    }

    /// Writes a part of the latest call, with all that it has.
    pub(crate) fn part(&mut self, part: &Part) {
        self.written(|stream| stream.part(part));
    }

    /// Takes a new segment; false if there is none.
    #[cold]
    fn renew(&mut self) -> bool {
        if let Some(stream) = self.stream.take() {
            self.trace.space.close(&stream);
        }
        self.stream = self.trace.space.stream(self.number);
        self.full = self.stream.is_none() && self.trace.settings.when_full == WhenFull::Stop;
        self.stream.is_some()
    }
}

/// True if calls of this thread are told by the trace now: the program's call is the one that runs, and not one within it.
#[inline]
pub(crate) fn is_outermost() -> bool {
    // SAFETY: the state of this thread, which nobody else looks at.
    unsafe { (*thread::current()).gate.is_in_outermost() }
}
