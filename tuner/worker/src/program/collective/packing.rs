//! Packing and unpacking strided data between two calls.

use kilter_algorithms::{Collective, Shape};
use kilter_protocol::expression::{Layout, Term};

use super::super::step::Step;
use super::super::{Compiler, count, void};
use super::{Data, Held};
use crate::layout::span;
use crate::reason::{Reason, Unfit};

impl Compiler<'_> {
    pub(super) fn pack(&mut self, term: &Term, mut data: Data) -> Result<Data, Reason> {
        let Held::Everyone(shape) = data.held else {
            return Err(self.unfit(term, Unfit::WithLeaders));
        };
        if data.layout == Layout::Contiguous || term.call.attributes.sendtype != data.layout {
            return Err(self.unfit(term, Unfit::NothingToPack(data.layout)));
        }
        self.check_piece_size(term)?;
        let (pieces, bytes) = self.pieces(shape);
        let packed = self.scratch(pieces * bytes)?;
        if bytes > 0 {
            let datatype = self.datatypes.get(data.layout, bytes)?;
            for piece in 0..pieces {
                // SAFETY: both buffers hold that many pieces.
                let (from, to) = unsafe { (data.at.add(piece * span(data.layout, bytes)), packed.add(piece * bytes)) };
                self.steps.push(Step::Pack {
                    from: void(from).cast_const(),
                    datatype,
                    to: void(to),
                    bytes: count(bytes)?,
                    comm: self.memory.comm,
                });
            }
        }
        data.at = packed;
        data.layout = Layout::Contiguous;
        data.packed = true;
        Ok(data)
    }

    pub(super) fn unpack(&mut self, term: &Term, mut data: Data) -> Result<Data, Reason> {
        let layout = self.problem.task.recvtype;
        let Held::Everyone(shape) = data.held else {
            return Err(self.unfit(term, Unfit::WithLeaders));
        };
        if data.layout != Layout::Contiguous || layout == Layout::Contiguous || term.call.attributes.recvtype != layout
        {
            return Err(self.unfit(
                term,
                Unfit::NothingToUnpack {
                    lies: data.layout,
                    shall: layout,
                },
            ));
        }
        self.check_piece_size(term)?;
        let is_bcast_root = self.target() == Collective::Bcast && self.is_root();
        data.layout = layout;
        if is_bcast_root {
            // Its data never left its place.
            data.at = self.memory.recv;
            return Ok(data);
        }
        let (pieces, bytes) = self.pieces(shape);
        if bytes > 0 {
            let datatype = self.datatypes.get(layout, bytes)?;
            for piece in 0..pieces {
                // SAFETY: both buffers hold that many pieces.
                let (from, to) = unsafe {
                    (
                        data.at.add(piece * bytes),
                        self.memory.recv.add(piece * span(layout, bytes)),
                    )
                };
                self.steps.push(Step::Unpack {
                    from: void(from).cast_const(),
                    bytes: count(bytes)?,
                    to: void(to),
                    datatype,
                    comm: self.memory.comm,
                });
            }
        }
        data.at = self.memory.recv;
        Ok(data)
    }

    /// Pieces of data that this rank packs or unpacks: as many as it has blocks, because a type covers a block.
    fn pieces(&self, shape: Shape) -> (usize, usize) {
        let bytes = self.bytes_of(shape);
        let blocks = self.problem.task.functionality.has_blocks() && shape != Shape::Blocks;
        if blocks && bytes > 0 {
            (self.problem.p_ranks, bytes / self.problem.p_ranks)
        } else {
            (1, bytes)
        }
    }

    /// A rank packs its block or the whole volume.
    fn check_piece_size(&self, term: &Term) -> Result<(), Reason> {
        let Some(size) = &term.call.size else { return Ok(()) };
        let value = self.value(size, self.problem.p_ranks)?;
        let (n, block) = (self.problem.n_bytes, self.problem.n_bytes / self.problem.p_ranks);
        if value == n || value == block {
            return Ok(());
        }
        Err(self.unfit(
            term,
            Unfit::NoPiece {
                bytes: value,
                whole: n,
                block,
            },
        ))
    }
}
