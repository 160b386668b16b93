//! Calls on lanes, and calls on parts whose ranks share the data out among the lanes (Traeff and Hunold 2020).
//!
//! With `k` ranks in each of `l` parts, share `j` is what lane `j` carries: of a volume without blocks its `j`-th piece of `n/k` bytes, of
//! blocks those of the lane's ranks, part by part. Blocks in the order of ranks are copied into the order of lanes, or back, where the two
//! differ.

use kilter_algorithms::{Collective, Shape};
use kilter_mpi::constants;
use kilter_protocol::expression::{Communicator, Counts, Form, Layout, Term};

use super::super::Compiler;
use super::super::calls::{Blocks, Call};
use super::arguments::{End, valid};
use super::{Block, Data, Held};
use crate::reason::{Reason, Unfit};

/// Data after a call on lanes (`true`) or on parts; none where the call does not continue from the data.
fn after(on_lane: bool, function: Collective, held: Held, by_lanes: bool) -> Option<Held> {
    use Collective::{Allgather, Allreduce, Alltoall, Bcast, Gather, Reduce, ReduceScatterBlock, Scatter};
    use Held::{BlocksForLane, Everyone, PartialShares, SharesAtRootPart, SharesInParts};
    Some(match (on_lane, function, held) {
        (false, Scatter, Everyone(Shape::AtRoot))
        | (true, Reduce, PartialShares)
        | (true, Gather, Everyone(Shape::Blocks)) => SharesAtRootPart,
        (false, ReduceScatterBlock, Everyone(Shape::Contributions)) => PartialShares,
        (true, Bcast, SharesAtRootPart)
        | (true, Allreduce, PartialShares)
        | (true, Allgather, Everyone(Shape::Blocks)) => SharesInParts,
        (false, Allgather, SharesInParts) => Everyone(Shape::Everywhere),
        (false, Gather, SharesAtRootPart) => Everyone(Shape::AtRoot),
        (true, Scatter, SharesAtRootPart) | (true, ReduceScatterBlock, PartialShares) if by_lanes => {
            Everyone(Shape::Blocks)
        }
        (false, Alltoall, Everyone(Shape::BlocksForEach)) => BlocksForLane,
        (true, Alltoall, BlocksForLane) => Everyone(Shape::BlocksFromEach),
        _ => return None,
    })
}

/// A call between two buffers of which each is as long as its data.
struct Between {
    send: *mut u8,
    recv: *mut u8,
    /// Bytes of one count of the call.
    bytes: usize,
    root: usize,
}

impl Compiler<'_> {
    /// A call on lanes, or on parts that share data out among them; none where it is neither.
    pub(super) fn on_lanes(
        &mut self,
        term: &Term,
        function: Collective,
        form: Form,
        mut data: Data,
        is_last: bool,
    ) -> Result<Option<Data>, Reason> {
        let on_lane = term.call.on == Communicator::Lane;
        if self.groups.by_lane.is_empty() || !(on_lane || term.call.on.is_group()) {
            return Ok(None);
        }
        let Some(held) = after(on_lane, function, data.held, data.by_lanes) else {
            return Ok(None);
        };
        let is_plain = form == Form::Blocking && !term.call.is_typed() && self.problem.task.counts == Counts::Uniform;
        if !is_plain || data.layout != Layout::Contiguous || data.packed {
            return Err(self.unfit(term, Unfit::PlainOnLanes));
        }
        let (parts, ranks) = (self.groups.by_lane.len(), self.groups.by_lane[0].len());
        let is_whole = !on_lane || function == Collective::Alltoall;
        let (n_bytes, q_ranks) = (self.problem.n_bytes, if on_lane { parts } else { ranks });
        self.check_size(term, q_ranks, if is_whole { n_bytes } else { n_bytes / ranks })?;

        let is_final = is_last && matches!(held, Held::Everyone(shape) if self.wanted() == Some(shape));
        let between = if on_lane {
            Some(self.between_on_lane(function, &data, is_final)?)
        } else {
            self.between_on_part(function, &data, is_final)?
        };
        let by_lanes = match (on_lane, function) {
            (false, Collective::Scatter | Collective::ReduceScatterBlock) => self.wanted() == Some(Shape::Blocks),
            (true, Collective::Allgather | Collective::Gather) => true,
            _ => data.by_lanes,
        };
        data.at = std::ptr::null_mut();
        if let Some(between) = between {
            self.call_on(term, function, &between)?;
            data.at = between.recv;
        }
        let order = match held {
            Held::Everyone(Shape::Everywhere | Shape::AtRoot) if by_lanes => self.lane_order(),
            Held::Everyone(Shape::BlocksFromEach) => self.part_order(),
            _ => None,
        };
        if let Some(order) = order.filter(|_| !data.at.is_null()) {
            data.at = self.sorted_by_rank(data.at, &order, is_final)?;
        }
        data.by_lanes = by_lanes && !matches!(held, Held::Everyone(_));
        data.uncombined &= !matches!(held, Held::Everyone(_) | Held::SharesInParts | Held::SharesAtRootPart);
        data.held = held;
        Ok(Some(data))
    }

    /// Shape of the data that the composition has to leave.
    fn wanted(&self) -> Option<Shape> {
        Self::shapes(self.target()).map(|(_, wanted)| wanted)
    }

    /// Bytes of a share of the volume, one for each rank of a part.
    fn share(&self) -> usize {
        self.problem.n_bytes / self.groups.by_lane[0].len()
    }

    /// Buffers of a call on parts; none where this rank's part takes no part in it.
    fn between_on_part(
        &mut self,
        function: Collective,
        data: &Data,
        is_final: bool,
    ) -> Result<Option<Between>, Reason> {
        let (part, _) = self.groups.place_of(self.problem.rank);
        let (root_part, root) = self.groups.place_of(self.problem.root);
        let (n_bytes, bytes) = (self.problem.n_bytes, self.share());
        let wants_blocks = self.wanted() == Some(Shape::Blocks);
        let nowhere = std::ptr::null_mut();
        let (send, recv) = match function {
            // Only the root's part has what is shared out, or wants what is collected.
            Collective::Scatter | Collective::Gather if part != root_part => return Ok(None),
            Collective::Scatter => {
                let send = if self.is_root() {
                    self.for_lanes(data.at, wants_blocks)?
                } else {
                    nowhere
                };
                (send, self.scratch(bytes)?)
            }
            Collective::ReduceScatterBlock => (self.for_lanes(data.at, wants_blocks)?, self.scratch(bytes)?),
            Collective::Alltoall => (self.for_lanes(data.at, true)?, self.scratch(n_bytes)?),
            Collective::Gather if !self.is_root() => (data.at, nowhere),
            _ => {
                let is_moved = data.by_lanes && self.lane_order().is_some();
                (data.at, self.destination(n_bytes, is_final && !is_moved)?)
            }
        };
        Ok(Some(Between {
            send,
            recv,
            bytes,
            root,
        }))
    }

    /// Buffers of a call on lanes.
    fn between_on_lane(&mut self, function: Collective, data: &Data, is_final: bool) -> Result<Between, Reason> {
        let (part, _) = self.groups.place_of(self.problem.rank);
        let (root, _) = self.groups.place_of(self.problem.root);
        let at_root_part = part == root;
        let (share, block) = (self.share(), self.problem.n_bytes / self.problem.p_ranks);
        let nowhere = std::ptr::null_mut();
        let (send, recv, bytes) = match function {
            Collective::Bcast => {
                let at = if at_root_part { data.at } else { self.scratch(share)? };
                (at, at, share)
            }
            Collective::Allreduce => (data.at, self.scratch(share)?, share),
            Collective::Reduce | Collective::Gather => {
                let recv = if at_root_part { self.scratch(share)? } else { nowhere };
                let bytes = if function == Collective::Gather { block } else { share };
                (data.at, recv, bytes)
            }
            Collective::Allgather => (data.at, self.scratch(share)?, block),
            Collective::Alltoall => {
                let is_moved = self.part_order().is_some();
                let (n_bytes, parts) = (self.problem.n_bytes, self.groups.by_lane.len());
                let send = self.for_parts(data.at)?;
                (send, self.destination(n_bytes, is_final && !is_moved)?, n_bytes / parts)
            }
            _ => {
                let send = if at_root_part || function != Collective::Scatter {
                    data.at
                } else {
                    nowhere
                };
                (send, self.destination(block, is_final)?, block)
            }
        };
        Ok(Between {
            send,
            recv,
            bytes,
            root,
        })
    }

    /// The call, on elements where they are whole, else on bytes.
    fn call_on(&mut self, term: &Term, function: Collective, between: &Between) -> Result<(), Reason> {
        let Some(group) = self.groups.find(term.call.on) else {
            return Err(self.unfit(term, Unfit::NoCommunicator));
        };
        let comm = group.comm;
        let &Between {
            send,
            recv,
            bytes,
            root,
        } = between;
        let is_whole = bytes.is_multiple_of(self.problem.operand.bytes() as usize);
        let combines = function.has_operator();
        let (datatype, count) = self.elements(bytes, !is_whole && !combines)?;
        let op = if combines {
            self.operator(term.call.attributes.user_operator, false)?
        } else {
            constants::op_null()
        };
        let call = Call {
            function,
            comm,
            send: valid(send, bytes, End::Given).cast_const(),
            send_count: count,
            send_type: datatype,
            recv: valid(recv, bytes, End::Got),
            recv_count: count,
            recv_type: datatype,
            send_blocks: Blocks::default(),
            recv_blocks: Blocks::default(),
            op,
            root: root as std::ffi::c_int,
        };
        self.push_call(call, Form::Blocking)
    }

    /// Copies between blocks in this order of ranks and blocks in rank order: places there and here, and lengths; none where both are one.
    fn order(&self, ranks: &[usize]) -> Option<Vec<(usize, usize, usize)>> {
        let copies: Vec<(usize, usize, usize)> = ranks
            .iter()
            .scan(0, |place, rank| {
                let (begin, length): Block = self.problem.block(*rank);
                *place += length;
                Some((*place - length, begin, length))
            })
            .collect();
        copies.iter().any(|(place, begin, _)| place != begin).then_some(copies)
    }

    /// [`Self::order`] of the lanes' ranks, lane by lane.
    fn lane_order(&self) -> Option<Vec<(usize, usize, usize)>> {
        let by_lane = &self.groups.by_lane;
        let numbers = 0..by_lane.first().map_or(0, Vec::len);
        let ranks: Vec<usize> = numbers
            .flat_map(|number| by_lane.iter().map(move |part| part[number]))
            .collect();
        self.order(&ranks)
    }

    /// [`Self::order`] of the parts' ranks, part by part.
    fn part_order(&self) -> Option<Vec<(usize, usize, usize)>> {
        let ranks: Vec<usize> = self.groups.by_lane.iter().flatten().copied().collect();
        self.order(&ranks)
    }

    /// All blocks lane by lane, copied where `is_wanted` and where that is not their order.
    fn for_lanes(&mut self, at: *mut u8, is_wanted: bool) -> Result<*mut u8, Reason> {
        let Some(order) = self.lane_order().filter(|_| is_wanted) else {
            return Ok(at);
        };
        let sorted = self.scratch(self.problem.n_bytes)?;
        for (place, begin, length) in order {
            // SAFETY: both hold the whole volume.
            unsafe { self.copy(at.add(begin), sorted.add(place), length) };
        }
        Ok(sorted)
    }

    /// Blocks from each rank of the part, for each part in turn, as blocks for each part, from each rank in turn.
    fn for_parts(&mut self, at: *mut u8) -> Result<*mut u8, Reason> {
        let (parts, ranks) = (self.groups.by_lane.len(), self.groups.by_lane[0].len());
        if parts == 1 || ranks == 1 {
            return Ok(at);
        }
        let block = self.problem.n_bytes / self.problem.p_ranks;
        let turned = self.scratch(self.problem.n_bytes)?;
        for from in 0..ranks {
            for to in 0..parts {
                // SAFETY: both hold a block for each rank and part.
                unsafe {
                    let (here, there) = ((from * parts + to) * block, (to * ranks + from) * block);
                    self.copy(at.add(here), turned.add(there), block);
                }
            }
        }
        Ok(turned)
    }

    /// The whole volume in rank order.
    fn sorted_by_rank(
        &mut self,
        at: *mut u8,
        order: &[(usize, usize, usize)],
        is_final: bool,
    ) -> Result<*mut u8, Reason> {
        let sorted = self.destination(self.problem.n_bytes, is_final)?;
        for (place, begin, length) in order {
            // SAFETY: both hold the whole volume.
            unsafe { self.copy(at.add(*place), sorted.add(*begin), *length) };
        }
        Ok(sorted)
    }
}
