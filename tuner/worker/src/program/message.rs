//! Sides that are no collective's: messages from rank 0 to the last, exchanges along a ring, packing, barriers.

use kilter_algorithms::Collective;
use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MPI_Datatype, constants};
use kilter_protocol::expression::{self, Communicator, Form, Layout, Operation, Single, Term};
use kilter_protocol::task::Functionality;

use super::calls::{Blocks, Call};
use super::step::{Message, Step};
use super::{Compiler, count, groups, void};
use crate::layout::span;
use crate::reason::{NoProgram, Reason, Unfit};

/// Data of one call inside the whole: its offset in the buffer, elements and type.
pub(super) struct Piece {
    pub(super) offset: usize,
    pub(super) count: c_int,
    pub(super) datatype: MPI_Datatype,
}

impl Compiler<'_> {
    /// Barriers on all ranks and on parts of them.
    pub(super) fn barrier(&mut self) -> Result<(), Reason> {
        for term in &self.side.terms {
            match &term.call.operation {
                Operation::Collective(Some(Collective::Barrier), form) => self.barrier_on(term.call.on, *form)?,
                Operation::Single(Single::Wait) => self.steps.push(Step::WaitAll),
                _ => return Err(self.unfit(term, Unfit::NoBarrier)),
            }
        }
        Ok(())
    }

    /// A barrier on one communicator, where this rank is in it.
    pub(super) fn barrier_on(&mut self, on: Communicator, form: Form) -> Result<(), Reason> {
        let comm = match self.groups.find(on) {
            None => self.memory.comm,
            Some(group) => group.comm,
        };
        if comm == constants::comm_null() {
            return Ok(());
        }
        let (nothing, byte) = (std::ptr::null_mut::<std::ffi::c_void>(), constants::byte());
        let call = Call {
            function: Collective::Barrier,
            comm,
            send: nothing.cast_const(),
            send_count: 0,
            send_type: byte,
            recv: nothing,
            recv_count: 0,
            recv_type: byte,
            send_blocks: Blocks::default(),
            recv_blocks: Blocks::default(),
            op: constants::op_null(),
            root: 0,
        };
        self.push_call(call, form)
    }

    /// Adds a collective in its form.
    pub(super) fn push_call(&mut self, call: Call, form: Form) -> Result<(), Reason> {
        match form {
            Form::Blocking => self.steps.push(Step::Collective(Box::new(call))),
            Form::Nonblocking => {
                let request = self.request();
                self.steps.push(Step::Start(Box::new(call), request));
            }
            Form::Persistent => {
                Call::check_persistent(call.function)?;
                let request = self.request();
                self.persistent.push((request, call));
                self.steps.push(Step::StartPersistent(request));
            }
        }
        Ok(())
    }

    /// Says why a term cannot stand where it does.
    pub(super) fn unfit(&self, term: &Term, why: Unfit) -> Reason {
        Reason::Program(NoProgram::Unfit {
            side: self.side.to_string(),
            term: term.to_string(),
            why,
        })
    }

    /// Transfers, exchanges, packing.
    pub(super) fn messages(&mut self) -> Result<(), Reason> {
        let (mut given, mut got) = (0, 0);
        let mut waits = false;
        for (i, term) in self.side.terms.iter().enumerate() {
            let Operation::Single(single) = term.call.operation else {
                return Err(self.unfit(term, Unfit::NoMessage));
            };
            let repeat = self.value(&term.repeat, self.problem.p_ranks)?;
            if repeat > super::MAX_STEPS {
                return Err(self.unfit(term, Unfit::ManyCalls));
            }
            for _ in 0..repeat {
                match single {
                    Single::Wait => self.steps.push(Step::WaitAll),
                    Single::Fence => self.steps.push(Step::Fence),
                    Single::Pack | Single::Unpack => self.copy_piece(single, term, &mut given, &mut got)?,
                    Single::Copy | Single::Combine => self.local(single, term, &mut got)?,
                    Single::Put | Single::Get => self.one_sided(single, term, &mut given)?,
                    _ if self.problem.task.functionality == Functionality::Transfer => {
                        self.transfer(single, term, &mut given)?;
                    }
                    _ => self.exchange(single, term, (&mut given, &mut got))?,
                }
            }
            let starts = matches!(single, Single::Isend | Single::Irecv);
            waits |= starts;
            if single == Single::Wait {
                waits = false;
            }
            let blocks_first = single == Single::Send || single == Single::Ssend;
            let has_receive = |single: Single| matches!(single, Single::Recv | Single::Irecv);
            let receives_before = self.side.terms[..i]
                .iter()
                .any(|term| matches!(term.call.operation, Operation::Single(single) if has_receive(single)));
            if self.problem.task.functionality == Functionality::Exchange && blocks_first && !receives_before {
                return Err(self.unfit(term, Unfit::ReceivedLater));
            }
        }
        if waits {
            return Err(NoProgram::MissingWait(self.side.to_string()).into());
        }
        Ok(())
    }

    /// The next piece of the data: after the last one, beginning anew behind the end.
    fn piece(&mut self, term: &Term, layout: Layout, cursor: &mut usize) -> Result<Piece, Reason> {
        let Some(size) = &term.call.size else {
            return Err(self.unfit(term, Unfit::NoSize));
        };
        let bytes = self.value(size, self.problem.p_ranks)?;
        let whole = self.problem.n_bytes;
        if bytes > whole {
            return Err(self.unfit(term, Unfit::MoreThanAll));
        }
        let contiguous = layout == Layout::Contiguous;
        if !contiguous && bytes != whole {
            return Err(self.unfit(term, Unfit::PieceOfStrided));
        }
        if *cursor + bytes > whole {
            *cursor = 0;
        }
        let offset = *cursor;
        *cursor += bytes;
        let (datatype, count) = if contiguous {
            self.elements(bytes, true)?
        } else if bytes == 0 {
            (constants::byte(), 0)
        } else {
            let made = self.datatypes.get(layout, bytes)?;
            (made, 1)
        };
        Ok(Piece {
            offset,
            count,
            datatype,
        })
    }

    pub(super) fn message(
        &mut self,
        buffer: *mut u8,
        piece: &Piece,
        peer: usize,
        comm: MPI_Comm,
        request: bool,
    ) -> Message {
        let request = if request { self.request() } else { 0 };
        Message {
            // SAFETY: the piece lies inside the buffer.
            data: void(unsafe { buffer.add(piece.offset) }),
            count: piece.count,
            datatype: piece.datatype,
            peer: peer as c_int,
            comm,
            request,
        }
    }

    /// Rank 0 sends, the last rank receives.
    fn transfer(&mut self, single: Single, term: &Term, cursor: &mut usize) -> Result<(), Reason> {
        let (mut comm, last) = (self.memory.comm, self.problem.p_ranks - 1);
        let attributes = term.call.attributes;
        let is_sender = self.problem.rank == 0;
        if last == 0 {
            return Err(self.unfit(term, Unfit::OneRank));
        }
        if term.call.on != self.side.head().on {
            return Err(self.unfit(term, Unfit::OtherPair));
        }
        // The problem is that of the pair: a rank outside is neither the first nor the last.
        if let Some(pair) = self.groups.find(term.call.on) {
            comm = pair.comm;
        }
        if !matches!(
            single,
            Single::Send | Single::Ssend | Single::Rsend | Single::Isend | Single::Pingpong
        ) {
            return Err(self.unfit(term, Unfit::NoTransfer));
        }
        if single == Single::Rsend && !attributes.posted {
            return Err(self.unfit(term, Unfit::NotPosted));
        }
        let layout = if is_sender {
            attributes.sendtype
        } else {
            attributes.recvtype
        };
        let piece = self.piece(term, layout, cursor)?;
        if single == Single::Pingpong {
            return self.round_trip(term, &piece, (comm, last));
        }
        if is_sender {
            if attributes.posted {
                self.steps.push(Step::Ready {
                    says: false,
                    peer: last as c_int,
                    comm,
                });
            }
            let message = self.message(self.memory.send, &piece, last, comm, single == Single::Isend);
            self.steps.push(Step::Message(single, message));
        } else if self.problem.rank == last {
            // Algorithms as well receive messages together on a pair if they start them together.
            let on_pair = matches!(term.call.on, Communicator::Pair(..));
            let together = single == Single::Isend && on_pair && !attributes.posted;
            let message = self.message(self.memory.recv, &piece, 0, comm, attributes.posted || together);
            if together {
                self.steps.push(Step::Message(Single::Irecv, message));
            } else if attributes.posted {
                self.steps.push(Step::Message(Single::Irecv, message));
                self.steps.push(Step::Ready {
                    says: true,
                    peer: 0,
                    comm,
                });
                self.steps.push(Step::WaitAll);
            } else {
                self.steps.push(Step::Message(Single::Recv, message));
            }
        }
        Ok(())
    }

    /// Every rank sends to its right neighbour and receives from its left one.
    fn exchange(&mut self, single: Single, term: &Term, (given, got): (&mut usize, &mut usize)) -> Result<(), Reason> {
        let (p_ranks, rank) = (self.problem.p_ranks, self.problem.rank);
        let (mut comm, mut left, mut right) = (self.memory.comm, (rank + p_ranks - 1) % p_ranks, (rank + 1) % p_ranks);
        if let Some(group) = self.groups.find(term.call.on) {
            if group.members.len() != p_ranks {
                return Err(self.unfit(term, Unfit::PartOfRing));
            }
            comm = group.comm;
            (left, right) = ((group.rank + p_ranks - 1) % p_ranks, (group.rank + 1) % p_ranks);
            if matches!(term.call.on, Communicator::Grid | Communicator::GridReordered) {
                // SAFETY: this communicator was made as a grid.
                (left, right) = unsafe { groups::neighbours(comm) }?;
            }
        }
        let attributes = term.call.attributes;
        let sends = matches!(
            single,
            Single::Send | Single::Ssend | Single::Rsend | Single::Isend | Single::Sendrecv
        );
        let receives = matches!(single, Single::Recv | Single::Irecv | Single::Sendrecv);
        let asynchronous = matches!(single, Single::Isend | Single::Irecv);
        let mut send = None;
        if sends {
            let piece = self.piece(term, attributes.sendtype, given)?;
            send = Some(self.message(self.memory.send, &piece, right, comm, asynchronous));
        }
        let mut recv = None;
        if receives {
            let piece = self.piece(term, attributes.recvtype, got)?;
            recv = Some(self.message(self.memory.recv, &piece, left, comm, asynchronous));
        }
        self.steps.push(match (send, recv) {
            (Some(send), Some(recv)) => Step::Sendrecv(send, recv),
            (Some(message), None) | (None, Some(message)) => Step::Message(single, message),
            (None, None) => return Err(self.unfit(term, Unfit::NothingMoved)),
        });
        Ok(())
    }

    /// Rank 0 puts into the last rank's window, or the last rank gets from rank 0's.
    fn one_sided(&mut self, single: Single, term: &Term, cursor: &mut usize) -> Result<(), Reason> {
        if self.problem.task.functionality != Functionality::Transfer || self.problem.p_ranks < 2 {
            return Err(self.unfit(term, Unfit::OneSided));
        }
        let (rank, last) = (self.problem.rank, self.problem.p_ranks - 1);
        let piece = self.piece(term, Layout::Contiguous, cursor)?;
        let (origin, target, buffer) = if single == Single::Put {
            (0, last, self.memory.send)
        } else {
            (last, 0, self.memory.recv)
        };
        if rank == target {
            let exposed = if single == Single::Put {
                self.memory.recv
            } else {
                self.memory.send
            };
            self.window = Some((exposed, self.problem.n_bytes));
        }
        if rank == origin {
            let message = self.message(buffer, &piece, target, self.memory.comm, false);
            self.steps.push(Step::OneSided(single, message, piece.offset as _));
        }
        Ok(())
    }

    /// Packs or unpacks the next part of the data.
    fn copy_piece(
        &mut self,
        single: Single,
        term: &Term,
        strided: &mut usize,
        contiguous: &mut usize,
    ) -> Result<(), Reason> {
        let attributes: expression::Attributes = term.call.attributes;
        let packs = single == Single::Pack;
        let fits = self.problem.task.functionality
            == if packs {
                Functionality::Packing
            } else {
                Functionality::Unpacking
            };
        let layout = if packs {
            attributes.sendtype
        } else {
            attributes.recvtype
        };
        if !fits || layout == Layout::Contiguous {
            return Err(self.unfit(term, Unfit::NotStrided));
        }
        let bytes = match &term.call.size {
            Some(size) => self.value(size, self.problem.p_ranks)?,
            None => 0,
        };
        let (whole, spread) = (self.problem.n_bytes, span(layout, bytes));
        let buffer_bytes = if packs {
            self.problem.send_bytes()
        } else {
            self.problem.recv_bytes()
        };
        if !bytes.is_multiple_of(Layout::UNIT_BYTES as usize / 2) {
            return Err(self.unfit(term, Unfit::PieceOfType));
        }
        if *contiguous + bytes > whole || *strided + spread > buffer_bytes {
            (*contiguous, *strided) = (0, 0);
        }
        if *contiguous + bytes > whole || *strided + spread > buffer_bytes {
            return Err(self.unfit(term, Unfit::TypeTooLarge));
        }
        if bytes > 0 {
            let datatype = self.datatypes.get(layout, bytes)?;
            let (from, to) = if packs {
                (*strided, *contiguous)
            } else {
                (*contiguous, *strided)
            };
            // SAFETY: both offsets lie inside the buffers, as was looked at above.
            let (from, to) = unsafe { (self.memory.send.add(from), self.memory.recv.add(to)) };
            let (from, to, bytes, comm) = (void(from).cast_const(), void(to), count(bytes)?, self.memory.comm);
            self.steps.push(if packs {
                Step::Pack {
                    from,
                    datatype,
                    to,
                    bytes,
                    comm,
                }
            } else {
                Step::Unpack {
                    from,
                    bytes,
                    to,
                    datatype,
                    comm,
                }
            });
        }
        *strided += spread;
        *contiguous += bytes;
        Ok(())
    }
}
