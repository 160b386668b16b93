//! A collective by calls of itself at another volume: in parts, or padded. The local copies that this takes are made in every run.

use kilter_algorithms::Collective;
use kilter_algorithms::closing::Way;
use mpi_sys::MPI_Comm;

use crate::in_use::InUse;
use crate::layout::Layout;
use crate::{Arena, CallArguments, Caller, Division, MpiError, constants};

/// Carries a collective out by calls of itself on `inside` elements of each block (of the whole, where there are no blocks): one after the other, the last
/// one with what is left, or a single one that is padded.
///
/// # Safety
/// As for [`crate::library_call`]. `comm` is an intracommunicator with this arena, elements lie within their extent, and all ranks pass the same
/// collective, way and `inside`.
pub unsafe fn closing_call(
    caller: &mut dyn Caller,
    (collective, way, inside): (Collective, Way, usize),
    comm: MPI_Comm,
    arguments: &CallArguments,
    arena: &mut Arena,
) -> Result<(), MpiError> {
    let mut call = Call::of(collective, comm, arguments, arena)?;
    if call.length == 0 {
        return Ok(());
    }
    // SAFETY: by this function's contract.
    unsafe {
        match way {
            Way::Split => call.split(caller, inside.max(1)),
            Way::Padded => call.padded(caller, inside),
        }
    }
}

/// Data of one side of a call on this rank: so many blocks, none if it has no such data.
#[derive(Debug, Clone, Copy)]
struct Side {
    at: *mut u8,
    blocks: usize,
}

/// A call on this rank, with the scratch that it uses.
struct Call<'a> {
    collective: Collective,
    comm: MPI_Comm,
    arguments: &'a CallArguments,
    rank: usize,
    is_root: bool,
    /// Distance from one element to the next.
    element_bytes: usize,
    /// Elements of a block, or of the whole where there are no blocks.
    length: usize,
    /// Blocks of the total volume; 1 where there are no blocks.
    blocks: usize,
    given: Side,
    taken: Side,
    in_use: InUse<'a>,
}

impl<'a> Call<'a> {
    fn of(
        collective: Collective,
        comm: MPI_Comm,
        arguments: &'a CallArguments,
        arena: &'a mut Arena,
    ) -> Result<Call<'a>, MpiError> {
        let operation = collective.mpi_name();
        let refused = |code| MpiError { operation, code };
        let (rank, p_ranks) = arena.place(comm)?;
        let is_root = usize::try_from(arguments.root).is_ok_and(|root| root == rank);
        let at_root = |blocks| if is_root { blocks } else { 0 };
        let (given, taken) = match collective {
            Collective::Allgather => (1, p_ranks),
            Collective::Allreduce | Collective::Exscan | Collective::Scan => (1, 1),
            Collective::Alltoall => (p_ranks, p_ranks),
            // One buffer, which the root gives and the others get.
            Collective::Bcast => (0, 1),
            Collective::Gather => (1, at_root(p_ranks)),
            Collective::Reduce => (1, at_root(1)),
            Collective::ReduceScatter | Collective::ReduceScatterBlock => (p_ranks, 1),
            Collective::Scatter => (at_root(p_ranks), 1),
            Collective::Allgatherv
            | Collective::Alltoallv
            | Collective::Barrier
            | Collective::Gatherv
            | Collective::ReduceLocal
            | Collective::Scatterv => return Err(refused(constants::err_other())),
        };
        let blocks = if collective.has_blocks() { p_ranks } else { 1 };
        if !arguments.count.is_multiple_of(blocks) {
            return Err(refused(constants::err_count()));
        }
        let element_bytes = usize::try_from(Layout::of(arguments.datatype)?.extent);
        Ok(Call {
            collective,
            comm,
            arguments,
            rank,
            is_root,
            element_bytes: element_bytes.map_err(|_| refused(constants::err_other()))?,
            length: arguments.count / blocks,
            blocks,
            given: Side {
                at: arguments.send.cast_mut().cast(),
                blocks: given,
            },
            taken: Side {
                at: arguments.recv.cast(),
                blocks: taken,
            },
            in_use: InUse::of(arena, operation),
        })
    }

    /// Makes it in parts of `inside` elements of each block.
    ///
    /// # Safety
    /// As for [`closing_call`].
    unsafe fn split(&mut self, caller: &mut dyn Caller, inside: usize) -> Result<(), MpiError> {
        let length = self.length;
        // One block lies in one piece; several blocks of a part are copied together. One copy of each side serves all parts.
        let [given, taken] =
            [self.given, self.taken].map(|side| if side.blocks > 1 { side.blocks * inside } else { 0 });
        let [copied, got] = [self.scratch(given)?, self.scratch(taken)?];
        for begin in (0..length).step_by(inside) {
            let part = inside.min(length - begin);
            // SAFETY: the sides are those of the call, by this function's contract, and copies hold a part of each block.
            unsafe {
                let mut send = self.element(self.given.at, begin);
                if !copied.is_null() {
                    self.copy(
                        (self.given.at, begin, length),
                        (copied, 0, part),
                        (self.given.blocks, part),
                    );
                    send = copied;
                }
                let recv = if got.is_null() {
                    self.element(self.taken.at, begin)
                } else {
                    got
                };
                self.make(caller, (send, recv), part)?;
                if !got.is_null() {
                    self.copy(
                        (got, 0, part),
                        (self.taken.at, begin, length),
                        (self.taken.blocks, part),
                    );
                }
            }
        }
        Ok(())
    }

    /// Makes it on `inside` elements of each block, or as many as there are. Operands are padded with copies of an element that is there, on which
    /// every predefined operator is defined.
    ///
    /// # Safety
    /// As for [`closing_call`].
    unsafe fn padded(&mut self, caller: &mut dyn Caller, inside: usize) -> Result<(), MpiError> {
        let (length, inside) = (self.length, inside.max(self.length));
        let send = self.scratch(self.given.blocks * inside)?;
        let recv = self.scratch(self.taken.blocks * inside)?;
        let is_source = self.collective == Collective::Bcast && self.is_root;
        // The lowest rank of an exclusive scan gets nothing.
        let is_untouched = self.collective == Collective::Exscan && self.rank == 0;
        // SAFETY: the sides are those of the call, by this function's contract, and copies hold `inside` elements of each block.
        unsafe {
            self.copy(
                (self.given.at, 0, length),
                (send, 0, inside),
                (self.given.blocks, length),
            );
            if self.collective.has_operator() {
                for block in 0..self.given.blocks {
                    self.pad(self.element(send, block * inside), length, inside);
                }
            }
            if is_source {
                self.copy((self.taken.at, 0, length), (recv, 0, inside), (1, length));
            }
            self.make(caller, (send, recv), inside)?;
            if !is_source && !is_untouched {
                self.copy(
                    (recv, 0, inside),
                    (self.taken.at, 0, length),
                    (self.taken.blocks, length),
                );
            }
        }
        Ok(())
    }

    /// Scratch for so many elements, until the call ends; null for none.
    fn scratch(&mut self, elements: usize) -> Result<*mut u8, MpiError> {
        if elements == 0 {
            return Ok(std::ptr::null_mut());
        }
        self.in_use.scratch(elements.saturating_mul(self.element_bytes))
    }

    /// The address of an element.
    fn element(&self, at: *mut u8, place: usize) -> *mut u8 {
        if at.is_null() {
            return at;
        }
        at.wrapping_add(place * self.element_bytes)
    }

    /// Copies `elements` of each of `blocks` blocks; both ends are an address, the first element there, and the distance of blocks in elements.
    ///
    /// # Safety
    /// Both ends hold these elements, and have no byte in common.
    unsafe fn copy(
        &self,
        (from, from_first, from_stride): (*mut u8, usize, usize),
        (to, to_first, to_stride): (*mut u8, usize, usize),
        (blocks, elements): (usize, usize),
    ) {
        for block in 0..blocks {
            let from = self.element(from, from_first + block * from_stride);
            let to = self.element(to, to_first + block * to_stride);
            // SAFETY: by this function's contract.
            unsafe { to.copy_from_nonoverlapping(from, elements * self.element_bytes) };
        }
    }

    /// Fills the elements from `length` to `total` with copies of the first one.
    ///
    /// # Safety
    /// There is room for `total` elements at `at`, and the first one is there.
    unsafe fn pad(&self, at: *mut u8, length: usize, total: usize) {
        let end = total * self.element_bytes;
        let mut filled = length * self.element_bytes;
        if filled >= end {
            return;
        }
        let begin = filled;
        // SAFETY: within the room that this function's contract names; what is copied has been written before, and lies before its copy.
        unsafe {
            at.add(begin).copy_from_nonoverlapping(at, self.element_bytes);
            filled += self.element_bytes;
            // Each copy is as long as all copies before it.
            while filled < end {
                let more = (filled - begin).min(end - filled);
                at.add(filled).copy_from_nonoverlapping(at.add(begin), more);
                filled += more;
            }
        }
    }

    /// Makes the call on so many elements of each block.
    ///
    /// # Safety
    /// The buffers are those of such a call; all ranks make it.
    unsafe fn make(
        &mut self,
        caller: &mut dyn Caller,
        (send, recv): (*mut u8, *mut u8),
        elements: usize,
    ) -> Result<(), MpiError> {
        let arguments = CallArguments {
            send: send.cast_const().cast(),
            recv: recv.cast(),
            count: elements * self.blocks,
            ..*self.arguments
        };
        // SAFETY: by this function's contract.
        unsafe {
            caller.call(
                self.collective,
                self.comm,
                &arguments,
                Division::Equal,
                self.in_use.arena,
            )
        }
    }
}
