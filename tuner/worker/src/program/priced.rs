//! Programs that measure prices: round trips, and copies and combinations on one rank.

use kilter_mpi::MPI_Comm;
use kilter_protocol::expression::{Single, Term};
use kilter_protocol::task::Functionality;

use super::message::Piece;
use super::step::Step;
use super::{Compiler, void};
use crate::reason::{Reason, Unfit};

impl Compiler<'_> {
    /// A message from rank 0 to the last rank, which sends it back.
    pub(super) fn round_trip(
        &mut self,
        term: &Term,
        piece: &Piece,
        (comm, last): (MPI_Comm, usize),
    ) -> Result<(), Reason> {
        if term.call.attributes.posted || term.call.is_typed() {
            return Err(self.unfit(term, Unfit::RoundTrip));
        }
        if self.problem.rank == 0 {
            let answer = Piece {
                offset: 0,
                count: piece.count,
                datatype: piece.datatype,
            };
            let scratch = self.scratch(self.problem.n_bytes)?;
            let ping = self.message(self.memory.send, piece, last, comm, false);
            let pong = self.message(scratch, &answer, last, comm, false);
            self.steps.push(Step::Message(Single::Send, ping));
            self.steps.push(Step::Message(Single::Recv, pong));
        } else if self.problem.rank == last {
            let message = self.message(self.memory.recv, piece, 0, comm, false);
            self.steps.push(Step::Message(Single::Recv, message));
            self.steps.push(Step::Message(Single::Send, message));
        }
        Ok(())
    }

    /// Rank 0 copies the whole, or combines it with its copy.
    pub(super) fn local(&mut self, single: Single, term: &Term, copied: &mut usize) -> Result<(), Reason> {
        let fits = match self.problem.task.functionality {
            Functionality::Copying => single == Single::Copy,
            Functionality::Combining => true,
            _ => false,
        };
        let bytes = match &term.call.size {
            Some(size) => self.value(size, self.problem.p_ranks)?,
            None => 0,
        };
        let whole = self.problem.n_bytes;
        if !fits || bytes != whole || term.call.is_typed() {
            return Err(self.unfit(term, Unfit::NoWholeCopy));
        }
        if single == Single::Combine && *copied != whole {
            return Err(self.unfit(term, Unfit::NotCopied));
        }
        *copied = if single == Single::Copy { whole } else { 0 };
        if self.problem.rank != 0 {
            return Ok(());
        }
        let (from, to) = (self.memory.send.cast_const(), self.memory.recv);
        if single == Single::Copy {
            self.copy(from, to, bytes);
            return Ok(());
        }
        let (datatype, count) = self.elements(bytes, false)?;
        let op = self.operator(term.call.attributes.user_operator, false)?;
        self.steps.push(Step::Combine {
            from: from.cast(),
            to: void(to),
            count,
            datatype,
            op,
        });
        Ok(())
    }
}
