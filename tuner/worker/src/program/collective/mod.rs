//! Sides that do a collective's task: follows the data from call to call.
//!
//! * [`arguments`]: the arguments of one call.
//! * [`parts`]: calls on parts of the ranks.
//! * [`lanes`]: calls on lanes, and calls on parts that share the data out among them.
//! * [`packing`]: strided data that is packed and unpacked between calls.

mod arguments;
mod lanes;
mod packing;
mod parts;

use std::ffi::c_int;

use kilter_algorithms::{Collective, LocalCopy, Shape};
use kilter_protocol::expression::{self, Form, Layout, Operation, Single, Term};
use kilter_protocol::task::Functionality;

use super::step::{Message, Step};
use super::{Compiler, void};
use crate::layout::span;
use crate::reason::{NoProgram, Reason, Unfit};

/// Distribution of the data over the ranks between two calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Over all ranks.
    Everyone(Shape),
    /// Each leader has the combination of its part's contributions.
    PartialAtLeaders,
    /// Each leader has the blocks of its part, in the part's order.
    BlocksAtLeaders,
    /// Each leader has everything.
    AllAtLeaders,
    /// Rank `j` of each part has share `j` of its part's combination.
    PartialShares,
    /// Rank `j` of the root's part has share `j` of everything.
    SharesAtRootPart,
    /// Rank `j` of each part has share `j` of everything.
    SharesInParts,
    /// Each rank has, from every rank of its part in turn, the blocks for the ranks of its lane.
    BlocksForLane,
}

/// The data between two calls, as this rank has it.
#[derive(Debug, Clone, Copy)]
struct Data {
    held: Held,
    at: *mut u8,
    layout: Layout,
    /// Strided data that was packed moves as `MPI_PACKED`.
    packed: bool,
    /// True for the caller's data before it is combined; all other data has only to be moved.
    uncombined: bool,
    /// Blocks lie part by part instead of rank by rank.
    by_parts: bool,
    /// Shares are the blocks of one lane each, instead of pieces of the volume.
    by_lanes: bool,
}

/// A block of a buffer: begin and length in bytes.
type Block = (usize, usize);

impl Compiler<'_> {
    fn target(&self) -> Collective {
        match self.problem.task.functionality {
            Functionality::Function(function) => function,
            _ => Collective::Barrier,
        }
    }

    /// Distribution of data before and after a collective that moves any.
    fn shapes(function: Collective) -> Option<(Shape, Shape)> {
        function.has_data().then(|| (function.input(), function.output()))
    }

    /// Compiles a side that does a collective's task.
    pub(super) fn collective(&mut self) -> Result<(), Reason> {
        let target = self.target();
        let Some((input, wanted)) = Self::shapes(target) else {
            return self.barrier();
        };
        let is_bcast = target == Collective::Bcast;
        let mut data = Data {
            held: Held::Everyone(input),
            at: if is_bcast { self.memory.recv } else { self.memory.send },
            layout: self.problem.task.sendtype,
            packed: false,
            uncombined: target.has_operator(),
            by_parts: false,
            by_lanes: false,
        };
        let mut outstanding = false;
        let terms = &self.side.terms;
        for (i, term) in terms.iter().enumerate() {
            let repeat = self.value(&term.repeat, self.problem.p_ranks)?;
            let is_get = term.call.operation == Operation::Single(Single::Get);
            if repeat != 1 && !is_get {
                return Err(self.unfit(term, Unfit::Repeated));
            }
            match &term.call.operation {
                Operation::Single(Single::Wait) => {
                    self.steps.push(Step::WaitAll);
                    outstanding = false;
                    continue;
                }
                _ if outstanding => return Err(self.unfit(term, Unfit::Outstanding)),
                Operation::Single(Single::Fence) => self.steps.push(Step::Fence),
                Operation::Single(Single::Get) => data = self.gets(term, repeat, data)?,
                Operation::Single(Single::Pack) => data = self.pack(term, data)?,
                Operation::Single(Single::Unpack) => data = self.unpack(term, data)?,
                Operation::Collective(Some(Collective::Barrier), form) => self.barrier_on(term.call.on, *form)?,
                Operation::Collective(Some(function), form) => {
                    let is_last = terms[i + 1..].iter().all(|later| keeps_data_in_place(&later.call));
                    data = if let Some(data) = self.on_lanes(term, *function, *form, data, is_last)? {
                        data
                    } else if term.call.on.is_partial() {
                        self.on_part(term, *function, *form, data, is_last)?
                    } else {
                        self.on_everyone(term, *function, *form, data, is_last)?
                    };
                    outstanding = *form != Form::Blocking;
                }
                _ => return Err(self.unfit(term, Unfit::NoCollective)),
            }
        }
        if outstanding {
            return Err(NoProgram::MissingWait(self.side.to_string()).into());
        }
        self.deliver(data, wanted)
    }

    /// Bytes of data that this rank has in a shape.
    fn bytes_of(&self, shape: Shape) -> usize {
        match shape {
            Shape::AtRoot if !self.is_root() => 0,
            Shape::Blocks => self.problem.block(self.problem.rank).1,
            _ => self.problem.n_bytes,
        }
    }

    /// Buffer for the output of a call: the caller's if nothing is left to be done with it, else scratch.
    fn destination(&mut self, bytes: usize, is_final: bool) -> Result<*mut u8, Reason> {
        if is_final {
            Ok(self.memory.recv)
        } else {
            self.scratch(bytes)
        }
    }

    fn check_size(&self, term: &Term, q_ranks: usize, bytes: usize) -> Result<(), Reason> {
        let Some(size) = &term.call.size else { return Ok(()) };
        let value = self.value(size, q_ranks)?;
        if value == bytes {
            return Ok(());
        }
        Err(self.unfit(
            term,
            Unfit::Size {
                bytes: value,
                data: bytes,
            },
        ))
    }

    /// A call on all ranks, in their order or another.
    fn on_everyone(
        &mut self,
        term: &Term,
        function: Collective,
        form: Form,
        mut data: Data,
        is_last: bool,
    ) -> Result<Data, Reason> {
        let (p_ranks, n_bytes) = (self.problem.p_ranks, self.problem.n_bytes);
        self.check_size(term, p_ranks, n_bytes)?;
        let Held::Everyone(shape) = data.held else {
            return Err(self.unfit(term, Unfit::WithLeaders));
        };
        if data.by_parts {
            return Err(self.unfit(term, Unfit::ByParts));
        }
        let comm = self
            .groups
            .find(term.call.on)
            .map_or(self.memory.comm, |group| group.comm);
        let (_, wanted) = Self::shapes(self.target()).unwrap_or((shape, shape));
        let (mut needed, mut output) = Self::shapes(function).unwrap_or((shape, shape));
        // Counts make two v-variants what is needed here.
        match (function, shape) {
            (Collective::Alltoallv, Shape::Blocks) => {
                needed = shape;
                output = if wanted == Shape::AtRoot {
                    wanted
                } else {
                    Shape::Everywhere
                };
            }
            (Collective::Alltoallv, Shape::AtRoot) => (needed, output) = (shape, Shape::Blocks),
            (Collective::Allgatherv, Shape::AtRoot) => needed = shape,
            _ => {}
        }
        let input = self.prepare(term, shape, needed, &data)?;
        let as_bytes = !data.uncombined;
        if shape == Shape::Blocks && needed == Shape::BlocksForEach {
            output = Shape::Everywhere;
        }
        let is_final = is_last && output == wanted && term.call.attributes.recvtype == self.problem.task.recvtype;
        let receives = output != Shape::AtRoot || self.is_root();
        let recv = if receives {
            self.destination(
                self.bytes_of(output).max(span(term.call.attributes.recvtype, n_bytes)),
                is_final,
            )?
        } else {
            std::ptr::null_mut()
        };
        // The lower ranks' combination is added to one's own contribution.
        if function == Collective::ReduceLocal {
            self.copy(self.memory.send, recv, n_bytes);
            if self.problem.rank > 0 {
                let (datatype, elements) = self.elements(n_bytes, false)?;
                let op = self.operator(term.call.attributes.user_operator, false)?;
                self.steps.push(Step::Combine {
                    from: void(input).cast_const(),
                    to: void(recv),
                    count: elements,
                    datatype,
                    op,
                });
            }
            data.uncombined = false;
        } else {
            let blocks: Vec<Block> = (0..p_ranks).map(|rank| self.block_in(term, rank)).collect();
            let place = (self.problem.rank, self.problem.root);
            let mut call = self.call(term, function, comm, &blocks, place, (input, recv), &data, as_bytes)?;
            self.adjust(&mut call, function, shape, output, &blocks)?;
            if term.call.attributes.in_place {
                self.set_in_place(term, &mut call, function)?;
            }
            self.push_call(call, form)?;
        }
        // A scan leaves the caller's contribution to be added by a local reduction.
        data.uncombined &= function == Collective::Exscan;
        let root_broadcasts = function == Collective::Bcast && self.is_root();
        data.at = if root_broadcasts { input } else { recv };
        data.held = Held::Everyone(output);
        data.layout = if root_broadcasts {
            term.call.attributes.sendtype
        } else {
            term.call.attributes.recvtype
        };
        Ok(data)
    }

    /// The local copy before a call on all ranks; where its input then lies.
    fn prepare(&mut self, term: &Term, shape: Shape, needed: Shape, data: &Data) -> Result<*mut u8, Reason> {
        let (n_bytes, rank) = (self.problem.n_bytes, self.problem.rank);
        let (begin, length) = self.problem.block(rank);
        let at = data.at;
        let Some(copy) = shape.copied_to(needed) else {
            return Err(self.unfit(
                term,
                Unfit::Shape {
                    needs: needed,
                    has: shape,
                },
            ));
        };
        if copy != LocalCopy::Nothing && data.layout != Layout::Contiguous {
            return Err(self.unfit(term, Unfit::NotPacked));
        }
        match copy {
            LocalCopy::Nothing => Ok(at),
            // SAFETY: everyone has everything there, and the block is part of it.
            LocalCopy::OwnBlock => Ok(unsafe { at.add(begin) }),
            LocalCopy::ZerosAroundBlock => {
                let filled = self.zeros(n_bytes)?;
                // SAFETY: the block is part of the volume.
                self.copy(at, unsafe { filled.add(begin) }, length);
                Ok(filled)
            }
            LocalCopy::ZerosOffRoot if self.is_root() => {
                let filled = self.scratch(n_bytes)?;
                self.copy(at, filled, n_bytes);
                Ok(filled)
            }
            LocalCopy::ZerosOffRoot => self.zeros(n_bytes),
            LocalCopy::Replicate => {
                let copies = self.scratch(n_bytes)?;
                for i in 0..self.problem.p_ranks {
                    // SAFETY: p equal blocks are the volume.
                    self.copy(at, unsafe { copies.add(i * length) }, length);
                }
                Ok(copies)
            }
        }
    }

    /// Scratch that every run fills with zeros first.
    fn zeros(&mut self, bytes: usize) -> Result<*mut u8, Reason> {
        let at = self.scratch(bytes)?;
        self.steps.push(Step::Zero { at, bytes });
        Ok(at)
    }

    /// The root gets every rank's block.
    fn gets(&mut self, term: &Term, repeat: usize, mut data: Data) -> Result<Data, Reason> {
        let p_ranks = self.problem.p_ranks;
        if data.held != Held::Everyone(Shape::Blocks) || data.layout != Layout::Contiguous || repeat != p_ranks {
            return Err(self.unfit(term, Unfit::NoGather));
        }
        let Some(size) = &term.call.size else { return Ok(data) };
        let bytes = self.value(size, p_ranks)?;
        let (_, own) = self.problem.block(self.problem.rank);
        if bytes != own {
            return Err(self.unfit(term, Unfit::NoBlock { bytes, block: own }));
        }
        self.window = Some((data.at, own));
        if self.is_root() {
            let (datatype, elements) = self.elements(bytes, true)?;
            for peer in 0..p_ranks {
                let message = Message {
                    // SAFETY: the root's output has a block for every rank.
                    data: void(unsafe { self.memory.recv.add(peer * bytes) }),
                    count: elements,
                    datatype,
                    peer: peer as c_int,
                    comm: self.memory.comm,
                    request: 0,
                };
                self.steps.push(Step::OneSided(Single::Get, message, 0));
            }
        }
        data.held = Held::Everyone(Shape::AtRoot);
        data.at = self.memory.recv;
        Ok(data)
    }

    /// Copies the result to where the caller wants it, unless it is there.
    fn deliver(&mut self, data: Data, wanted: Shape) -> Result<(), Reason> {
        let Held::Everyone(shape) = data.held else {
            return Err(NoProgram::EndsWithLeaders(self.side.to_string()).into());
        };
        if !shape.contains(wanted) {
            return Err(NoProgram::EndsAs {
                side: self.side.to_string(),
                has: shape,
                wanted,
            }
            .into());
        }
        let is_bcast_root = self.target() == Collective::Bcast && self.is_root();
        let recv = self.memory.recv;
        if is_bcast_root || data.at == recv || (wanted == Shape::AtRoot && !self.is_root()) || data.at.is_null() {
            return Ok(());
        }
        let in_place_at_root = self.problem.in_place && self.is_root();
        if in_place_at_root {
            return Ok(());
        }
        if data.layout != self.problem.task.recvtype {
            return Err(NoProgram::EndsLying {
                side: self.side.to_string(),
                lies: data.layout,
                wanted: self.problem.task.recvtype,
            }
            .into());
        }
        let (begin, length) = self.problem.block(self.problem.rank);
        match (self.reordering(), shape, wanted) {
            (Some(copies), _, _) if data.by_parts => {
                for (from, to, bytes) in copies {
                    // SAFETY: both hold the whole volume.
                    unsafe { self.copy(data.at.add(from), recv.add(to), bytes) };
                }
            }
            // SAFETY: the block is part of the volume.
            (_, Shape::Everywhere, Shape::Blocks) => self.copy(unsafe { data.at.add(begin) }, recv, length),
            _ => {
                let bytes = self.problem.recv_bytes();
                self.copy(data.at, recv, bytes);
            }
        }
        Ok(())
    }
}

/// True if a call leaves the data in the buffer in which it finds it.
fn keeps_data_in_place(call: &expression::Call) -> bool {
    match &call.operation {
        Operation::Single(Single::Wait | Single::Fence) => true,
        Operation::Collective(Some(Collective::Barrier), _) => true,
        Operation::Collective(Some(Collective::Bcast), _) => !call.is_typed(),
        _ => false,
    }
}
