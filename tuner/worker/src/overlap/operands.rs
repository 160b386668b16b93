//! Operands of a non-blocking collective on this rank.

use std::ffi::{c_int, c_void};

use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op};
use kilter_protocol::fault::{Buffer, Fault, Zone};
use kilter_protocol::plan::Element;

use crate::buffer::GuardedBuffer;
use crate::buffer::{check_guards, wrong_data};
use crate::implementation::check_blocks;
use crate::place::Place;
use crate::problem::Problem;
use crate::program::datatypes;
use crate::reason::Reason;

/// Arguments of a call; those that its function does not take are not looked at.
#[derive(Debug)]
pub(super) struct Operands {
    /// A communicator of all ranks.
    pub(super) comm: MPI_Comm,
    /// Elements: of all, or of a rank's block where the volume is divided.
    pub(super) count: c_int,
    /// Type of the elements.
    pub(super) datatype: MPI_Datatype,
    /// Operator that combines them.
    pub(super) op: MPI_Op,
    problem: Problem,
    send: GuardedBuffer,
    recv: GuardedBuffer,
}

impl Operands {
    /// Operands of `collective` with a total volume of `bytes`, from or to rank 0 if there is a root. Volumes that are no whole number of
    /// elements are bytes.
    ///
    /// # Errors
    /// A volume that cannot be divided, or for which there is no memory.
    pub(super) fn new(
        comm: MPI_Comm,
        collective: Collective,
        bytes: u64,
        mut place: Place,
    ) -> Result<Operands, Reason> {
        if !bytes.is_multiple_of(place.operand.bytes()) {
            place.operand = Element::Byte.into();
        }
        let operand = place.operand;
        check_blocks(bytes, collective.has_blocks(), place)?;
        let problem = Problem::new(collective.into(), bytes, place, 0)?;
        let divided = collective.has_blocks();
        let (unit, parts) = if divided {
            (1, place.p_ranks)
        } else {
            (operand.bytes() as usize, 1)
        };
        Ok(Operands {
            comm,
            // `Problem::new` has found that an int holds all of them.
            count: (problem.n_bytes / unit / parts) as c_int,
            datatype: datatypes::element_type(if divided { Element::Byte } else { operand.element }),
            op: datatypes::operator(operand.operator),
            send: GuardedBuffer::new(problem.send_bytes())?,
            recv: GuardedBuffer::new(problem.recv_bytes())?,
            problem,
        })
    }

    /// Address of this rank's input.
    pub(super) fn send(&self) -> *const c_void {
        self.send.pointer().cast_const().cast()
    }

    /// Address of this rank's output; the only buffer of a broadcast.
    pub(super) fn recv(&self) -> *mut c_void {
        self.recv.pointer().cast()
    }

    /// Writes inputs, and outputs that are wrong.
    pub(super) fn fill(&mut self) {
        self.problem.fill_send(self.send.bytes_mut());
        self.problem.fill_recv(self.recv.bytes_mut());
    }

    /// Looks whether the output is right and nothing else was written.
    ///
    /// # Errors
    /// The first byte that is wrong.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let rank = self.problem.rank;
        let within = |buffer, wrong| Fault::WrongData(wrong_data(rank, (buffer, Zone::Within), wrong));
        if let Some(wrong) = self.problem.check_recv(self.recv.bytes()) {
            return Err(within(Buffer::Output, wrong));
        }
        if let Some(wrong) = self.problem.check_send(self.send.bytes()) {
            return Err(within(Buffer::Input, wrong));
        }
        check_guards(rank, &self.send, &self.recv)
    }
}

#[cfg(test)]
mod tests {
    use kilter_mpi::constants;

    use super::*;

    fn operands(collective: Collective, bytes: u64, element: Element) -> Result<Operands, Reason> {
        let place = Place {
            rank: 1,
            p_ranks: 4,
            one_node: true,
            root: 0,
            operand: element.into(),
        };
        Operands::new(constants::comm_null(), collective, bytes, place)
    }

    #[test]
    fn counts_are_elements_of_the_whole_or_bytes_of_a_block() {
        let count = |collective, bytes, element| operands(collective, bytes, element).unwrap().count;
        assert_eq!(count(Collective::Allreduce, 100, Element::Float), 25);
        assert_eq!(count(Collective::Allreduce, 101, Element::Float), 101);
        assert_eq!(count(Collective::Bcast, 0, Element::Byte), 0);
        assert_eq!(count(Collective::Allgather, 100, Element::Double), 25);
        assert_eq!(count(Collective::Alltoall, 100, Element::Float), 25);
        let error = operands(Collective::Alltoall, 101, Element::Byte)
            .unwrap_err()
            .to_string();
        assert!(error.contains("101 bytes cannot be divided into 4 blocks"), "{error}");
    }

    #[test]
    fn what_no_call_has_written_is_wrong() {
        for collective in [
            Collective::Bcast,
            Collective::Allreduce,
            Collective::Allgather,
            Collective::Alltoall,
        ] {
            let mut operands = operands(collective, 64, Element::Byte).unwrap();
            operands.fill();
            assert!(
                operands
                    .check()
                    .unwrap_err()
                    .to_string()
                    .starts_with("wrong data: rank 1 byte 0")
            );
        }
    }
}
