//! A call on its way to the counts and the trace.
//!
//! A call within a call of MPI is neither counted nor traced again: the Fortran layer calls `PMPI_X` in `MPI_X`, libraries call `PMPI_Y` in `MPI_X`, and the
//! drop-in's algorithms send messages inside of a collective.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, constants};
use mpi_sys::{MPI_Request, MPI_Status};

use crate::amount::amount;
use crate::clock;
use crate::communicator::{self, State};
use crate::count::count;
use crate::datatype;
use crate::number::Number;
use crate::start::{self, Tracer};
use crate::thread;
use crate::trace::act::{Act, Done, Kind, Side};
use crate::trace::event;
use crate::trace::local::Run;
use crate::trace::recorder::{Happened, Passed};
use kilter_protocol::functions::{self, Function};

/// Data of a call.
#[derive(Clone, Copy)]
pub(crate) enum Data<N> {
    /// None.
    Nothing,
    /// So many elements.
    Elements(N, MPI_Datatype),
    /// A block of so many elements for each rank.
    Blocks(N, MPI_Datatype),
    /// A list of counts, one for each rank; of an intercommunicator, for each of the other side.
    List(*const N, MPI_Datatype),
    /// A list of counts, one for each rank of this side.
    ListOfOwn(*const N, MPI_Datatype),
    /// A list of counts and a list of types, one each for each rank.
    Lists(*const N, *const MPI_Datatype),
    /// The elements that have come, by this status, which is none or filled; the buffer of so many where that is not known.
    Come(*const MPI_Status, N, MPI_Datatype),
    /// So many requests.
    Requests(N),
}

/// The part of a call that is counted.
#[derive(Clone, Copy)]
pub(crate) struct Volume<N> {
    pub(crate) data: Data<N>,
    pub(crate) op: Option<MPI_Op>,
    /// Rank to which a message is sent.
    pub(crate) to: Option<i32>,
    /// Root, and what it passes instead of `data`.
    pub(crate) root: Option<(i32, Data<N>)>,
}

/// The communicator of a call.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// It has none.
    Nowhere,
    /// This one, which is there when the call returns.
    On(MPI_Comm),
    /// One that was looked up before, if there was any.
    Known(Option<&'static State>),
}

impl Place {
    /// State of the communicator; `None` without one, or without memory for its state.
    ///
    /// # Safety
    /// The communicator is valid.
    #[inline(always)]
    unsafe fn state(self) -> Option<&'static State> {
        match self {
            Place::Nowhere => None,
            // SAFETY: by this function's contract.
            Place::On(comm) => unsafe { communicator::look_up(comm) },
            Place::Known(state) => state,
        }
    }
}

/// A call, as far as it is counted and traced. Both parts are apart, so that the one for the trace is never made where nothing is traced.
#[derive(Clone, Copy)]
pub(crate) struct Call<N> {
    pub(crate) place: Place,
    pub(crate) volume: Volume<N>,
    /// Its effect on messages and requests.
    pub(crate) act: Act,
}

impl<N: Number> Call<N> {
    #[inline]
    pub(crate) fn without_communicator(data: Data<N>) -> Call<N> {
        Call {
            place: Place::Nowhere,
            volume: Volume {
                data,
                op: None,
                to: None,
                root: None,
            },
            act: Act::NONE,
        }
    }

    #[inline]
    pub(crate) fn on(comm: MPI_Comm, data: Data<N>) -> Call<N> {
        Call {
            place: Place::On(comm),
            ..Call::without_communicator(data)
        }
    }

    /// On a communicator that was looked up before: that of a window or file, or one that is gone when the call returns.
    #[inline]
    pub(crate) fn at(state: Option<&'static State>, data: Data<N>) -> Call<N> {
        Call {
            place: Place::Known(state),
            ..Call::without_communicator(data)
        }
    }

    #[inline]
    pub(crate) fn to(mut self, to: i32) -> Call<N> {
        self.volume.to = Some(to);
        self
    }

    /// The call sends its elements from this buffer.
    #[inline]
    pub(crate) fn sends(mut self, buffer: *const c_void, peer: i32, tag: i32) -> Call<N> {
        if let Data::Elements(count, datatype) = self.volume.data {
            self.act.sends = Some(Side::new(buffer, count, datatype, peer, tag));
        }
        self
    }

    /// The call receives so many elements at most into this buffer.
    #[inline]
    pub(crate) fn receives(
        mut self,
        (buffer, count, datatype): (*mut c_void, N, MPI_Datatype),
        peer: i32,
        tag: i32,
    ) -> Call<N> {
        self.act.receives = Some(Side::new(buffer, count, datatype, peer, tag));
        self
    }

    /// The call filled this status, or as many as there are requests.
    #[inline]
    pub(crate) fn status(mut self, status: *const MPI_Status) -> Call<N> {
        self.act.status = status;
        self
    }

    /// The operation has this request.
    #[inline]
    pub(crate) fn request(mut self, request: *const MPI_Request) -> Call<N> {
        self.act.request = request;
        self
    }

    #[inline]
    pub(crate) fn kind(mut self, kind: Kind) -> Call<N> {
        self.act.kind = kind;
        self
    }

    /// The call completes requests.
    #[inline]
    pub(crate) fn completes(self, done: Done, statuses: *const MPI_Status) -> Call<N> {
        self.kind(Kind::Completes(done)).status(statuses)
    }

    #[inline]
    pub(crate) fn with(mut self, op: MPI_Op) -> Call<N> {
        self.volume.op = Some(op);
        self
    }

    #[inline]
    pub(crate) fn at_root(mut self, root: i32, data: Data<N>) -> Call<N> {
        self.volume.root = Some((root, data));
        self
    }
}

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
            let outermost = (*thread).depth == 0;
            (*thread).depth += 1;
            let tracer = if outermost { start::active() } else { None };
            let stands_for = match tracer {
                None => 0,
                // A trace has each call's begin.
                Some(tracer) if function.may_find_nothing() && tracer.trace.is_none() => {
                    (*thread).polls.next_stands_for()
                }
                Some(_) => 1,
            };
            Begun {
                function,
                tracer,
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
        unsafe { (*thread::current()).depth -= 1 };
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
            if unsafe { self.goes_on_polling(tracer, &call) } {
                return;
            }
            let end = if self.stands_for > 0 { clock::ticks() } else { 0 };
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
                // Copies of its own leave those of the trace in registers, and the kind of the act known to the compiler.
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

    /// True for one more of several calls that found nothing, which the trace tells together: its begin is all that is told of it, so that the clock is
    /// not read again. Where calls are counted, too, their lengths are.
    ///
    /// # Safety
    /// The call was valid, and its communicator still is.
    #[inline(always)]
    unsafe fn goes_on_polling<N: Number>(&self, tracer: &'static Tracer, call: &Call<N>) -> bool {
        // SAFETY: by this function's contract.
        let asked = unsafe { call.act.looked_in_vain() };
        let Some(trace) = &tracer.trace else {
            // SAFETY: the state of this thread, which nobody else looks at.
            unsafe { (*thread::current()).polls.note(asked.is_some()) };
            return false;
        };
        let (None, Some(asked)) = (&tracer.counts, asked) else {
            return false;
        };
        // SAFETY: by this function's contract.
        let state = unsafe { call.place.state() };
        let run = Run {
            function: self.function,
            communicator: state.map(|state| state.id),
            site: self.site,
            asked,
        };
        event::polled(trace, &run, self.ticks)
    }
}

#[cold]
fn failed(tracer: &Tracer, kind: Option<Kind>) {
    tracer.failed.fetch_add(1, Ordering::Relaxed);
    if let Some(trace) = &tracer.trace {
        trace.fail(kind);
    }
}
