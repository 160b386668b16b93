//! Sides that do what a collective does: follows the data from call to call.

use std::ffi::{c_int, c_void};

use kilter_algorithms::{Collective, Shape};
use kilter_mpi::{MPI_Comm, MPI_Datatype, constants};
use kilter_protocol::expression::{
    self, Attributes, Communicator, Counts, Form, Function, Layout, Operation, Single, Term,
};
use kilter_protocol::task::Functionality;

use super::calls::{Blocks, Call};
use super::step::{Message, Step};
use super::{Compiler, count, void};
use crate::layout::span;

/// How the data is spread over the ranks between two calls.
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
}

/// The data between two calls, as this rank has it.
#[derive(Debug, Clone, Copy)]
struct Data {
    held: Held,
    at: *mut u8,
    layout: Layout,
    /// Strided data that was packed moves as `MPI_PACKED`.
    packed: bool,
    /// It is what the caller gave to be combined; everything else has only to be moved.
    uncombined: bool,
    /// Blocks lie part by part instead of rank by rank.
    by_parts: bool,
}

/// A block of a buffer: begin and length in bytes.
type Block = (usize, usize);

impl Compiler<'_> {
    fn target(&self) -> Function {
        match self.problem.task.functionality {
            Functionality::Function(function) => function,
            _ => Function::Barrier,
        }
    }

    /// Shapes as those of the collective with equal blocks.
    fn shapes(function: Function) -> Option<(Shape, Shape)> {
        let collective = match function {
            Function::Of(collective) => collective,
            Function::Allgatherv => Collective::Allgather,
            Function::Alltoallv => Collective::Alltoall,
            Function::Barrier => return None,
        };
        Some((collective.input(), collective.output()))
    }

    /// Compiles a side that does what a collective does.
    pub(super) fn collective(&mut self) -> Result<(), String> {
        let target = self.target();
        let Some((input, wanted)) = Self::shapes(target) else {
            return self.barrier();
        };
        let is_bcast = target == Function::Of(Collective::Bcast);
        let mut data = Data {
            held: Held::Everyone(input),
            at: if is_bcast { self.memory.recv } else { self.memory.send },
            layout: self.problem.task.sendtype,
            packed: false,
            uncombined: target.collective().is_some_and(Collective::has_operator),
            by_parts: false,
        };
        let mut outstanding = false;
        let terms = &self.side.terms;
        for (i, term) in terms.iter().enumerate() {
            let repeat = self.value(&term.repeat, self.problem.p_ranks)?;
            let is_get = term.call.operation == Operation::Single(Single::Get);
            if repeat != 1 && !is_get {
                return Err(self.unfit(term, "only calls of the function itself, and gets, are repeated"));
            }
            match &term.call.operation {
                Operation::Single(Single::Wait) => {
                    self.steps.push(Step::WaitAll);
                    outstanding = false;
                    continue;
                }
                _ if outstanding => return Err(self.unfit(term, "what was started before it needs a `wait`")),
                Operation::Single(Single::Fence) => self.steps.push(Step::Fence),
                Operation::Single(Single::Get) => data = self.gets(term, repeat, data)?,
                Operation::Single(Single::Pack) => data = self.pack(term, data)?,
                Operation::Single(Single::Unpack) => data = self.unpack(term, data)?,
                Operation::Collective(Some(Function::Barrier), form) => self.barrier_on(term.call.on, *form)?,
                Operation::Collective(Some(function), form) => {
                    let is_last = terms[i + 1..].iter().all(|later| keeps_data_in_place(&later.call));
                    data = if term.call.on.is_group() || term.call.on == Communicator::Leaders {
                        self.on_part(term, *function, *form, data, is_last)?
                    } else {
                        self.on_everyone(term, *function, *form, data, is_last)?
                    };
                    outstanding = *form != Form::Blocking;
                }
                _ => return Err(self.unfit(term, "a message does not belong to a collective")),
            }
        }
        if outstanding {
            return Err(format!("`{}`: `wait` is missing at the end", self.side));
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

    /// Where the output of a call goes: where the caller wants it if nothing is left to be done with it, else to scratch.
    fn destination(&mut self, bytes: usize, is_final: bool) -> Result<*mut u8, String> {
        if is_final {
            Ok(self.memory.recv)
        } else {
            self.scratch(bytes)
        }
    }

    fn check_size(&self, term: &Term, q_ranks: usize, bytes: usize) -> Result<(), String> {
        let Some(size) = &term.call.size else { return Ok(()) };
        let value = self.value(size, q_ranks)?;
        if value == bytes {
            return Ok(());
        }
        Err(self.unfit(
            term,
            &format!("its size is {value} bytes, and the data there is {bytes}"),
        ))
    }

    /// A call on all ranks, in their order or another.
    fn on_everyone(
        &mut self,
        term: &Term,
        function: Function,
        form: Form,
        mut data: Data,
        is_last: bool,
    ) -> Result<Data, String> {
        let (p_ranks, n_bytes) = (self.problem.p_ranks, self.problem.n_bytes);
        self.check_size(term, p_ranks, n_bytes)?;
        let Held::Everyone(shape) = data.held else {
            return Err(self.unfit(term, "the data is with the leaders"));
        };
        if data.by_parts {
            return Err(self.unfit(term, "blocks lie part by part there; end with the call on the parts"));
        }
        let comm = self
            .groups
            .find(term.call.on)
            .map_or(self.memory.comm, |group| group.comm);
        let (_, wanted) = Self::shapes(self.target()).unwrap_or((shape, shape));
        let (mut needed, mut output) = Self::shapes(function).unwrap_or((shape, shape));
        // Counts make two v-variants what is needed here.
        match (function, shape) {
            (Function::Alltoallv, Shape::Blocks) => {
                needed = shape;
                output = if wanted == Shape::AtRoot {
                    wanted
                } else {
                    Shape::Everywhere
                };
            }
            (Function::Alltoallv, Shape::AtRoot) => (needed, output) = (shape, Shape::Blocks),
            (Function::Allgatherv, Shape::AtRoot) => needed = shape,
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
        if function == Function::Of(Collective::ReduceLocal) {
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
        data.uncombined &= function == Function::Of(Collective::Exscan);
        let root_broadcasts = function == Function::Of(Collective::Bcast) && self.is_root();
        data.at = if root_broadcasts { input } else { recv };
        data.held = Held::Everyone(output);
        data.layout = if root_broadcasts {
            term.call.attributes.sendtype
        } else {
            term.call.attributes.recvtype
        };
        Ok(data)
    }

    /// The block of a rank as this call divides the volume.
    fn block_in(&self, term: &Term, rank: usize) -> Block {
        if term.call.attributes.counts == Counts::Root && self.problem.task.counts != Counts::Root {
            let (root, n) = (self.problem.root, self.problem.n_bytes);
            return (if rank > root { n } else { 0 }, if rank == root { n } else { 0 });
        }
        self.problem.block(rank)
    }

    /// The local copy before a call on all ranks; where its input then lies.
    fn prepare(&mut self, term: &Term, shape: Shape, needed: Shape, data: &Data) -> Result<*mut u8, String> {
        let (n_bytes, rank) = (self.problem.n_bytes, self.problem.rank);
        let (begin, length) = self.problem.block(rank);
        let contiguous = data.layout == Layout::Contiguous;
        let at = data.at;
        match (shape, needed) {
            (available, needed) if available == needed => Ok(at),
            (Shape::Everywhere, Shape::AtRoot) => Ok(at),
            _ if !contiguous => Err(self.unfit(term, "strided data is only moved as it is; pack it first")),
            // SAFETY: everyone has everything there, and the block is part of it.
            (Shape::Everywhere, Shape::Blocks) => Ok(unsafe { at.add(begin) }),
            (Shape::Blocks, Shape::Contributions) => {
                let filled = self.scratch(n_bytes)?;
                self.steps.push(Step::Zero {
                    at: filled,
                    bytes: n_bytes,
                });
                // SAFETY: the block is part of the volume.
                self.copy(at, unsafe { filled.add(begin) }, length);
                Ok(filled)
            }
            (Shape::AtRoot, Shape::Contributions) => {
                let filled = self.scratch(n_bytes)?;
                if self.is_root() {
                    self.copy(at, filled, n_bytes);
                } else {
                    self.steps.push(Step::Zero {
                        at: filled,
                        bytes: n_bytes,
                    });
                }
                Ok(filled)
            }
            (Shape::Blocks, Shape::BlocksForEach) => {
                let copies = self.scratch(n_bytes)?;
                for i in 0..self.problem.p_ranks {
                    // SAFETY: p equal blocks are the volume.
                    self.copy(at, unsafe { copies.add(i * length) }, length);
                }
                Ok(copies)
            }
            (available, needed) => Err(self.unfit(
                term,
                &format!(
                    "it needs its data as {needed:?}, but has it as {available:?}, and no local copy converts that"
                ),
            )),
        }
    }

    /// A call with all its arguments, equal blocks; see [`Compiler::adjust`] for the others. `blocks` are those of the
    /// communicator's ranks, `place` this rank and the root in it.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the MPI call")]
    fn call(
        &mut self,
        term: &Term,
        function: Function,
        comm: MPI_Comm,
        blocks: &[Block],
        (rank, root): (usize, usize),
        (send, recv): (*mut u8, *mut u8),
        data: &Data,
        as_bytes: bool,
    ) -> Result<Call, String> {
        let attributes = term.call.attributes;
        let total: usize = blocks.iter().map(|(_, length)| length).sum();
        let own = blocks[rank].1;
        let Some((input, output)) = Self::shapes(function) else {
            return Err(self.unfit(term, "it moves no data"));
        };
        let volume = |shape: Shape| match shape {
            Shape::Blocks | Shape::BlocksForEach | Shape::BlocksFromEach => own,
            Shape::AtRoot | Shape::Everywhere if function.has_blocks() => own,
            _ => total.max(if function.has_blocks() { 0 } else { self.problem.n_bytes }),
        };
        let (send_bytes, recv_bytes) = (volume(input), volume(output));
        let combines = function.collective().is_some_and(Collective::has_operator);
        let typed = term.call.is_typed() || data.layout != Layout::Contiguous;
        if typed {
            self.check_typed(term, function, data)?;
        }
        let is_bcast_root = function == Function::Of(Collective::Bcast) && rank == root;
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
            self.problem.element.bytes() as usize
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
    ) -> Result<(MPI_Datatype, c_int), String> {
        if layout != Layout::Contiguous {
            if bytes == 0 {
                return Ok((constants::byte(), 0));
            }
            let datatype = self.datatypes.get(layout, bytes).map_err(|error| error.to_string())?;
            return Ok((datatype, 1));
        }
        if packed {
            return Ok((constants::packed(), count(bytes)?));
        }
        // Data that is only moved keeps the element's type where it can, as an application's would.
        let whole = bytes.is_multiple_of(self.problem.element.bytes() as usize);
        self.elements(bytes, bytes_only || !whole)
    }

    fn check_typed(&self, term: &Term, function: Function, data: &Data) -> Result<(), String> {
        let attributes: Attributes = term.call.attributes;
        let allowed = matches!(
            function,
            Function::Of(Collective::Bcast | Collective::Gather | Collective::Scatter | Collective::Allgather)
        );
        if !allowed {
            return Err(self.unfit(
                term,
                "strided types are supported for bcast, gather, scatter and allgather",
            ));
        }
        if attributes.sendtype != data.layout {
            return Err(self.unfit(
                term,
                &format!("its data lies as {}, not as {}", data.layout, attributes.sendtype),
            ));
        }
        Ok(())
    }

    /// The counts that make `Alltoallv` and `Allgatherv` move what is wanted.
    fn adjust(
        &self,
        call: &mut Call,
        function: Function,
        shape: Shape,
        output: Shape,
        blocks: &[Block],
    ) -> Result<(), String> {
        let (rank, root, p) = (self.problem.rank, self.problem.root, blocks.len());
        if function == Function::Allgatherv && shape == Shape::AtRoot {
            call.send_count = if rank == root { call.recv_blocks.counts[root] } else { 0 };
            // The one buffer of a broadcast is where the root has its data already.
            if self.target() == Function::Of(Collective::Bcast) {
                call.send = constants::in_place();
            }
        }
        if function != Function::Alltoallv {
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
                return Err("alltoallv from every rank to every rank has uniform counts".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// `MPI_IN_PLACE` where the standard puts it.
    fn set_in_place(&mut self, term: &Term, call: &mut Call, function: Function) -> Result<(), String> {
        let in_place = constants::in_place();
        match function {
            Function::Of(Collective::Gather | Collective::Gatherv) => {
                if self.is_root() {
                    call.send = in_place;
                }
            }
            Function::Of(Collective::Scatter | Collective::Scatterv) => {
                if self.is_root() {
                    call.recv = in_place.cast_mut();
                }
            }
            Function::Of(Collective::Allgather) | Function::Allgatherv => call.send = in_place,
            _ => {
                return Err(self.unfit(
                    term,
                    "in place is supported for gather, scatter and allgather and their v-variants",
                ));
            }
        }
        Ok(())
    }

    /// A call on parts of the ranks, or on their leaders.
    fn on_part(
        &mut self,
        term: &Term,
        function: Function,
        form: Form,
        mut data: Data,
        is_last: bool,
    ) -> Result<Data, String> {
        let Some(group) = self.groups.find(term.call.on) else {
            return Err(self.unfit(term, "its communicator was not made"));
        };
        let on_leaders = term.call.on == Communicator::Leaders;
        let (comm, members, place) = (group.comm, group.members.clone(), group.rank);
        let is_inside = comm != constants::comm_null();
        let n_bytes = self.problem.n_bytes;
        let block = |rank: usize| self.problem.block(rank).1;
        // A leader stands for its part.
        let lengths: Vec<usize> = if on_leaders {
            self.groups
                .parts
                .iter()
                .map(|part| part.iter().map(|rank| block(*rank)).sum())
                .collect()
        } else {
            members.iter().map(|rank| block(*rank)).collect()
        };
        let mut begin = 0;
        let blocks: Vec<Block> = lengths
            .iter()
            .map(|length| {
                begin += length;
                (begin - length, *length)
            })
            .collect();
        let total = begin;
        let root = if on_leaders {
            let root = self.problem.root;
            self.groups.parts.iter().position(|part| part.contains(&root))
        } else {
            members.iter().position(|rank| self.groups.leaders.contains(rank))
        }
        .unwrap_or(0);
        use Collective::{Allreduce, Bcast, Gather, Gatherv, Reduce};
        let (held, bytes) = match (on_leaders, function, data.held) {
            (false, Function::Of(Reduce), Held::Everyone(Shape::Contributions)) => (Held::PartialAtLeaders, n_bytes),
            (false, Function::Of(Gather | Gatherv), Held::Everyone(Shape::Blocks)) => (Held::BlocksAtLeaders, total),
            (false, Function::Of(Bcast), Held::AllAtLeaders) => (Held::Everyone(Shape::Everywhere), n_bytes),
            (true, Function::Of(Bcast), Held::Everyone(Shape::AtRoot)) => (Held::AllAtLeaders, n_bytes),
            (true, Function::Of(Reduce), Held::PartialAtLeaders) => (Held::Everyone(Shape::AtRoot), n_bytes),
            (true, Function::Of(Allreduce), Held::PartialAtLeaders) => (Held::AllAtLeaders, n_bytes),
            (true, Function::Of(Gather | Gatherv), Held::BlocksAtLeaders) => (Held::Everyone(Shape::AtRoot), n_bytes),
            (true, Function::Allgatherv, Held::BlocksAtLeaders) => (Held::AllAtLeaders, n_bytes),
            (_, _, held) => {
                return Err(self.unfit(
                    term,
                    &format!("no such call continues from data that is held as {held:?}"),
                ));
            }
        };
        let divided = function.has_blocks();
        let q_ranks = if is_inside { members.len() } else { 1 };
        if is_inside {
            self.check_size(term, q_ranks, if divided { total } else { n_bytes })?;
        }
        let gathers = divided && on_leaders;
        data.by_parts |= gathers && self.reordering().is_some();
        data.held = held;
        if !is_inside {
            data.at = std::ptr::null_mut();
            return Ok(data);
        }
        let is_bcast = function == Function::Of(Bcast);
        let is_group_root = place == root;
        let all_receive = matches!(function, Function::Of(Bcast | Allreduce) | Function::Allgatherv);
        let is_final = is_last && !data.by_parts && matches!(held, Held::Everyone(_) | Held::AllAtLeaders);
        let recv = if is_bcast && is_group_root {
            data.at
        } else if is_group_root || all_receive {
            self.destination(bytes, is_final && self.wants_all())?
        } else {
            std::ptr::null_mut()
        };
        let as_bytes = !data.uncombined && self.target().collective().is_none_or(|target| !target.has_operator());
        let mut call = self.call(
            term,
            function,
            comm,
            &blocks,
            (place, root),
            (data.at, recv),
            &data,
            as_bytes,
        )?;
        if function == Function::Of(Gather) && lengths.iter().any(|length| *length != lengths[0]) {
            call.function = Function::Of(Gatherv);
        }
        self.push_call(call, form)?;
        data.at = recv;
        Ok(data)
    }

    /// Whether this rank wants all of the volume in its output, so that a part's call may write there.
    fn wants_all(&self) -> bool {
        let wanted = Self::shapes(self.target()).map(|(_, wanted)| wanted);
        wanted == Some(Shape::Everywhere) || (wanted == Some(Shape::AtRoot) && self.is_root())
    }

    /// From blocks part by part to blocks rank by rank: source, destination and length; none where they lie alike.
    fn reordering(&self) -> Option<Vec<(usize, usize, usize)>> {
        let mut from = 0;
        let mut copies = Vec::new();
        for rank in self.groups.parts.iter().flatten() {
            let (begin, length) = self.problem.block(*rank);
            copies.push((from, begin, length));
            from += length;
        }
        copies.iter().any(|(from, to, _)| from != to).then_some(copies)
    }

    /// The root gets every rank's block.
    fn gets(&mut self, term: &Term, repeat: usize, mut data: Data) -> Result<Data, String> {
        let p_ranks = self.problem.p_ranks;
        if data.held != Held::Everyone(Shape::Blocks) || data.layout != Layout::Contiguous || repeat != p_ranks {
            return Err(self.unfit(term, "p gets, of one rank's block each, make a gather"));
        }
        let Some(size) = &term.call.size else { return Ok(data) };
        let bytes = self.value(size, p_ranks)?;
        let (_, own) = self.problem.block(self.problem.rank);
        if bytes != own {
            return Err(self.unfit(term, &format!("it gets {bytes} bytes, and a block has {own}")));
        }
        self.window = Some((data.at, own));
        if self.is_root() {
            let (datatype, elements) = self.elements(bytes, false)?;
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

    fn pack(&mut self, term: &Term, mut data: Data) -> Result<Data, String> {
        let Held::Everyone(shape) = data.held else {
            return Err(self.unfit(term, "the data is with the leaders"));
        };
        if data.layout == Layout::Contiguous || term.call.attributes.sendtype != data.layout {
            return Err(self.unfit(term, &format!("the data lies as {}", data.layout)));
        }
        self.check_piece_size(term)?;
        let (pieces, bytes) = self.pieces(shape);
        let packed = self.scratch(pieces * bytes)?;
        if bytes > 0 {
            let datatype = self
                .datatypes
                .get(data.layout, bytes)
                .map_err(|error| error.to_string())?;
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

    fn unpack(&mut self, term: &Term, mut data: Data) -> Result<Data, String> {
        let layout = self.problem.task.recvtype;
        let Held::Everyone(shape) = data.held else {
            return Err(self.unfit(term, "the data is with the leaders"));
        };
        if data.layout != Layout::Contiguous || layout == Layout::Contiguous || term.call.attributes.recvtype != layout
        {
            return Err(self.unfit(
                term,
                &format!("the data lies as {} and shall lie as {layout}", data.layout),
            ));
        }
        self.check_piece_size(term)?;
        let is_bcast_root = self.target() == Function::Of(Collective::Bcast) && self.is_root();
        data.layout = layout;
        if is_bcast_root {
            // Its data never left its place.
            data.at = self.memory.recv;
            return Ok(data);
        }
        let (pieces, bytes) = self.pieces(shape);
        if bytes > 0 {
            let datatype = self.datatypes.get(layout, bytes).map_err(|error| error.to_string())?;
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

    /// A rank packs its block or the whole volume.
    fn check_piece_size(&self, term: &Term) -> Result<(), String> {
        let Some(size) = &term.call.size else { return Ok(()) };
        let value = self.value(size, self.problem.p_ranks)?;
        let (n, block) = (self.problem.n_bytes, self.problem.n_bytes / self.problem.p_ranks);
        if value == n || value == block {
            return Ok(());
        }
        Err(self.unfit(
            term,
            &format!("it copies {value} bytes, and the data is {n}, a block {block}"),
        ))
    }

    /// Copies the result to where the caller wants it, unless it is there.
    fn deliver(&mut self, data: Data, wanted: Shape) -> Result<(), String> {
        let Held::Everyone(shape) = data.held else {
            return Err(format!(
                "`{}` leaves its data with the leaders; a call on the parts must follow",
                self.side
            ));
        };
        let fits = shape == wanted || (shape == Shape::Everywhere && matches!(wanted, Shape::AtRoot | Shape::Blocks));
        if !fits {
            return Err(format!(
                "`{}` leaves its data as {shape:?}, but {wanted:?} is wanted, and no local copy converts that",
                self.side
            ));
        }
        let is_bcast_root = self.target() == Function::Of(Collective::Bcast) && self.is_root();
        let recv = self.memory.recv;
        if is_bcast_root || data.at == recv || (wanted == Shape::AtRoot && !self.is_root()) || data.at.is_null() {
            return Ok(());
        }
        let in_place_at_root = self.problem.in_place && self.is_root();
        if in_place_at_root {
            return Ok(());
        }
        if data.layout != self.problem.task.recvtype {
            return Err(format!(
                "`{}` leaves its data as {}, but {} is wanted",
                self.side, data.layout, self.problem.task.recvtype
            ));
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

/// Whether a call leaves the data in the buffer where it finds it.
fn keeps_data_in_place(call: &expression::Call) -> bool {
    match &call.operation {
        Operation::Single(Single::Wait | Single::Fence) => true,
        Operation::Collective(Some(Function::Barrier), _) => true,
        Operation::Collective(Some(Function::Of(Collective::Bcast)), _) => !call.is_typed(),
        _ => false,
    }
}

/// A pointer that is not null where it is not used, because some libraries look at it all the same; what is given and what is
/// got are apart, because some refuse one buffer for both.
fn valid(pointer: *mut u8, bytes: usize, end: End) -> *mut c_void {
    static NOWHERE: [u64; 4] = [0; 4];
    if pointer.is_null() || bytes == 0 {
        // The pointer of an empty buffer may be what a library takes for MPI_IN_PLACE.
        return (&raw const NOWHERE[end as usize]).cast_mut().cast();
    }
    void(pointer)
}

/// Which end of a call a buffer is.
#[derive(Debug, Clone, Copy)]
enum End {
    Given = 0,
    Got = 2,
}
