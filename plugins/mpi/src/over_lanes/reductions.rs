//! Collectives that combine data.

use std::ffi::c_void;

use super::Run;
use super::calls::On;
use crate::error::pmpi;
use crate::{CallArguments, MpiError};

impl Run<'_> {
    /// This rank's share of the combination on its node, before and after it is combined over its lane.
    ///
    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn combined(&mut self, everywhere: bool) -> Result<*mut c_void, MpiError> {
        let CallArguments { send, datatype, op, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, _) = self.counts();
        let count = self.int(share)?;
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            let given = self.padded(send)?;
            let (of_node, of_all) = (self.scratch(share)?, self.scratch(share)?);
            on_node.reduce_scatter_block(given, of_node, count, op)?;
            let (of_node, On { comm, root, .. }) = (of_node.cast_const(), on_lane);
            if everywhere {
                pmpi!(PMPI_Allreduce(of_node, of_all, count, datatype, op, comm))?;
            } else {
                pmpi!(PMPI_Reduce(of_node, of_all, count, datatype, op, root, comm))?;
            }
            Ok(of_all)
        }
    }

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn allreduce(&mut self) -> Result<(), MpiError> {
        let (on_node, _) = self.on();
        let count = self.int(self.counts().0)?;
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            let share = self.combined(true)?;
            let all = self.collected()?;
            on_node.allgather(share.cast_const(), all, count)?;
            self.deliver(all.cast_const());
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn reduce(&mut self) -> Result<(), MpiError> {
        let (on_node, _) = self.on();
        let count = self.int(self.counts().0)?;
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
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
            on_node.gather(share.cast_const(), all, count)?;
            if is_root {
                self.deliver(all.cast_const());
            }
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Run::carry_out`].
    pub(super) unsafe fn reduce_scatter_block(&mut self) -> Result<(), MpiError> {
        let CallArguments { send, recv, op, .. } = *self.arguments;
        let (on_node, on_lane) = self.on();
        let (share, block) = self.counts();
        let of_node = self.scratch(share)?;
        let (share, block) = (self.int(share)?, self.int(block)?);
        // SAFETY: buffers are as long as the calls want, by the contract of `carry_out`.
        unsafe {
            let given = self.in_order(send, true)?;
            on_node.reduce_scatter_block(given, of_node, share, op)?;
            on_lane.reduce_scatter_block(of_node.cast_const(), recv, block, op)
        }
    }
}
