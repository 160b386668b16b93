//! A plugin's context on a communicator.

use std::cell::UnsafeCell;
use std::ffi::c_void;

use kilter_abi::{Context, Plugin};
use kilter_mpi::MPI_Comm;

/// A context with the scratch that its host keeps for it. Once lent to a plugin it must not move: the context points to the
/// scratch beside it, which [`Hosted::lend`] sees to each time.
pub struct Hosted {
    /// Reached through raw pointers alone, so that a further call of [`Hosted::lend`] ends no pointer that was lent before.
    kept: UnsafeCell<Kept>,
}

struct Kept {
    context: Context,
    /// Scratch in units of 16 bytes, so that it is aligned for any type.
    scratch: Vec<u128>,
}

impl Hosted {
    /// A context for rank `rank` of the `size` ranks of the private communicator `comm`.
    #[must_use]
    pub fn new(comm: MPI_Comm, rank: usize, size: usize) -> Hosted {
        let context = Context {
            struct_size: size_of::<Context>() as u32,
            rank: i32::try_from(rank).unwrap_or(-1),
            size: i32::try_from(size).unwrap_or(-1),
            reserved: 0,
            comm,
            state: std::ptr::null_mut(),
            host: std::ptr::null_mut(),
            grow: Some(grow),
        };
        Hosted {
            kept: UnsafeCell::new(Kept {
                context,
                scratch: Vec::new(),
            }),
        }
    }

    /// The context, for calls one after the other.
    pub fn lend(&self) -> *mut Context {
        let kept = self.kept.get();
        // SAFETY: the cell's own memory; no reference to it is ever made.
        unsafe {
            (&raw mut (*kept).context.host).write((&raw mut (*kept).scratch).cast());
            &raw mut (*kept).context
        }
    }

    /// Lets the plugin free what it keeps for the communicator.
    ///
    /// # Safety
    /// `plugin` is whose rows ran with this context; no call is under way.
    pub unsafe fn release(&self, plugin: &Plugin) {
        let context = self.lend();
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
    // SAFETY: by the ABI the context is one that `lend` gave out, whose `host` points to its scratch.
    let scratch = unsafe { &mut *(*context).host.cast::<Vec<u128>>() };
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
