//! The messages of an item on this rank: their memory, its contents before, and those that it must have after.

use std::ffi::c_int;

use kilter_algorithms::reference::closed_form::moved;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MpiError, constants};
use kilter_protocol::fault::{Buffer, Fault, Zone};
use mpi::ffi;

use super::calls::Envelope;
use super::flow::Flow;
use crate::buffer::GuardedBuffer;
use crate::buffer::{check_guards, wrong_data};
use crate::problem::{GAP, Wrong};
use crate::reason::{NoOverlap, Reason};

/// A block of the strided type, and from the beginning of one to that of the next, in bytes.
const BLOCK: usize = 32;
const STRIDE: usize = 64;

/// A rank whose sequence has a message that its flows do not have.
const NO_MESSAGE: MpiError = MpiError {
    operation: "a message of the overlap benchmark",
    code: -1,
};

/// Layout of data in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Byte behind byte.
    Contiguous,
    /// A vector of blocks of 32 characters at a stride of 64; a message shorter than a block is one block.
    Strided,
}

impl Form {
    /// Position of byte `i` of the data.
    fn position(self, i: usize) -> usize {
        match self {
            Form::Contiguous => i,
            Form::Strided => i / BLOCK * STRIDE + i % BLOCK,
        }
    }

    /// Bytes that so much data takes.
    fn span(self, bytes: usize) -> usize {
        bytes.checked_sub(1).map_or(0, |last| self.position(last) + 1)
    }

    /// Checks that so many bytes fit the layout: a strided message has blocks of one length.
    pub(super) fn fits(self, bytes: u64) -> Result<(), NoOverlap> {
        let block = BLOCK as u64;
        if self == Form::Contiguous || bytes < block || bytes.is_multiple_of(block) {
            return Ok(());
        }
        Err(NoOverlap::Blocks { bytes, block })
    }
}

/// The messages of an item on this rank.
#[derive(Debug)]
pub(super) struct Messages {
    comm: MPI_Comm,
    rank: usize,
    form: Form,
    /// The vector type of a strided message, made at need.
    vector: Option<Vector>,
    gives: Vec<Piece>,
    gets: Vec<Piece>,
    peers: Vec<usize>,
    send: GuardedBuffer,
    recv: GuardedBuffer,
}

/// A message on this rank; [`Messages::new`] makes buffers in which all of them lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    peer: usize,
    /// Offset in this rank's data, in bytes.
    begin: usize,
    bytes: usize,
    /// Offset in the data of the rank that gives it.
    origin: usize,
}

impl Messages {
    /// Messages of `flows` that this rank sends or receives; a strided one is the only one of its rank.
    ///
    /// # Errors
    /// Why there is no memory or no type.
    pub(super) fn new(comm: MPI_Comm, rank: usize, form: Form, flows: &[Flow]) -> Result<Messages, Reason> {
        let of = |mine: fn(&Flow) -> usize| flows.iter().filter(move |flow| mine(flow) == rank);
        let gives: Vec<Piece> = of(|flow| flow.from)
            .map(|flow| Piece {
                peer: flow.to,
                begin: flow.begin,
                bytes: flow.bytes,
                origin: flow.begin,
            })
            .collect();
        let mut next = 0;
        let gets: Vec<Piece> = of(|flow| flow.to)
            .map(|flow| {
                let begin = next;
                next += flow.bytes;
                Piece {
                    peer: flow.from,
                    begin,
                    bytes: flow.bytes,
                    origin: flow.begin,
                }
            })
            .collect();
        let mut peers: Vec<usize> = gives.iter().chain(&gets).map(|piece| piece.peer).collect();
        peers.sort_unstable();
        peers.dedup();
        let buffer = |pieces: &[Piece]| {
            let bytes = pieces.iter().map(|piece| piece.begin + piece.bytes).max().unwrap_or(0);
            GuardedBuffer::new(form.span(bytes))
        };
        let (send, recv) = (buffer(&gives)?, buffer(&gets)?);
        let whole = gives.iter().chain(&gets).next().filter(|_| form == Form::Strided);
        let vector = whole.map(|piece| Vector::new(piece.bytes)).transpose()?;
        Ok(Messages {
            comm,
            rank,
            form,
            vector,
            gives,
            gets,
            peers,
            send,
            recv,
        })
    }

    /// The communicator of the messages.
    pub(super) fn comm(&self) -> MPI_Comm {
        self.comm
    }

    /// The ranks at the other ends.
    pub(super) fn peers(&self) -> &[usize] {
        &self.peers
    }

    /// The one message that this rank gives, or the first of them.
    ///
    /// # Errors
    /// It gives none: the benchmark's flows are not those of its sequence.
    #[inline]
    pub(super) fn first_given(&self) -> Result<Envelope, MpiError> {
        self.given().next().ok_or(NO_MESSAGE)
    }

    /// The one message that this rank gets, or the first of them.
    #[inline]
    pub(super) fn first_got(&self) -> Result<Envelope, MpiError> {
        self.got().next().ok_or(NO_MESSAGE)
    }

    /// Messages that this rank sends.
    pub(super) fn given(&self) -> impl ExactSizeIterator<Item = Envelope> {
        self.gives.iter().map(|piece| self.envelope(&self.send, piece))
    }

    /// Messages that this rank receives.
    pub(super) fn got(&self) -> impl ExactSizeIterator<Item = Envelope> {
        self.gets.iter().map(|piece| self.envelope(&self.recv, piece))
    }

    #[inline]
    fn envelope(&self, buffer: &GuardedBuffer, piece: &Piece) -> Envelope {
        let (count, datatype) = match &self.vector {
            Some(Vector(datatype)) => (1, *datatype),
            // At most what an int holds: `refusal` has the limit.
            None => (piece.bytes as c_int, constants::byte()),
        };
        // SAFETY: the buffer is as long as its pieces reach.
        let data = unsafe { buffer.pointer().add(self.form.position(piece.begin)) };
        Envelope {
            data: data.cast(),
            count,
            datatype,
            peer: piece.peer as c_int,
            comm: self.comm,
        }
    }

    /// Writes this rank's input, and a wrong byte at every place of its output.
    pub(super) fn fill(&mut self) {
        let Messages {
            rank,
            form,
            gives,
            gets,
            send,
            recv,
            ..
        } = self;
        send.bytes_mut().fill(GAP);
        recv.bytes_mut().fill(GAP);
        for piece in gives {
            for i in piece.begin..piece.begin + piece.bytes {
                send.bytes_mut()[form.position(i)] = moved(*rank, 0, i);
            }
        }
        for piece in gets {
            for i in 0..piece.bytes {
                recv.bytes_mut()[form.position(piece.begin + i)] = !moved(piece.peer, 0, piece.origin + i);
            }
        }
    }

    /// Looks whether everything arrived, and nothing else was written.
    ///
    /// # Errors
    /// The first byte that is wrong.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let rank = self.rank;
        let look = |buffer: &GuardedBuffer, pieces: &[Piece], source: &dyn Fn(&Piece) -> usize| {
            let bytes = buffer.bytes();
            let mut next = 0;
            for piece in pieces {
                for i in 0..piece.bytes {
                    let byte = self.form.position(piece.begin + i);
                    let gap = (next..byte).map(|gap| (gap, GAP));
                    let data = (byte, moved(source(piece), 0, piece.origin + i));
                    for (byte, expected) in gap.chain([data]) {
                        let got = bytes[byte];
                        if got != expected {
                            return Err(Wrong { byte, got, expected });
                        }
                    }
                    next = byte + 1;
                }
            }
            Ok(())
        };
        let within = |buffer| move |wrong| Fault::WrongData(wrong_data(rank, (buffer, Zone::Within), wrong));
        look(&self.recv, &self.gets, &|piece| piece.peer).map_err(within(Buffer::Output))?;
        look(&self.send, &self.gives, &|_| rank).map_err(within(Buffer::Input))?;
        check_guards(rank, &self.send, &self.recv)
    }
}

/// A strided type, freed when it is dropped.
#[derive(Debug)]
struct Vector(MPI_Datatype);

impl Vector {
    /// The type of which one element is so many bytes of data.
    fn new(bytes: usize) -> Result<Vector, MpiError> {
        let length = bytes.min(BLOCK);
        // Ints: there are fewer blocks than bytes.
        let (blocks, length, stride) = ((bytes / length.max(1)) as c_int, length as c_int, STRIDE as c_int);
        let mut datatype = constants::datatype_null();
        // SAFETY: writes one handle; the type is committed before it is used.
        unsafe {
            let code = ffi::PMPI_Type_vector(blocks, length, stride, constants::char(), &raw mut datatype);
            MpiError::check("PMPI_Type_vector", code)?;
            MpiError::check("PMPI_Type_commit", ffi::PMPI_Type_commit(&raw mut datatype))?;
        }
        Ok(Vector(datatype))
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        // SAFETY: made in `new`, while MPI was initialised as it still is; what fails to be freed is lost, no more.
        unsafe { ffi::PMPI_Type_free(&raw mut self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::flow::Extent;
    use super::*;

    fn messages(rank: usize, flows: &[Flow]) -> Messages {
        let mut messages = Messages::new(constants::comm_null(), rank, Form::Contiguous, flows).unwrap();
        messages.fill();
        messages
    }

    /// Carries out all messages by copying.
    fn deliver(ranks: &mut [Messages]) {
        for from in 0..ranks.len() {
            for piece in ranks[from].gives.clone() {
                let data = ranks[from].send.bytes()[piece.begin..][..piece.bytes].to_vec();
                let target = &mut ranks[piece.peer];
                let gets = target.gets.clone();
                let got = gets
                    .iter()
                    .find(|got| (got.peer, got.origin) == (from, piece.origin))
                    .unwrap();
                target.recv.bytes_mut()[got.begin..][..got.bytes].copy_from_slice(&data);
            }
        }
    }

    #[test]
    fn only_what_has_arrived_whole_is_right() {
        let extent = Extent {
            bytes: 1000,
            p_ranks: 4,
            requests: 7,
        };
        for flows in [
            extent.divided(7, 3),
            extent.divided(1, 1),
            vec![extent.whole(3, 0), extent.whole(0, 3)],
        ] {
            let mut ranks: Vec<Messages> = (0..4).map(|rank| messages(rank, &flows)).collect();
            for flow in &flows {
                let error = ranks[flow.to].check().unwrap_err().to_string();
                let expected = format!("wrong data: rank {} byte 0: got ", flow.to);
                assert!(error.starts_with(&expected), "{error}");
            }
            deliver(&mut ranks);
            ranks.iter().for_each(|rank| rank.check().unwrap());
            ranks[3].recv.bytes_mut()[100] ^= 1;
            assert!(ranks[3].check().unwrap_err().to_string().contains("rank 3 byte 100"));
            if let Some(byte) = ranks[0].send.bytes_mut().first_mut() {
                *byte ^= 1;
                assert!(
                    ranks[0]
                        .check()
                        .unwrap_err()
                        .to_string()
                        .contains("rank 0 input byte 0")
                );
            }
        }
    }

    #[test]
    fn strided_data_lies_in_blocks() {
        let form = Form::Strided;
        let places: Vec<usize> = (0..96).map(|i| form.position(i)).collect();
        let expected: Vec<usize> = (0..32).chain(64..96).chain(128..160).collect();
        assert_eq!(places, expected);
        assert_eq!([0, 1, 32, 64, 96].map(|bytes| form.span(bytes)), [0, 1, 32, 96, 160]);
        assert!([0, 1, 31, 32, 100_000].iter().all(|bytes| form.fits(*bytes).is_ok()));
        assert_eq!(
            form.fits(33).unwrap_err().to_string(),
            "33 bytes are no whole number of blocks of 32: measure 32 or 64"
        );
        assert!(Form::Contiguous.fits(33).is_ok());
    }

    #[test]
    fn a_byte_between_the_blocks_is_not_to_be_written() {
        let extent = Extent {
            bytes: 64,
            p_ranks: 2,
            requests: 1,
        };
        // Without MPI there is no type; the data is the same.
        let flows = [extent.whole(0, 1)];
        let mut sender = messages(0, &flows);
        sender.form = Form::Strided;
        sender.send = GuardedBuffer::new(Form::Strided.span(64)).unwrap();
        sender.fill();
        sender.check().unwrap();
        sender.send.bytes_mut()[40] ^= 1;
        assert!(sender.check().unwrap_err().to_string().contains("input byte 40"));
    }
}
