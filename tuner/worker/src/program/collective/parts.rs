//! Calls on parts of the ranks and on their leaders.

use kilter_algorithms::{Collective, Shape};
use kilter_mpi::constants;
use kilter_protocol::expression::{Communicator, Form, Term};

use super::super::Compiler;
use super::{Block, Data, Held};
use crate::reason::{Reason, Unfit};

impl Compiler<'_> {
    /// A call on parts of the ranks, or on their leaders.
    pub(super) fn on_part(
        &mut self,
        term: &Term,
        function: Collective,
        form: Form,
        mut data: Data,
        is_last: bool,
    ) -> Result<Data, Reason> {
        let Some(group) = self.groups.find(term.call.on) else {
            return Err(self.unfit(term, Unfit::NoCommunicator));
        };
        if term.call.on == Communicator::Lane {
            return Err(self.unfit(term, Unfit::HeldOtherwise(format!("{:?}", data.held))));
        }
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
            (false, Reduce, Held::Everyone(Shape::Contributions)) => (Held::PartialAtLeaders, n_bytes),
            (false, Gather | Gatherv, Held::Everyone(Shape::Blocks)) => (Held::BlocksAtLeaders, total),
            (false, Bcast, Held::AllAtLeaders) => (Held::Everyone(Shape::Everywhere), n_bytes),
            (true, Bcast, Held::Everyone(Shape::AtRoot)) => (Held::AllAtLeaders, n_bytes),
            (true, Reduce, Held::PartialAtLeaders) => (Held::Everyone(Shape::AtRoot), n_bytes),
            (true, Allreduce, Held::PartialAtLeaders) => (Held::AllAtLeaders, n_bytes),
            (true, Gather | Gatherv, Held::BlocksAtLeaders) => (Held::Everyone(Shape::AtRoot), n_bytes),
            (true, Collective::Allgatherv, Held::BlocksAtLeaders) => (Held::AllAtLeaders, n_bytes),
            (_, _, held) => {
                return Err(self.unfit(term, Unfit::HeldOtherwise(format!("{held:?}"))));
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
        let is_bcast = function == Bcast;
        let is_group_root = place == root;
        let all_receive = matches!(function, Bcast | Allreduce | Collective::Allgatherv);
        let is_final = is_last && !data.by_parts && matches!(held, Held::Everyone(_) | Held::AllAtLeaders);
        let recv = if is_bcast && is_group_root {
            data.at
        } else if is_group_root || all_receive {
            self.destination(bytes, is_final && self.wants_all())?
        } else {
            std::ptr::null_mut()
        };
        let as_bytes = !data.uncombined && !self.target().has_operator();
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
        if function == Gather && lengths.iter().any(|length| *length != lengths[0]) {
            call.function = Gatherv;
        }
        self.push_call(call, form)?;
        data.at = recv;
        Ok(data)
    }

    /// True if this rank wants all of the volume in its output, so that a part's call may write there.
    fn wants_all(&self) -> bool {
        let wanted = Self::shapes(self.target()).map(|(_, wanted)| wanted);
        wanted == Some(Shape::Everywhere) || (wanted == Some(Shape::AtRoot) && self.is_root())
    }

    /// Copies from blocks part by part to blocks rank by rank: source, destination and length; `None` if the order is
    /// the same.
    pub(super) fn reordering(&self) -> Option<Vec<(usize, usize, usize)>> {
        let mut from = 0;
        let mut copies = Vec::new();
        for rank in self.groups.parts.iter().flatten() {
            let (begin, length) = self.problem.block(*rank);
            copies.push((from, begin, length));
            from += length;
        }
        copies.iter().any(|(from, to, _)| from != to).then_some(copies)
    }
}
