//! Collectives decomposed into calls of the library on the nodes and on the lanes (Traeff and Hunold 2020).
//!
//! With `k` ranks on each of `l` nodes, share `j` is what lane `j` carries: of a volume without blocks its `j`-th piece of `n/k`, of blocks
//! those of the lane's ranks, node by node. Blocks in the order of ranks are copied into the order of lanes, or back, where the two differ.
//!
//! * [`movement`]: collectives that move data. [`reductions`]: those that combine it. [`calls`]: the calls of which both are made.

mod calls;
mod movement;
mod reductions;

use std::ffi::{c_int, c_void};

use kilter_algorithms::Collective;

use crate::in_use::InUse;
use crate::lanes::Lanes;
use crate::{CallArguments, MpiError, constants};
use calls::On;

/// True if there is a decomposition of this collective.
pub(crate) fn has(target: Collective) -> bool {
    use Collective::{Allgather, Allreduce, Alltoall, Bcast, Gather, Reduce, ReduceScatterBlock, Scatter};
    matches!(
        target,
        Allgather | Allreduce | Alltoall | Bcast | Gather | Reduce | ReduceScatterBlock | Scatter
    )
}

/// One run on one rank.
pub(crate) struct Run<'a> {
    pub(crate) target: Collective,
    pub(crate) lanes: &'a Lanes,
    pub(crate) arguments: &'a CallArguments,
    pub(crate) rank: usize,
    pub(crate) element_bytes: usize,
    /// Elements, perhaps more than the caller's: a multiple of the ranks.
    pub(crate) padded: usize,
    pub(crate) in_use: InUse<'a>,
}

impl Run<'_> {
    /// Makes all calls.
    ///
    /// # Safety
    /// `self.arguments` are as [`crate::Pipeline::run`] says, of at least one element, and all ranks make this call.
    pub(crate) unsafe fn carry_out(&mut self) -> Result<(), MpiError> {
        // SAFETY: by this function's contract.
        unsafe {
            match self.target {
                Collective::Bcast => self.bcast(),
                Collective::Allgather => self.allgather(),
                Collective::Allreduce => self.allreduce(),
                Collective::Reduce => self.reduce(),
                Collective::ReduceScatterBlock => self.reduce_scatter_block(),
                Collective::Scatter => self.scatter(),
                Collective::Gather => self.gather(),
                Collective::Alltoall => self.alltoall(),
                other => Err(MpiError {
                    operation: other.mpi_name(),
                    code: constants::err_other(),
                }),
            }
        }
    }

    fn total_bytes(&self) -> usize {
        self.padded * self.element_bytes
    }

    /// Elements of a share, and of a rank's block.
    fn counts(&self) -> (usize, usize) {
        let ranks = self.lanes.ranks_each;
        (self.padded / ranks, self.padded / (ranks * self.lanes.nodes))
    }

    /// The node's and the lane's communicator, each with the place of the root.
    fn on(&self) -> (On, On) {
        let root = usize::try_from(self.arguments.root).unwrap_or(0);
        let (node, number) = self.lanes.places.get(root).copied().unwrap_or((0, 0));
        let on = |comm, root: usize| On {
            comm,
            root: c_int::try_from(root).unwrap_or(0),
            datatype: self.arguments.datatype,
        };
        (on(self.lanes.node, number), on(self.lanes.lane, node))
    }

    fn is_root(&self) -> bool {
        usize::try_from(self.arguments.root).is_ok_and(|root| root == self.rank)
    }

    /// True on the ranks of the root's node.
    fn is_with_root(&self) -> bool {
        let (_, on_lane) = self.on();
        usize::try_from(on_lane.root).is_ok_and(|node| node == self.lanes.places[self.rank].0)
    }

    fn scratch(&mut self, elements: usize) -> Result<*mut c_void, MpiError> {
        self.in_use.scratch(elements * self.element_bytes).map(<*mut u8>::cast)
    }

    /// Scratch for the share of this rank's lane on the root's node, null elsewhere.
    fn share_with_root(&mut self, share: usize) -> Result<*mut c_void, MpiError> {
        if self.is_with_root() {
            self.scratch(share)
        } else {
            Ok(std::ptr::null_mut())
        }
    }

    /// A count as the library takes it.
    fn int(&self, elements: usize) -> Result<c_int, MpiError> {
        MpiError::count(self.target.mpi_name(), elements)
    }

    /// `given`, of the caller's number of elements, padded with its first one where that is no multiple of the ranks.
    ///
    /// # Safety
    /// `given` holds the caller's elements, at least one.
    unsafe fn padded(&mut self, given: *const c_void) -> Result<*const c_void, MpiError> {
        if self.padded == self.arguments.count {
            return Ok(given);
        }
        let bytes = (self.arguments.count * self.element_bytes, self.total_bytes());
        // SAFETY: by this function's contract.
        let copy = unsafe { self.in_use.padded(given.cast(), bytes, self.element_bytes) };
        copy.map(<*const u8>::cast)
    }

    /// Place in which the whole volume is collected: with the caller, unless it is padded.
    fn collected(&mut self) -> Result<*mut c_void, MpiError> {
        if self.padded == self.arguments.count {
            return Ok(self.arguments.recv);
        }
        self.scratch(self.padded)
    }

    /// Copies the caller's elements out of what was collected elsewhere.
    ///
    /// # Safety
    /// `data` holds the padded elements, and the caller's output its own.
    unsafe fn deliver(&self, data: *const c_void) {
        let recv = self.arguments.recv;
        if data != recv.cast_const() {
            let bytes = self.arguments.count * self.element_bytes;
            // SAFETY: by this function's contract; scratch is no part of the output.
            unsafe { recv.cast::<u8>().copy_from_nonoverlapping(data.cast(), bytes) };
        }
    }

    /// Blocks of the whole volume, copied from the order of ranks into another one.
    ///
    /// # Safety
    /// `from` holds the whole volume.
    unsafe fn in_order(&mut self, from: *const c_void, by_lane: bool) -> Result<*const c_void, MpiError> {
        let lanes = self.lanes;
        let Some(order) = (if by_lane { &lanes.by_lane } else { &lanes.by_node }) else {
            return Ok(from);
        };
        let bytes = self.counts().1 * self.element_bytes;
        let sorted = self.scratch(self.padded)?;
        for (place, rank) in order.iter().enumerate() {
            // SAFETY: both hold a block of each rank.
            unsafe { copy(from, rank * bytes, sorted, place * bytes, bytes) };
        }
        Ok(sorted.cast_const())
    }

    /// The same into the order of ranks and into the caller's output.
    ///
    /// # Safety
    /// `from` holds the whole volume in the order, and so does the output.
    unsafe fn out_of_order(&mut self, from: *const c_void, by_lane: bool) {
        let lanes = self.lanes;
        let bytes = self.counts().1 * self.element_bytes;
        let order = if by_lane { &lanes.by_lane } else { &lanes.by_node };
        for (place, rank) in order.iter().flatten().enumerate() {
            // SAFETY: both hold a block of each rank.
            unsafe { copy(from, place * bytes, self.arguments.recv, rank * bytes, bytes) };
        }
    }

    /// Scratch for the whole volume where it comes in an order other than that of ranks; else the caller's output.
    fn unsorted(&mut self, by_lane: bool) -> Result<*mut c_void, MpiError> {
        let lanes = self.lanes;
        if (if by_lane { &lanes.by_lane } else { &lanes.by_node }).is_none() {
            return Ok(self.arguments.recv);
        }
        self.scratch(self.padded)
    }
}

/// Copies `bytes` bytes from one place to another.
///
/// # Safety
/// Both are valid for so many bytes from their offsets on and do not overlap.
unsafe fn copy(from: *const c_void, from_offset: usize, to: *mut c_void, to_offset: usize, bytes: usize) {
    // SAFETY: by this function's contract.
    unsafe {
        let (from, to) = (from.cast::<u8>().add(from_offset), to.cast::<u8>().add(to_offset));
        to.copy_from_nonoverlapping(from, bytes);
    }
}
