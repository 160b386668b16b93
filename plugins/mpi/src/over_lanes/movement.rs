//! Collectives that move data.

use super::{Run, copy};
use crate::error::pmpi;
use crate::{CallArguments, MpiError};

impl Run<'_> {
    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn bcast(&mut self) -> Result<(), MpiError> {
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
                on_node.scatter(given, piece, count)?;
            }
            pmpi!(PMPI_Bcast(piece, count, datatype, on_lane.root, on_lane.comm))?;
            // The root may have its data in memory that nobody may write.
            let is_root = self.is_root();
            let all = if is_root {
                self.scratch(self.padded)?
            } else {
                self.collected()?
            };
            on_node.allgather(piece.cast_const(), all, count)?;
            if !is_root {
                self.deliver(all.cast_const());
            }
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn allgather(&mut self) -> Result<(), MpiError> {
        let send = self.arguments.send;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_lane = self.scratch(share)?;
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            on_lane.allgather(send, of_lane, block)?;
            let all = self.unsorted(true)?;
            on_node.allgather(of_lane.cast_const(), all, share)?;
            self.out_of_order(all.cast_const(), true);
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn scatter(&mut self) -> Result<(), MpiError> {
        let CallArguments { send, recv, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_lane = self.share_with_root(share)?;
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            if self.is_with_root() {
                let given = if self.is_root() {
                    self.in_order(send, true)?
                } else {
                    std::ptr::null()
                };
                on_node.scatter(given, of_lane, share)?;
            }
            on_lane.scatter(of_lane.cast_const(), recv, block)
        }
    }

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn gather(&mut self) -> Result<(), MpiError> {
        let send = self.arguments.send;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_lane = self.share_with_root(share)?;
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            on_lane.gather(send, of_lane, block)?;
            if !self.is_with_root() {
                return Ok(());
            }
            let is_root = self.is_root();
            let all = if is_root {
                self.unsorted(true)?
            } else {
                std::ptr::null_mut()
            };
            on_node.gather(of_lane.cast_const(), all, share)?;
            if is_root {
                self.out_of_order(all.cast_const(), true);
            }
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn alltoall(&mut self) -> Result<(), MpiError> {
        let send = self.arguments.send;
        let (on_node, on_lane) = self.on();
        let (nodes, ranks) = (self.lanes.nodes, self.lanes.ranks_each);
        let (share, block) = self.counts();
        let (on_each_node, bytes) = (self.int(block * ranks)?, block * self.element_bytes);
        let share = self.int(share)?;
        let (mixed, turned) = (self.scratch(self.padded)?, self.scratch(self.padded)?);
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            let given = self.in_order(send, true)?;
            on_node.alltoall(given, mixed, share)?;
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
            on_lane.alltoall(turned.cast_const(), all, on_each_node)?;
            self.out_of_order(all.cast_const(), false);
        }
        Ok(())
    }
}
