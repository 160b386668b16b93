//! Messages as a program sent them: a schedule, carried out again and again.
//!
//! A rank's memory holds data of its own to begin with, as in every other item, so that each byte says whose it was. Afterwards it must hold what
//! the schedule brings there, which is found out in thought before. Data that are combined are numbers as reductions have them.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use kilter_algorithms::reference::closed_form;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, MpiError, constants};
use kilter_protocol::fault::{Buffer, Fault, WrongData, Zone};
use kilter_protocol::plan::Operand;
use kilter_protocol::schedule::{Combination, Piece, Schedule, Step};
use mpi::ffi::{self, MPI_Request, MPI_Status};

use crate::buffer::{GuardedBuffer, wrong_data};
use crate::operand;
use crate::place::Place;
use crate::problem::Wrong;
use crate::program::datatypes;
use crate::reason::{NoReplay, Reason};

/// A rank's part of a schedule.
#[derive(Debug)]
pub(crate) struct Replay {
    rank: usize,
    memory: GuardedBuffer,
    calls: Vec<Call>,
    /// Null between two runs.
    requests: Vec<MPI_Request>,
    /// Filled by waits and not read.
    statuses: Vec<MPI_Status>,
    content: Content,
    /// Contents of the memory afterwards; none if they are not foretold.
    after: Option<After>,
    /// True if a second run changes nothing.
    is_steady: bool,
    /// Runs since the memory was filled.
    runs: u64,
}

/// Most bytes of all memories together whose contents are foretold where data are combined: each rank computes those of all ranks.
const MOST_FORETOLD_BYTES: u64 = 16 << 20;

/// Contents of memories to begin with.
#[derive(Debug, Clone, Copy)]
enum Content {
    /// Data of which each byte says whose it is.
    Moved,
    /// Data that this number of ranks combine.
    Combined(Operand, usize),
}

impl Content {
    fn write(self, rank: usize, to: &mut [u8]) {
        match self {
            Content::Moved => closed_form::write_moved(rank, 0, 0, to),
            Content::Combined(one, p_ranks) => operand::write_combined(one, rank..rank + 1, (p_ranks, 0), 0, to),
        }
    }
}

/// Contents of a memory afterwards.
#[derive(Debug, PartialEq, Eq)]
enum After {
    /// Pieces of what was there before.
    Pieces(Vec<Piece>),
    /// The bytes themselves.
    Bytes(Vec<u8>),
}

/// Data of a call, in the rank's memory.
#[derive(Debug, Clone, Copy)]
struct Data {
    at: *mut u8,
    count: c_int,
    peer: c_int,
    tag: c_int,
}

/// A call with all that it needs.
#[derive(Debug)]
enum Call {
    Send(Data),
    Start(Data, usize),
    Receive(Data),
    Post(Data, usize),
    /// Requests from one on, so many.
    Complete(usize, usize),
    Combine(Operands),
}

/// Data that are combined, in the rank's memory.
#[derive(Debug, Clone, Copy)]
struct Operands {
    from: *const c_void,
    to: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
}

impl Replay {
    /// The part of this rank.
    ///
    /// # Errors
    /// The reason why the schedule is not carried out, the same on all ranks but where memory is short.
    pub(crate) fn new(schedule: &Schedule, place: Place) -> Result<Replay, Reason> {
        if schedule.ranks() != place.p_ranks {
            return Err(NoReplay::OtherRanks {
                of: schedule.ranks(),
                take_part: place.p_ranks,
            }
            .into());
        }
        schedule.check().map_err(NoReplay::Unsound)?;
        let (content, after, is_steady) = if schedule.combines() {
            let content = Content::Combined(place.operand, place.p_ranks);
            (content, foretold(schedule, place, content), false)
        } else {
            let own = |all: Vec<Vec<Piece>>| all.into_iter().nth(place.rank).map(After::Pieces);
            let after = schedule.delivered(1).and_then(own);
            let is_steady = schedule.delivered(2).and_then(own) == after;
            (Content::Moved, after, is_steady)
        };
        let bytes = schedule.memory[place.rank];
        let bytes = usize::try_from(bytes).map_err(|_| NoReplay::Memory(bytes))?;
        let memory = GuardedBuffer::new(bytes)?;
        let mut compiler = Compiler {
            schedule,
            rank: place.rank,
            operand: place.operand,
            memory: &memory,
            tags: tags(schedule)?,
            requests: requests(&schedule.steps[place.rank]),
        };
        let steps = schedule.steps[place.rank].iter();
        let calls = steps
            .map(|step| compiler.call(step))
            .collect::<Result<Vec<_>, NoReplay>>()?;
        let requests = compiler.requests.len();
        Ok(Replay {
            rank: place.rank,
            calls,
            requests: vec![constants::request_null(); requests],
            // SAFETY: statuses are plain data that waits overwrite.
            statuses: (0..requests).map(|_| unsafe { std::mem::zeroed() }).collect(),
            memory,
            content,
            after,
            is_steady,
            runs: 0,
        })
    }

    /// Carries the rank's part out once.
    ///
    /// # Errors
    /// The library's; the other ranks may then be waiting.
    ///
    /// # Safety
    /// All ranks of `comm` make the same call.
    #[inline]
    pub(crate) unsafe fn run(&mut self, comm: MPI_Comm) -> Result<(), MpiError> {
        self.runs += 1;
        for call in &self.calls {
            // SAFETY: data lie in the memory, which lives as long as `self`; requests are completed before the schedule ends.
            unsafe { call.make(comm, &mut self.requests, &mut self.statuses)? };
        }
        Ok(())
    }

    /// Writes this rank's own data everywhere.
    pub(crate) fn fill(&mut self) {
        self.runs = 0;
        self.content.write(self.rank, self.memory.bytes_mut());
    }

    /// Looks whether the memory holds what the schedule brings there. After several runs that is known only if the second changes nothing.
    ///
    /// # Errors
    /// The first byte that is wrong.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let wrong = |zone, wrong| {
            let place = (Buffer::Output, zone);
            Err(Fault::WrongData(WrongData {
                ..wrong_data(self.rank, place, wrong)
            }))
        };
        if let Some((zone, found)) = self.memory.check_guards() {
            return wrong(zone, found);
        }
        let is_known = self.runs == 1 || (self.runs > 1 && self.is_steady);
        let Some(after) = self.after.as_ref().filter(|_| is_known) else {
            return Ok(());
        };
        let found = match after {
            After::Pieces(pieces) => first_wrong(self.memory.bytes(), pieces),
            After::Bytes(bytes) => Wrong::first(self.memory.bytes(), bytes, 0),
        };
        match found {
            Some(found) => wrong(Zone::Within, found),
            None => Ok(()),
        }
    }
}

/// The memory of this rank after a schedule that combines data; none if the memories of all are too long.
fn foretold(schedule: &Schedule, place: Place, content: Content) -> Option<After> {
    if schedule.memory.iter().sum::<u64>() > MOST_FORETOLD_BYTES {
        return None;
    }
    let memory = |(rank, bytes): (usize, &u64)| {
        let mut memory = vec![0; *bytes as usize];
        content.write(rank, &mut memory);
        memory
    };
    let mut memories: Vec<Vec<u8>> = schedule.memory.iter().enumerate().map(memory).collect();
    let carried_out = schedule.carry_out(&mut memories, &mut |from, to| operand::combine(place.operand, from, to));
    carried_out.ok()?;
    memories.into_iter().nth(place.rank).map(After::Bytes)
}

/// The first byte of a memory that differs from what its pieces say.
fn first_wrong(memory: &[u8], pieces: &[Piece]) -> Option<Wrong> {
    pieces.iter().find_map(|piece| {
        let (at, origin) = (piece.at as usize, piece.origin as usize);
        let found = memory.get(at..)?.iter().take(piece.bytes as usize).enumerate();
        let mut found = found.map(|(i, &got)| (at + i, got, closed_form::moved(piece.rank, 0, origin + i)));
        let (byte, got, expected) = found.find(|(_, got, expected)| got != expected)?;
        Some(Wrong { byte, got, expected })
    })
}

/// A tag for each message: its number among those of its sender to its receiver.
fn tags(schedule: &Schedule) -> Result<Vec<c_int>, NoReplay> {
    let mut known = BTreeMap::new();
    let number = |message: &kilter_protocol::schedule::Message| {
        let next = known.entry((message.from, message.to)).or_insert(0);
        *next += 1;
        c_int::try_from(*next - 1).map_err(|_| NoReplay::Tags(*next))
    };
    schedule.messages.iter().map(number).collect()
}

/// A request for each message that is completed later; those that are completed together lie one behind the other.
fn requests(steps: &[Step]) -> BTreeMap<u32, usize> {
    let completed = steps.iter().filter_map(|step| match step {
        Step::Complete(messages) => Some(messages),
        _ => None,
    });
    completed
        .flatten()
        .zip(0..)
        .map(|(message, at)| (*message, at))
        .collect()
}

/// Makes the calls of a rank.
struct Compiler<'a> {
    schedule: &'a Schedule,
    rank: usize,
    operand: Operand,
    memory: &'a GuardedBuffer,
    tags: Vec<c_int>,
    requests: BTreeMap<u32, usize>,
}

impl Compiler<'_> {
    fn call(&mut self, step: &Step) -> Result<Call, NoReplay> {
        Ok(match step {
            Step::Send(number) => Call::Send(self.data(*number)?),
            Step::Start(number) => Call::Start(self.data(*number)?, self.request(*number)?),
            Step::Receive(number) => Call::Receive(self.data(*number)?),
            Step::Post(number) => Call::Post(self.data(*number)?, self.request(*number)?),
            Step::Complete(numbers) => match numbers.first() {
                Some(first) => Call::Complete(self.request(*first)?, numbers.len()),
                None => Call::Complete(0, 0),
            },
            Step::Combine(combination) => Call::Combine(self.operands(combination)?),
        })
    }

    fn request(&self, number: u32) -> Result<usize, NoReplay> {
        let known = self.requests.get(&number).copied();
        known.ok_or(NoReplay::NeverCompleted(number))
    }

    fn operands(&self, combination: &Combination) -> Result<Operands, NoReplay> {
        let &Combination { from_at, to_at, bytes } = combination;
        let operand = self.operand;
        let size = operand.bytes();
        if [from_at, to_at, bytes].iter().any(|one| !one.is_multiple_of(size)) {
            return Err(NoReplay::Unaligned {
                bytes,
                from_at,
                to_at,
                element: operand.element,
            });
        }
        let count = c_int::try_from(bytes / size).map_err(|_| NoReplay::Combined(bytes))?;
        // SAFETY: the check says that all bytes of both lie in the memory.
        let at = |at: u64| unsafe { self.memory.pointer().add(at as usize) };
        Ok(Operands {
            from: at(from_at).cast_const().cast(),
            to: at(to_at).cast(),
            count,
            datatype: datatypes::element_type(operand.element),
            op: datatypes::operator(operand.operator),
        })
    }

    fn data(&self, number: u32) -> Result<Data, NoReplay> {
        let message = &self.schedule.messages[number as usize];
        let is_sender = message.from as usize == self.rank;
        let (at, peer) = if is_sender {
            (message.from_at, message.to)
        } else {
            (message.to_at, message.from)
        };
        let small = |what, value| {
            c_int::try_from(value).map_err(|_| NoReplay::Int {
                what,
                value,
                message: number,
            })
        };
        Ok(Data {
            // SAFETY: the check says that all bytes of the message lie in the memory.
            at: unsafe { self.memory.pointer().add(at as usize) },
            count: small("length", message.bytes)?,
            peer: small("rank", u64::from(peer))?,
            tag: self.tags[number as usize],
        })
    }
}

impl Call {
    /// # Safety
    /// The data are valid, and all ranks of `comm` make their parts of the same schedule.
    #[inline]
    unsafe fn make(
        &self,
        comm: MPI_Comm,
        requests: &mut [MPI_Request],
        statuses: &mut [MPI_Status],
    ) -> Result<(), MpiError> {
        let byte = constants::byte();
        let mut status = MaybeUninit::<MPI_Status>::uninit();
        // SAFETY: by this function's contract; the status is written.
        unsafe {
            match *self {
                Call::Send(Data { at, count, peer, tag }) => {
                    let code = ffi::PMPI_Send(at.cast(), count, byte, peer, tag, comm);
                    MpiError::check("MPI_Send", code)
                }
                Call::Start(Data { at, count, peer, tag }, request) => {
                    let request = &raw mut requests[request];
                    let code = ffi::PMPI_Isend(at.cast(), count, byte, peer, tag, comm, request);
                    MpiError::check("MPI_Isend", code)
                }
                Call::Receive(Data { at, count, peer, tag }) => {
                    let code = ffi::PMPI_Recv(at.cast(), count, byte, peer, tag, comm, status.as_mut_ptr());
                    MpiError::check("MPI_Recv", code)
                }
                Call::Post(Data { at, count, peer, tag }, request) => {
                    let request = &raw mut requests[request];
                    let code = ffi::PMPI_Irecv(at.cast(), count, byte, peer, tag, comm, request);
                    MpiError::check("MPI_Irecv", code)
                }
                Call::Complete(first, count) => {
                    let requests = &mut requests[first..first + count];
                    let code = ffi::PMPI_Waitall(count as c_int, requests.as_mut_ptr(), statuses.as_mut_ptr());
                    MpiError::check("MPI_Waitall", code)
                }
                Call::Combine(Operands {
                    from,
                    to,
                    count,
                    datatype,
                    op,
                }) => MpiError::check(
                    "MPI_Reduce_local",
                    ffi::PMPI_Reduce_local(from, to, count, datatype, op),
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_protocol::plan::Element;
    use kilter_protocol::schedule::Message;

    use super::*;

    #[test]
    fn requests_that_are_completed_together_lie_together() {
        let steps = [
            Step::Post(4),
            Step::Start(1),
            Step::Post(2),
            Step::Complete(vec![2, 4]),
            Step::Complete(vec![1]),
        ];
        let all = requests(&steps);
        assert_eq!((all[&2], all[&4], all[&1]), (0, 1, 2));
    }

    #[test]
    fn what_ranks_combine_is_foretold_and_only_whole_elements_are_combined() {
        let message = Message {
            from: 1,
            to: 0,
            bytes: 16,
            from_at: 0,
            to_at: 16,
        };
        let sum = |from_at| Combination {
            from_at,
            to_at: 0,
            bytes: 16,
        };
        let schedule = |from_at: u64| Schedule {
            memory: vec![48, 16],
            messages: vec![message],
            steps: vec![vec![Step::Receive(0), Step::Combine(sum(from_at))], vec![Step::Send(0)]],
        };
        for one in Element::ALL.map(Operand::from) {
            let place = Place {
                rank: 0,
                p_ranks: 2,
                one_node: true,
                root: 0,
                operand: one,
            };
            let Some(After::Bytes(bytes)) = foretold(&schedule(16), place, Content::Combined(one, 2)) else {
                panic!("{one:?}");
            };
            let mut both = [0; 16];
            operand::write_combined(one, 0..2, (2, 0), 0, &mut both);
            assert_eq!(bytes[..16], both, "{one:?}");
            assert_eq!(Wrong::first(&bytes, &bytes, 0), None);
            let mut wrong = bytes.clone();
            wrong[5] ^= 1;
            assert_eq!(Wrong::first(&wrong, &bytes, 0).map(|wrong| wrong.byte), Some(5));
            let replay = Replay::new(&schedule(18), place);
            assert_eq!(replay.is_err(), one.element != Element::Byte, "{replay:?}");
        }
    }

    #[test]
    fn a_wrong_byte_is_found_by_its_place() {
        let piece = |at, bytes, rank, origin| Piece {
            at,
            bytes,
            rank,
            origin,
        };
        let pieces = [piece(0, 3, 1, 7), piece(3, 2, 0, 3)];
        let mut memory: Vec<u8> = (7..10).map(|i| closed_form::moved(1, 0, i)).collect();
        memory.extend((3..5).map(|i| closed_form::moved(0, 0, i)));
        assert_eq!(first_wrong(&memory, &pieces), None);
        memory[4] ^= 1;
        let wrong = first_wrong(&memory, &pieces).unwrap();
        assert_eq!((wrong.byte, wrong.expected), (4, memory[4] ^ 1));
    }
}
