//! Collectives decomposed into calls of the library on the nodes and on the lanes (Traeff and Hunold 2020).
//!
//! With `k` ranks on each of `l` nodes, share `j` is what lane `j` carries: of a volume without blocks its `j`-th piece of `n/k`, of blocks
//! those of the lane's ranks, node by node. Blocks in the order of ranks are copied into the order of lanes, or back, where the two differ.

use std::ffi::{c_int, c_void};

use kilter_algorithms::Collective;
use mpi_sys::MPI_Comm;

use crate::error::pmpi;
use crate::lanes::Lanes;
use crate::{Arena, CallArguments, MpiError, constants};

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
    pub(crate) arena: &'a mut Arena,
    /// Scratch in use.
    pub(crate) held: Vec<Vec<u8>>,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        for buffer in self.held.drain(..) {
            self.arena.give(buffer);
        }
        self.arena.held = std::mem::take(&mut self.held);
    }
}

/// Communicator of a call, its ranks, and the root's number there.
#[derive(Clone, Copy)]
struct On {
    comm: MPI_Comm,
    root: c_int,
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
        let bytes = elements * self.element_bytes;
        let mut buffer = self.arena.take(bytes).ok_or(MpiError {
            operation: self.target.mpi_name(),
            code: constants::err_no_mem(),
        })?;
        let pointer = buffer.as_mut_ptr();
        self.held.push(buffer);
        Ok(pointer.cast())
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
        let copy = self.scratch(self.padded)?.cast::<u8>();
        let (given, bytes) = (given.cast::<u8>(), self.arguments.count * self.element_bytes);
        // SAFETY: `given` holds the caller's elements by this function's contract, `copy` the padded ones.
        unsafe {
            copy.copy_from_nonoverlapping(given, bytes);
            for at in (bytes..self.total_bytes()).step_by(self.element_bytes.max(1)) {
                copy.add(at).copy_from_nonoverlapping(given, self.element_bytes);
            }
        }
        Ok(copy.cast_const().cast())
    }

    /// Where the whole volume is collected: with the caller, unless it is padded.
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
    unsafe fn into_order(&mut self, from: *const c_void, by_lane: bool) -> Result<*const c_void, MpiError> {
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

    unsafe fn bcast(&mut self) -> Result<(), MpiError> {
        let CallArguments { recv, datatype, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, _) = self.counts();
        let piece = self.scratch(share)?;
        let count = self.int(share)?;
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`; the root's data lies in its output.
        unsafe {
            if self.is_with_root() {
                let given = if self.is_root() {
                    self.padded(recv.cast_const())?
                } else {
                    std::ptr::null()
                };
                let On { comm, root } = on_node;
                pmpi!(PMPI_Scatter(given, count, datatype, piece, count, datatype, root, comm))?;
            }
            pmpi!(PMPI_Bcast(piece, count, datatype, on_lane.root, on_lane.comm))?;
            // The root may have its data in memory that nobody may write.
            let is_root = self.is_root();
            let all = if is_root {
                self.scratch(self.padded)?
            } else {
                self.collected()?
            };
            pmpi!(PMPI_Allgather(
                piece.cast_const(),
                count,
                datatype,
                all,
                count,
                datatype,
                on_node.comm
            ))?;
            if !is_root {
                self.deliver(all.cast_const());
            }
        }
        Ok(())
    }

    unsafe fn allgather(&mut self) -> Result<(), MpiError> {
        let CallArguments { send, datatype, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_lane = self.scratch(share)?;
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: as in `bcast`.
        unsafe {
            pmpi!(PMPI_Allgather(
                send,
                block,
                datatype,
                of_lane,
                block,
                datatype,
                on_lane.comm
            ))?;
            let all = self.unsorted(true)?;
            pmpi!(PMPI_Allgather(
                of_lane.cast_const(),
                share,
                datatype,
                all,
                share,
                datatype,
                on_node.comm
            ))?;
            self.out_of_order(all.cast_const(), true);
        }
        Ok(())
    }

    /// This rank's share of the combination on its node, before and after it is combined over its lane.
    unsafe fn combined(&mut self, everywhere: bool) -> Result<*mut c_void, MpiError> {
        let CallArguments { send, datatype, op, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, _) = self.counts();
        let count = self.int(share)?;
        // SAFETY: as in `bcast`.
        unsafe {
            let given = self.padded(send)?;
            let (of_node, of_all) = (self.scratch(share)?, self.scratch(share)?);
            pmpi!(PMPI_Reduce_scatter_block(
                given,
                of_node,
                count,
                datatype,
                op,
                on_node.comm
            ))?;
            let On { comm, root } = on_lane;
            if everywhere {
                pmpi!(PMPI_Allreduce(of_node.cast_const(), of_all, count, datatype, op, comm))?;
            } else {
                pmpi!(PMPI_Reduce(
                    of_node.cast_const(),
                    of_all,
                    count,
                    datatype,
                    op,
                    root,
                    comm
                ))?;
            }
            Ok(of_all)
        }
    }

    unsafe fn allreduce(&mut self) -> Result<(), MpiError> {
        let datatype = self.arguments.datatype;
        let (on_node, _) = self.on();
        let count = self.int(self.counts().0)?;
        // SAFETY: as in `bcast`.
        unsafe {
            let share = self.combined(true)?;
            let all = self.collected()?;
            pmpi!(PMPI_Allgather(
                share.cast_const(),
                count,
                datatype,
                all,
                count,
                datatype,
                on_node.comm
            ))?;
            self.deliver(all.cast_const());
        }
        Ok(())
    }

    unsafe fn reduce(&mut self) -> Result<(), MpiError> {
        let datatype = self.arguments.datatype;
        let (On { comm, root }, _) = self.on();
        let count = self.int(self.counts().0)?;
        // SAFETY: as in `bcast`.
        unsafe {
            let share = self.combined(false)?;
            if !self.is_with_root() {
                return Ok(());
            }
            let is_root = self.is_root();
            let all = if is_root {
                self.collected()?
            } else {
                std::ptr::null_mut()
            };
            pmpi!(PMPI_Gather(
                share.cast_const(),
                count,
                datatype,
                all,
                count,
                datatype,
                root,
                comm
            ))?;
            if is_root {
                self.deliver(all.cast_const());
            }
        }
        Ok(())
    }

    unsafe fn reduce_scatter_block(&mut self) -> Result<(), MpiError> {
        let CallArguments {
            send,
            recv,
            datatype,
            op,
            ..
        } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_node = self.scratch(share)?;
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: as in `bcast`.
        unsafe {
            let given = self.into_order(send, true)?;
            pmpi!(PMPI_Reduce_scatter_block(
                given,
                of_node,
                share,
                datatype,
                op,
                on_node.comm
            ))?;
            pmpi!(PMPI_Reduce_scatter_block(
                of_node.cast_const(),
                recv,
                block,
                datatype,
                op,
                on_lane.comm
            ))
        }
    }

    unsafe fn scatter(&mut self) -> Result<(), MpiError> {
        let CallArguments {
            send, recv, datatype, ..
        } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_lane = if self.is_with_root() {
            self.scratch(share)?
        } else {
            std::ptr::null_mut()
        };
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: as in `bcast`.
        unsafe {
            if self.is_with_root() {
                let given = if self.is_root() {
                    self.into_order(send, true)?
                } else {
                    std::ptr::null()
                };
                let On { comm, root } = on_node;
                pmpi!(PMPI_Scatter(
                    given, share, datatype, of_lane, share, datatype, root, comm
                ))?;
            }
            let On { comm, root } = on_lane;
            pmpi!(PMPI_Scatter(
                of_lane.cast_const(),
                block,
                datatype,
                recv,
                block,
                datatype,
                root,
                comm
            ))
        }
    }

    unsafe fn gather(&mut self) -> Result<(), MpiError> {
        let CallArguments { send, datatype, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_lane = if self.is_with_root() {
            self.scratch(share)?
        } else {
            std::ptr::null_mut()
        };
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: as in `bcast`.
        unsafe {
            let On { comm, root } = on_lane;
            pmpi!(PMPI_Gather(send, block, datatype, of_lane, block, datatype, root, comm))?;
            if !self.is_with_root() {
                return Ok(());
            }
            let is_root = self.is_root();
            let all = if is_root {
                self.unsorted(true)?
            } else {
                std::ptr::null_mut()
            };
            let On { comm, root } = on_node;
            pmpi!(PMPI_Gather(
                of_lane.cast_const(),
                share,
                datatype,
                all,
                share,
                datatype,
                root,
                comm
            ))?;
            if is_root {
                self.out_of_order(all.cast_const(), true);
            }
        }
        Ok(())
    }

    unsafe fn alltoall(&mut self) -> Result<(), MpiError> {
        let CallArguments { send, datatype, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (nodes, ranks) = (self.lanes.nodes, self.lanes.ranks_each);
        let (share, block) = self.counts();
        let (on_each_node, bytes) = (self.int(block * ranks)?, block * self.element_bytes);
        let share = self.int(share)?;
        let (mixed, turned) = (self.scratch(self.padded)?, self.scratch(self.padded)?);
        // SAFETY: as in `bcast`.
        unsafe {
            let given = self.into_order(send, true)?;
            pmpi!(PMPI_Alltoall(
                given,
                share,
                datatype,
                mixed,
                share,
                datatype,
                on_node.comm
            ))?;
            // From each rank of the node, a block for each node; then for each node, a block from each rank.
            for from in 0..ranks {
                for to in 0..nodes {
                    let (here, there) = ((from * nodes + to) * bytes, (to * ranks + from) * bytes);
                    copy(mixed.cast_const(), here, turned, there, bytes);
                }
            }
            let all = if self.lanes.by_node.is_some() {
                mixed
            } else {
                self.arguments.recv
            };
            let comm = on_lane.comm;
            pmpi!(PMPI_Alltoall(
                turned.cast_const(),
                on_each_node,
                datatype,
                all,
                on_each_node,
                datatype,
                comm
            ))?;
            self.out_of_order(all.cast_const(), false);
        }
        Ok(())
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
