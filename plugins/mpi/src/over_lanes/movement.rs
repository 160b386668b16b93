//! Collectives that move data.

use super::{On, Run, copy};
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

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn allgather(&mut self) -> Result<(), MpiError> {
        let CallArguments { send, datatype, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_lane = self.scratch(share)?;
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
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

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn scatter(&mut self) -> Result<(), MpiError> {
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
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            if self.is_with_root() {
                let given = if self.is_root() {
                    self.in_order(send, true)?
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

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn gather(&mut self) -> Result<(), MpiError> {
        let CallArguments { send, datatype, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_lane = if self.is_with_root() {
            self.scratch(share)?
        } else {
            std::ptr::null_mut()
        };
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
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

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn alltoall(&mut self) -> Result<(), MpiError> {
        let CallArguments { send, datatype, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (nodes, ranks) = (self.lanes.nodes, self.lanes.ranks_each);
        let (share, block) = self.counts();
        let (on_each_node, bytes) = (self.int(block * ranks)?, block * self.element_bytes);
        let share = self.int(share)?;
        let (mixed, turned) = (self.scratch(self.padded)?, self.scratch(self.padded)?);
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            let given = self.in_order(send, true)?;
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
