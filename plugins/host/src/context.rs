//! A plugin's context on a communicator.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

use kilter_abi::{Arguments, Context, Plugin};
use kilter_mpi::MPI_Comm;

use crate::contexts::Contexts;

/// A context with the scratch that its host keeps for it. Once lent to a plugin it must not move: the context points to what lies
/// beside it, which [`Hosted::lend`] sees to each time.
pub(crate) struct Hosted {
    /// Reached through raw pointers alone, so that a further call of [`Hosted::lend`] ends no pointer that was lent before.
    kept: UnsafeCell<Kept>,
}

struct Kept {
    context: Context,
    host: Beside,
}

/// The data behind `kilter_context.host`.
struct Beside {
    /// Scratch in units of 16 bytes, so that it is aligned for any type.
    scratch: Vec<u128>,
    /// All contexts of the communicator, as long as one of them is lent.
    contexts: *const Contexts,
    /// Calls that are under way around one in this context.
    depth: usize,
}

impl Hosted {
    /// A context for rank `rank` of the `size` ranks of the private communicator `comm`, for calls inside as many others as `depth` says.
    pub(crate) fn new(comm: MPI_Comm, (rank, size): (usize, usize), depth: usize) -> Hosted {
        let context = Context {
            struct_size: size_of::<Context>() as u32,
            rank: i32::try_from(rank).unwrap_or(-1),
            size: i32::try_from(size).unwrap_or(-1),
            reserved: 0,
            comm,
            state: std::ptr::null_mut(),
            host: std::ptr::null_mut(),
            grow: Some(grow),
            call: Some(call),
        };
        let host = Beside {
            scratch: Vec::new(),
            contexts: std::ptr::null(),
            depth,
        };
        Hosted {
            kept: UnsafeCell::new(Kept { context, host }),
        }
    }

    /// The context, for calls one after the other; `contexts` stay where they are until it is lent no more.
    pub(crate) fn lend(&self, contexts: &Contexts) -> *mut Context {
        let kept = self.kept.get();
        // SAFETY: the cell's own memory; no reference to it is ever made.
        unsafe {
            (&raw mut (*kept).host.contexts).write(contexts);
            (&raw mut (*kept).context.host).write((&raw mut (*kept).host).cast());
            &raw mut (*kept).context
        }
    }

    /// Lets the plugin free what it keeps for the communicator.
    ///
    /// # Safety
    /// `plugin` is whose rows ran with this context; no call is under way.
    pub(crate) unsafe fn release(&self, plugin: &Plugin, contexts: &Contexts) {
        let context = self.lend(contexts);
        // SAFETY: the context is valid, and by this function's contract.
        unsafe {
            if let Some(release) = plugin.release
                && !(*context).state.is_null()
            {
                release(context);
            }
        }
    }
}

/// `kilter_context.grow`.
unsafe extern "C" fn grow(context: *mut Context, bytes: usize) -> *mut c_void {
    // SAFETY: by the ABI the context is one that `lend` gave out, whose `host` points to what lies beside it.
    let scratch = unsafe { &mut (*(*context).host.cast::<Beside>()).scratch };
    let units = bytes.div_ceil(size_of::<u128>()).max(1);
    if units > scratch.len() {
        // The old contents need not be kept, so they are not copied.
        scratch.clear();
        if scratch.try_reserve_exact(units).is_err() {
            return std::ptr::null_mut();
        }
        scratch.resize(units, 0);
    }
    scratch.as_mut_ptr().cast()
}

/// `kilter_context.call`.
unsafe extern "C" fn call(context: *mut Context, under_way: *const Arguments, inner: *const Arguments) -> c_int {
    // SAFETY: by the ABI the context is one that `lend` gave out and the arguments are those of calls; all ranks make the same call.
    unsafe {
        let host = (*context).host.cast::<Beside>();
        let (contexts, depth) = (&*(*host).contexts, (*host).depth);
        contexts.inside(depth, &*under_way, &*inner)
    }
}
