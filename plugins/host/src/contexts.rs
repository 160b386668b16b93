//! The contexts of plugins on one communicator, and calls as they are deployed there.
//!
//! A row that is made of collectives asks its host for them (`kilter_context.call`). While it waits, its plugin's state is in use. So calls
//! inside others run in contexts of their own, one for each plugin and depth, which are made when they are first needed.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use kilter_abi::{Algorithm, Arguments, Context, Plugin, UNAVAILABLE};
use kilter_algorithms::Collective;
use kilter_mpi::MPI_Comm;

use crate::context::Hosted;
use crate::plugins::Callable;
use crate::{numbers, suits};

/// Calls inside a call inside a call: so many at most. What lies deeper is the library's.
pub const MOST_INSIDE: usize = 4;

/// The deployment on a communicator, the same on all its ranks.
pub trait Deployed {
    /// The row for calls of this collective with this total volume in bytes, which is 0 where not every rank knows it. `None`: the library's own
    /// runs.
    fn row(&self, collective: Collective, bytes: u64) -> Option<Chosen<'_>>;
}

/// A row that is deployed.
#[derive(Clone, Copy)]
pub struct Chosen<'d> {
    /// The row.
    pub callable: &'d Callable,
    /// Place of its plugin among those of [`Contexts::new`].
    pub plugin: usize,
    /// One value for each of its parameters.
    pub parameters: &'d [u64],
    /// Counts its calls inside others, if somebody wants to know.
    pub calls: Option<&'d AtomicU64>,
}

/// The library's own collectives alone.
pub struct Nothing;

impl Deployed for Nothing {
    fn row(&self, _: Collective, _: u64) -> Option<Chosen<'_>> {
        None
    }
}

/// A communicator as rows see it.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// The private communicator.
    pub comm: MPI_Comm,
    /// This rank.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// True if all of them are on one node.
    pub one_node: bool,
}

/// The contexts of some plugins on one communicator, for calls one after the other. Once one was lent, they must not move.
pub struct Contexts {
    group: Group,
    plugins: Box<[&'static Plugin]>,
    /// By depth, then by plugin.
    levels: [OnceCell<Box<[Hosted]>>; 1 + MOST_INSIDE],
    deployed: Box<dyn Deployed>,
    /// Collective and volume of the calls under way, by depth.
    under_way: [Cell<(u32, u64)>; 1 + MOST_INSIDE],
    /// Rows that said, on all ranks, that they cannot run inside others on this communicator.
    unavailable: RefCell<Vec<*const Algorithm>>,
}

impl Contexts {
    /// Those of these plugins.
    #[must_use]
    pub fn new(
        group: Group,
        plugins: impl IntoIterator<Item = &'static Plugin>,
        deployed: Box<dyn Deployed>,
    ) -> Contexts {
        Contexts {
            group,
            plugins: plugins.into_iter().collect(),
            levels: [const { OnceCell::new() }; 1 + MOST_INSIDE],
            deployed,
            under_way: [const { Cell::new((u32::MAX, 0)) }; 1 + MOST_INSIDE],
            unavailable: RefCell::default(),
        }
    }

    /// The context of a plugin for a call that is inside no other; `None` if there is no such plugin.
    pub fn lend(&self, plugin: usize) -> Option<*mut Context> {
        self.at(0, plugin)
    }

    fn at(&self, depth: usize, plugin: usize) -> Option<*mut Context> {
        let Group { comm, rank, size, .. } = self.group;
        let make = || {
            let each = self.plugins.iter();
            each.map(|_| Hosted::new(comm, (rank, size), depth)).collect()
        };
        let level = self.levels.get(depth)?.get_or_init(make);
        level.get(plugin).map(|hosted| hosted.lend(self))
    }

    /// Carries out a call that is inside no other, as it is deployed; [`UNAVAILABLE`] on all ranks alike: the library shall do it.
    ///
    /// # Safety
    /// The arguments are those of a valid call, which all ranks of the communicator make.
    pub unsafe fn call(&self, arguments: &Arguments) -> c_int {
        // SAFETY: by this function's contract.
        unsafe { self.run(0, arguments) }
    }

    /// Carries out a call inside one that is under way at this depth.
    ///
    /// # Safety
    /// As for [`Contexts::call`].
    pub(crate) unsafe fn inside(&self, depth: usize, under_way: &Arguments, inner: &Arguments) -> c_int {
        let Some(place) = self.under_way.get(depth) else {
            return UNAVAILABLE;
        };
        place.set((under_way.collective, under_way.bytes));
        let asked = (inner.collective, inner.bytes);
        // A row that comes to its own call again would never end.
        if depth >= MOST_INSIDE || self.under_way[..=depth].iter().any(|call| call.get() == asked) {
            return UNAVAILABLE;
        }
        // SAFETY: by this function's contract.
        unsafe { self.run(depth + 1, inner) }
    }

    /// # Safety
    /// As for [`Contexts::call`].
    unsafe fn run(&self, depth: usize, arguments: &Arguments) -> c_int {
        let Some(collective) = numbers::collective(arguments.collective) else {
            return UNAVAILABLE;
        };
        // Calls that move no data are the library's.
        if collective.volume_is_known() && arguments.bytes == 0 {
            return UNAVAILABLE;
        }
        let Some(chosen) = self.deployed.row(collective, arguments.bytes) else {
            return UNAVAILABLE;
        };
        let algorithm: *const Algorithm = chosen.callable.algorithm;
        let Group { size, one_node, .. } = self.group;
        if !suits(chosen.callable.row.needs, collective, arguments, (size, one_node))
            || self.unavailable.borrow().contains(&algorithm)
        {
            return UNAVAILABLE;
        }
        let Some(context) = self.at(depth, chosen.plugin) else {
            return UNAVAILABLE;
        };
        let arguments = Arguments {
            struct_size: size_of::<Arguments>() as u32,
            algorithm,
            parameters: chosen.parameters.as_ptr(),
            ..*arguments
        };
        // SAFETY: context and arguments are as the ABI says, by this function's contract; all ranks decide alike, so all come here.
        let code = unsafe { (chosen.callable.run)(context, ptr::from_ref(&arguments)) };
        if code == UNAVAILABLE {
            self.unavailable.borrow_mut().push(algorithm);
        } else if let Some(calls) = chosen.calls {
            calls.fetch_add(1, Ordering::Relaxed);
        }
        code
    }

    /// Lets plugins free what they keep for the communicator. All its ranks do so together, in the order of depths.
    ///
    /// # Safety
    /// No call is under way.
    pub unsafe fn release(&self) {
        for level in self.levels.iter().filter_map(OnceCell::get) {
            for (hosted, plugin) in level.iter().zip(&self.plugins) {
                // SAFETY: only rows of this plugin ran with the context; by this function's contract.
                unsafe { hosted.release(plugin, self) };
            }
        }
    }
}
