//! The arguments of one collective call: buffers, counts, types and blocks.

use std::ffi::{c_int, c_void};

use kilter_algorithms::{Collective, Shape};
use kilter_mpi::{MPI_Comm, MPI_Datatype, constants};
use kilter_protocol::expression::{Attributes, Counts, Layout, Term};

use super::super::calls::{Blocks, Call};
use super::super::{Compiler, count, void};
use super::{Block, Data};
use crate::reason::{NoProgram, Reason, Unfit};

impl Compiler<'_> {
    /// The block of a rank as this call divides the volume.
    pub(super) fn block_in(&self, term: &Term, rank: usize) -> Block {
        if term.call.attributes.counts == Counts::Root && self.problem.task.counts != Counts::Root {
            let (root, n) = (self.problem.root, self.problem.n_bytes);
            return (if rank > root { n } else { 0 }, if rank == root { n } else { 0 });
        }
        self.problem.block(rank)
    }

    /// A call with all its arguments, equal blocks; see [`Compiler::adjust`] for the others. `blocks` are those of the
    /// communicator's ranks, `place` this rank and the root in it.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the MPI call")]
    pub(super) fn call(
        &mut self,
        term: &Term,
        function: Collective,
        comm: MPI_Comm,
        blocks: &[Block],
        (rank, root): (usize, usize),
        (send, recv): (*mut u8, *mut u8),
        data: &Data,
        as_bytes: bool,
    ) -> Result<Call, Reason> {
        let attributes = term.call.attributes;
        let total: usize = blocks.iter().map(|(_, length)| length).sum();
        let own = blocks[rank].1;
        let Some((input, output)) = Self::shapes(function) else {
            return Err(self.unfit(term, Unfit::NoData));
        };
        let volume = |shape: Shape| match shape {
            Shape::Blocks | Shape::BlocksForEach | Shape::BlocksFromEach => own,
            Shape::AtRoot | Shape::Everywhere if function.has_blocks() => own,
            _ => total.max(if function.has_blocks() { 0 } else { self.problem.n_bytes }),
        };
        let (send_bytes, recv_bytes) = (volume(input), volume(output));
        let combines = function.has_operator();
        let typed = term.call.is_typed() || data.layout != Layout::Contiguous;
        if typed {
            self.check_typed(term, function, data)?;
        }
        let is_bcast_root = function == Collective::Bcast && rank == root;
        // A bitwise OR that only moves data works on bytes, whatever the element is.
        let bytes_only = as_bytes && combines;
        let (send_type, send_count) = self.typed(attributes.sendtype, send_bytes, data.packed, bytes_only)?;
        let recv_layout = if is_bcast_root {
            attributes.sendtype
        } else {
            attributes.recvtype
        };
        let (recv_type, mut recv_count) = self.typed(recv_layout, recv_bytes, data.packed, bytes_only)?;
        if combines && !function.has_blocks() {
            recv_count = send_count;
        }
        let op = if combines {
            self.operator(attributes.user_operator, as_bytes)?
        } else {
            constants::op_null()
        };
        let size = if recv_type == constants::byte()
            || recv_type == constants::packed()
            || recv_layout != Layout::Contiguous
        {
            1
        } else {
            self.problem.operand.bytes() as usize
        };
        let table = Blocks {
            counts: blocks
                .iter()
                .map(|(_, length)| count(length / size))
                .collect::<Result<_, _>>()?,
            begins: blocks
                .iter()
                .map(|(begin, _)| count(begin / size))
                .collect::<Result<_, _>>()?,
        };
        // Bytes of the whole buffer: a rank may have no block of its own and still get those of others.
        let extent = |shape: Shape| {
            if shape == Shape::Blocks {
                own
            } else {
                total.max(send_bytes).max(recv_bytes)
            }
        };
        Ok(Call {
            function,
            comm,
            send: valid(send, extent(input), End::Given).cast_const(),
            send_count,
            send_type,
            recv: if is_bcast_root {
                valid(send, extent(input), End::Given)
            } else {
                valid(recv, extent(output), End::Got)
            },
            recv_count,
            recv_type,
            send_blocks: table.clone(),
            recv_blocks: table,
            op,
            root: root as c_int,
        })
    }

    /// Type and count of so many bytes in a layout.
    fn typed(
        &mut self,
        layout: Layout,
        bytes: usize,
        packed: bool,
        bytes_only: bool,
    ) -> Result<(MPI_Datatype, c_int), Reason> {
        if layout != Layout::Contiguous {
            if bytes == 0 {
                return Ok((constants::byte(), 0));
            }
            let datatype = self.datatypes.get(layout, bytes)?;
            return Ok((datatype, 1));
        }
        if packed {
            return Ok((constants::packed(), count(bytes)?));
        }
        // Data that is only moved keeps the element's type where it can, as an application's would.
        let whole = bytes.is_multiple_of(self.problem.operand.bytes() as usize);
        Ok(self.elements(bytes, bytes_only || !whole)?)
    }

    fn check_typed(&self, term: &Term, function: Collective, data: &Data) -> Result<(), Reason> {
        let attributes: Attributes = term.call.attributes;
        let allowed = matches!(
            function,
            Collective::Bcast | Collective::Gather | Collective::Scatter | Collective::Allgather
        );
        if !allowed {
            return Err(self.unfit(term, Unfit::StridedFunction));
        }
        if attributes.sendtype != data.layout {
            return Err(self.unfit(
                term,
                Unfit::OtherLayout {
                    lies: data.layout,
                    named: attributes.sendtype,
                },
            ));
        }
        Ok(())
    }

    /// The counts that make `Alltoallv` and `Allgatherv` move the wanted data.
    pub(super) fn adjust(
        &self,
        call: &mut Call,
        function: Collective,
        shape: Shape,
        output: Shape,
        blocks: &[Block],
    ) -> Result<(), NoProgram> {
        let (rank, root, p) = (self.problem.rank, self.problem.root, blocks.len());
        if function == Collective::Allgatherv && shape == Shape::AtRoot {
            call.send_count = if rank == root { call.recv_blocks.counts[root] } else { 0 };
            // The one buffer of a broadcast is where the root has its data already.
            if self.target() == Collective::Bcast {
                call.send = constants::in_place();
            }
        }
        if function != Collective::Alltoallv {
            return Ok(());
        }
        let none = || Blocks {
            counts: vec![0; p],
            begins: vec![0; p],
        };
        let own = call.send_blocks.counts[rank];
        match (shape, output) {
            (Shape::Blocks, Shape::AtRoot) => {
                call.send_blocks = none();
                call.send_blocks.counts[root] = own;
                if rank != root {
                    call.recv_blocks = none();
                }
            }
            (Shape::AtRoot, _) => {
                if rank != root {
                    call.send_blocks = none();
                }
                call.recv_blocks = none();
                call.recv_blocks.counts[root] = own;
            }
            (Shape::Blocks, _) => {
                call.send_blocks = Blocks {
                    counts: vec![own; p],
                    begins: vec![0; p],
                };
            }
            _ if self.problem.task.counts != Counts::Uniform => {
                return Err(NoProgram::AlltoallvCounts);
            }
            _ => {}
        }
        Ok(())
    }

    /// `MPI_IN_PLACE` where the standard puts it.
    pub(super) fn set_in_place(&mut self, term: &Term, call: &mut Call, function: Collective) -> Result<(), Reason> {
        let in_place = constants::in_place();
        match function {
            Collective::Gather | Collective::Gatherv => {
                if self.is_root() {
                    call.send = in_place;
                }
            }
            Collective::Scatter | Collective::Scatterv => {
                if self.is_root() {
                    call.recv = in_place.cast_mut();
                }
            }
            Collective::Allgather | Collective::Allgatherv => call.send = in_place,
            _ => {
                return Err(self.unfit(term, Unfit::InPlace));
            }
        }
        Ok(())
    }
}

/// A pointer that is not null even if unused, because some libraries look at it all the same. Input and output get different pointers, because
/// some refuse one buffer for both.
pub(super) fn valid(pointer: *mut u8, bytes: usize, end: End) -> *mut c_void {
    static NOWHERE: [u64; 4] = [0; 4];
    if pointer.is_null() || bytes == 0 {
        // The pointer of an empty buffer may be what a library takes for MPI_IN_PLACE.
        return (&raw const NOWHERE[end as usize]).cast_mut().cast();
    }
    void(pointer)
}

/// End of a call to which a buffer belongs.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Given = 0,
    Got = 2,
}
