//! Calls like one before: what was decided for that one is decided for them.
//!
//! On one communicator a decision ([`crate::replace`]) follows from the arguments other than addresses, and from whether data is in
//! place or one buffer serves both sides. Where handles are predefined, the same arguments mean the same in each call (a handle of a
//! derived type or of a program's operator can be freed and come back as another). So a call with the arguments of one before is carried out at once, with that
//! one's arguments of the plugin ABI and its own addresses: for an allreduce 133 instructions before the plugin's instead of 340
//! (`scripts/count-instructions`). One that is the library's goes there without a look at the rules: a reduce of 16 bytes that finds
//! predictors of branches cold takes 0.94 times as long so (two ranks, median of 30 pairs of jobs in turn, Open MPI 4.1.4).

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use kilter_abi::{Arguments, Context};
use kilter_algorithms::Collective;
use kilter_host::plugins::Run;
use kilter_mpi::{MPI_Datatype, MPI_Op, constants, layout};
use kilter_online::Arm;

use crate::given::{Given, Number};
use crate::rules::Implementation;
use crate::sites::Place;

/// A call whose way was decided, ready to be made again.
pub(crate) struct Prepared {
    /// As they were, with the addresses of the latest call.
    arguments: Arguments,
    /// True if something was `MPI_IN_PLACE`.
    in_place: bool,
    /// `None` for a call that is the library's.
    row: Option<Row>,
    /// The site, if online selection chose it.
    of_site: Option<OfSite>,
}

/// An implementation that carries calls out.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    run: Run,
    /// The communicator's for the implementation's plugin.
    context: *mut Context,
    implementation: &'static Implementation,
}

impl Row {
    pub(crate) fn new(implementation: &'static Implementation, context: *mut Context) -> Row {
        Row {
            run: implementation.callable.run,
            context,
            implementation,
        }
    }
}

/// The site of a communicator for which a call was carried out, and the arm that it ran.
#[derive(Clone, Copy)]
pub(crate) struct OfSite {
    /// Lives as long as the communicator's state.
    pub(crate) site: NonNull<Place>,
    /// The site's number of calls left of the arm.
    left: NonNull<Cell<u64>>,
    pub(crate) arm: Arm,
}

impl OfSite {
    /// A call that runs an arm of a site; `None` for an arm that the site does not have.
    pub(crate) fn new(place: &Place, arm: Arm) -> Option<OfSite> {
        Some(OfSite {
            site: NonNull::from(place),
            left: place.left(arm)?,
            arm,
        })
    }
}

/// The way of a call like one before.
pub(crate) enum Way {
    /// It is carried out as that one.
    Again,
    /// It is the library's.
    Library,
    /// Its site has to be asked.
    Ask,
}

impl Prepared {
    /// The way of the next such call. One of a site that need not be asked is counted by this.
    ///
    /// # Safety
    /// `prepared` is what [`PreparedCalls::find`] found for a call that all ranks of the communicator make.
    #[inline(always)]
    pub(crate) unsafe fn way(prepared: *const Prepared) -> Way {
        // SAFETY: by this function's contract.
        let Some(of_site) = (unsafe { (*prepared).of_site }) else {
            // SAFETY: by this function's contract.
            return if unsafe { (*prepared).row.is_some() } {
                Way::Again
            } else {
                Way::Library
            };
        };
        // SAFETY: a part of the site, which lives as long as the communicator's state.
        let left = unsafe { of_site.left.as_ref() };
        let calls = left.get();
        if calls == 0 {
            return Way::Ask;
        }
        left.set(calls - 1);
        if of_site.arm == Arm::DEFAULT {
            Way::Library
        } else {
            Way::Again
        }
    }

    /// The site that the call belongs to.
    ///
    /// # Safety
    /// `prepared` is what [`PreparedCalls::find`] found, and nothing has happened on the communicator since.
    #[inline]
    pub(crate) unsafe fn of_site(prepared: *const Prepared) -> Option<OfSite> {
        // SAFETY: by this function's contract.
        unsafe { (*prepared).of_site }
    }

    /// Makes the call again with these addresses. Returns the implementation's code, and which it is; `None` for a call of the library's.
    ///
    /// # Safety
    /// `prepared` is what [`PreparedCalls::find`] found for a call with these addresses, made by all ranks of the communicator, on which
    /// no other call is under way.
    #[inline(always)]
    pub(crate) unsafe fn run(
        prepared: *mut Prepared,
        send: *const c_void,
        recv: *mut c_void,
    ) -> Option<(c_int, &'static Implementation)> {
        // SAFETY: a box of the communicator's, which nothing frees or changes while the call is under way.
        unsafe {
            (*prepared).arguments.send = send;
            (*prepared).arguments.recv = recv;
            let row = (*prepared).row?;
            Some((
                (row.run)(row.context, &raw const (*prepared).arguments),
                row.implementation,
            ))
        }
    }
}

/// Calls of one collective that are kept: programs take turns between a few counts.
const WAYS: usize = 4;

/// Those of a communicator.
pub(crate) struct PreparedCalls {
    /// [`WAYS`] for each collective; null or a box.
    places: [Cell<*mut Prepared>; WAYS * Collective::ALL.len()],
}

#[inline(always)]
fn place(collective: Collective, count: i64, root: c_int) -> usize {
    collective as usize * WAYS + (count as usize ^ root as usize) % WAYS
}

/// True if the address that may be `MPI_IN_PLACE` is.
#[inline(always)]
fn is_in_place(collective: Collective, send: *const c_void, recv: *mut c_void) -> bool {
    match collective {
        Collective::Barrier | Collective::Bcast => false,
        Collective::Scatter | Collective::Scatterv => recv.cast_const() == constants::in_place(),
        _ => send == constants::in_place(),
    }
}

impl PreparedCalls {
    /// None yet.
    pub(crate) fn new() -> PreparedCalls {
        PreparedCalls {
            places: [const { Cell::new(ptr::null_mut()) }; WAYS * Collective::ALL.len()],
        }
    }

    /// The call like this one; null where there is none. To be given to [`Prepared::run`] before anything else happens on
    /// the communicator.
    #[inline(always)]
    pub(crate) fn find<N: Number, D: Number>(&self, collective: Collective, given: Given<N, D>) -> *mut Prepared {
        let is = |count: N, known: i64| count.try_into().is_ok_and(|count| count == known);
        let Ok(count) = given.recv_count.try_into() else {
            return ptr::null_mut();
        };
        let found = self.places[place(collective, count, given.root)].get();
        // SAFETY: null or a box of this value's, which is not changed now, as no call is under way on the communicator.
        let Some(prepared) = (unsafe { found.as_ref() }) else {
            return ptr::null_mut();
        };
        let known = &prepared.arguments;
        // Arguments that a function does not have need no comparison.
        let has_sides = collective.has_data() && !collective.has_operator() && collective != Collective::Bcast;
        let is_like = (!collective.has_data() || (count == known.recv_count && given.recv_type == known.recv_type))
            && (!has_sides || (is(given.send_count, known.send_count) && given.send_type == known.send_type))
            && (!collective.has_operator() || given.op == known.op)
            && (!collective.has_root() || given.root == known.root)
            && is_in_place(collective, given.send, given.recv) == prepared.in_place
            // One buffer for both sides of a reduction is looked at anew.
            && (given.send != given.recv.cast_const() || !collective.has_operator());
        if is_like { found } else { ptr::null_mut() }
    }

    /// Keeps the way of a call, if calls with the same arguments are like it.
    ///
    /// # Safety
    /// No other call is under way on the communicator. The context of `row` is the communicator's, and `arguments` name its row with parameters
    /// that live as long as the communicator.
    pub(crate) unsafe fn put(
        &self,
        collective: Collective,
        arguments: &Arguments,
        row: Option<Row>,
        of_site: Option<OfSite>,
    ) {
        let &Arguments {
            send,
            recv,
            send_type,
            recv_type,
            op,
            ..
        } = arguments;
        let has_lists = !arguments.send_counts.is_null() || !arguments.recv_counts.is_null();
        if has_lists || !keeps_type(send_type) || !keeps_type(recv_type) || !keeps_op(op) {
            return;
        }
        let prepared = Prepared {
            arguments: *arguments,
            in_place: is_in_place(collective, send, recv),
            row,
            of_site,
        };
        let kept = &self.places[place(collective, arguments.recv_count, arguments.root)];
        // SAFETY: null or a box of this value's that nobody uses, by this function's contract.
        match unsafe { kept.get().as_mut() } {
            // Its memory serves again: programs that take turns between many counts allocate nothing for it.
            Some(before) => *before = prepared,
            None => kept.set(Box::into_raw(Box::new(prepared))),
        }
    }

    /// True if nothing is kept where a call like this one would be.
    #[inline(always)]
    pub(crate) fn has_room<N: Number, D: Number>(&self, collective: Collective, given: Given<N, D>) -> bool {
        let count = given.recv_count.try_into();
        count.is_ok_and(|count| self.places[place(collective, count, given.root)].get().is_null())
    }

    /// Forgets all.
    ///
    /// # Safety
    /// No other call is under way on the communicator.
    pub(crate) unsafe fn clear(&self) {
        for place in &self.places {
            // SAFETY: as in `put`.
            unsafe { free(place.replace(ptr::null_mut())) };
        }
    }
}

impl Drop for PreparedCalls {
    fn drop(&mut self) {
        // SAFETY: the communicator is being freed.
        unsafe { self.clear() };
    }
}

/// # Safety
/// Null or a box that is used no more.
unsafe fn free(prepared: *mut Prepared) {
    if !prepared.is_null() {
        // SAFETY: by this function's contract.
        drop(unsafe { Box::from_raw(prepared) });
    }
}

/// True if the handle means the same for ever.
pub(crate) fn keeps_type(datatype: MPI_Datatype) -> bool {
    datatype == constants::datatype_null() || layout::is_predefined(datatype)
}

/// True if the handle means the same for ever.
pub(crate) fn keeps_op(op: MPI_Op) -> bool {
    op == constants::op_null() || constants::predefined_ops().contains(&op)
}
