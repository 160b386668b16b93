//! A problem as a call: of a row through the plugin ABI, and of the library's own collective.

use std::ffi::{c_int, c_void};

use kilter_abi::Arguments;
use kilter_algorithms::Collective;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, constants};

use crate::problem::{Blocks, Problem};

/// Handles and buffers of a call on this rank.
pub(crate) struct Call<'a> {
    pub(crate) collective: Collective,
    pub(crate) problem: &'a Problem,
    pub(crate) datatype: MPI_Datatype,
    pub(crate) element_bytes: usize,
    pub(crate) op: MPI_Op,
    pub(crate) root: usize,
    pub(crate) send: *const c_void,
    pub(crate) recv: *mut c_void,
}

/// Lists of a call as the ABI has them: they live as long as it.
pub(crate) struct Lists([Vec<i64>; 4]);

impl Lists {
    pub(crate) fn new(problem: &Problem) -> Lists {
        let wide = |list: &[usize]| list.iter().map(|value| *value as i64).collect();
        let Problem {
            send_blocks,
            recv_blocks,
            ..
        } = problem;
        Lists([
            wide(&send_blocks.counts),
            wide(&send_blocks.displacements),
            wide(&recv_blocks.counts),
            wide(&recv_blocks.displacements),
        ])
    }
}

impl Call<'_> {
    /// The program's buffer, or `MPI_IN_PLACE`.
    fn send(&self) -> *const c_void {
        if self.problem.send_in_place {
            constants::in_place()
        } else {
            self.send
        }
    }

    fn recv(&self) -> *mut c_void {
        if self.problem.recv_in_place {
            constants::in_place().cast_mut()
        } else {
            self.recv
        }
    }

    /// The arguments for a row. What MPI does not define on this rank is what no row may use.
    pub(crate) fn arguments(&self, lists: &Lists) -> Arguments {
        let Problem {
            has_send,
            has_recv,
            send_in_place,
            recv_in_place,
            ..
        } = *self.problem;
        let (collective, null) = (self.collective, constants::datatype_null());
        let list = |place: usize, wanted: bool| {
            if wanted {
                lists.0[place].as_ptr()
            } else {
                std::ptr::null()
            }
        };
        let is_v = |other: Collective| collective == other;
        let send_lists = is_v(Collective::Alltoallv) || is_v(Collective::Scatterv) && has_send;
        let recv_lists =
            is_v(Collective::Alltoallv) || is_v(Collective::Allgatherv) || is_v(Collective::Gatherv) && has_recv;
        let of_blocks = |lists: bool, count: usize, defined: bool| match (lists, defined) {
            (true, _) => 0,
            (_, true) => count as i64,
            // Undefined: such numbers are in programs.
            (_, false) => -7,
        };
        let op_or_barrier = collective.has_operator() || !collective.has_data();
        let moves = !op_or_barrier && collective != Collective::Bcast;
        Arguments {
            struct_size: size_of::<Arguments>() as u32,
            collective: kilter_abi::collective_number(collective.name()).unwrap_or(u32::MAX),
            algorithm: std::ptr::null(),
            send: if has_send { self.send() } else { std::ptr::null() },
            recv: if has_recv { self.recv() } else { std::ptr::null_mut() },
            send_count: if moves {
                of_blocks(send_lists, self.problem.send_count, has_send && !send_in_place)
            } else {
                0
            },
            recv_count: if !collective.has_data() || collective == Collective::ReduceScatter {
                0
            } else if collective.has_operator() {
                self.problem.recv_count as i64
            } else {
                of_blocks(recv_lists, self.problem.recv_count, has_recv && !recv_in_place)
            },
            send_type: if moves && has_send && !send_in_place {
                self.datatype
            } else {
                null
            },
            recv_type: if collective.has_data() && (collective.has_operator() || has_recv && !recv_in_place) {
                self.datatype
            } else {
                null
            },
            send_counts: list(0, send_lists),
            send_displacements: list(1, send_lists),
            recv_counts: list(2, recv_lists || is_v(Collective::ReduceScatter)),
            recv_displacements: list(3, recv_lists),
            op: self.op,
            root: if collective.has_root() { self.root as i32 } else { 0 },
            bytes: self.problem.volume.unwrap_or(0) as u64 * self.element_bytes as u64,
            parameters: std::ptr::null(),
        }
    }

    /// Calls the library's own collective; returns its code.
    ///
    /// # Safety
    /// The buffers are those of the problem; all ranks of `comm` make the same call.
    pub(crate) unsafe fn library(&self, comm: MPI_Comm) -> c_int {
        let (send, recv) = (self.send(), self.recv());
        let (sends, recvs) = (self.problem.send_count as c_int, self.problem.recv_count as c_int);
        let (datatype, op, root) = (self.datatype, self.op, self.root as c_int);
        let narrow = |list: &[usize]| list.iter().map(|value| *value as c_int).collect::<Vec<c_int>>();
        let lists = |blocks: &Blocks| (narrow(&blocks.counts), narrow(&blocks.displacements));
        let (send_counts, send_places) = lists(&self.problem.send_blocks);
        let (recv_counts, recv_places) = lists(&self.problem.recv_blocks);
        let (sc, sd) = (send_counts.as_ptr(), send_places.as_ptr());
        let (rc, rd) = (recv_counts.as_ptr(), recv_places.as_ptr());
        let t = datatype;
        // SAFETY: by this function's contract; lists have an entry for each rank where they mean anything.
        unsafe {
            match self.collective {
                Collective::Allgather => mpi_sys::PMPI_Allgather(send, sends, t, recv, recvs, t, comm),
                Collective::Allgatherv => mpi_sys::PMPI_Allgatherv(send, sends, t, recv, rc, rd, t, comm),
                Collective::Allreduce => mpi_sys::PMPI_Allreduce(send, recv, recvs, t, op, comm),
                Collective::Alltoall => mpi_sys::PMPI_Alltoall(send, sends, t, recv, recvs, t, comm),
                Collective::Alltoallv => mpi_sys::PMPI_Alltoallv(send, sc, sd, t, recv, rc, rd, t, comm),
                Collective::Barrier => mpi_sys::PMPI_Barrier(comm),
                Collective::Bcast => mpi_sys::PMPI_Bcast(recv, recvs, t, root, comm),
                Collective::Exscan => mpi_sys::PMPI_Exscan(send, recv, recvs, t, op, comm),
                Collective::Gather => mpi_sys::PMPI_Gather(send, sends, t, recv, recvs, t, root, comm),
                Collective::Gatherv => mpi_sys::PMPI_Gatherv(send, sends, t, recv, rc, rd, t, root, comm),
                Collective::Reduce => mpi_sys::PMPI_Reduce(send, recv, recvs, t, op, root, comm),
                Collective::ReduceScatter => mpi_sys::PMPI_Reduce_scatter(send, recv, rc, t, op, comm),
                Collective::ReduceScatterBlock => mpi_sys::PMPI_Reduce_scatter_block(send, recv, recvs, t, op, comm),
                Collective::Scan => mpi_sys::PMPI_Scan(send, recv, recvs, t, op, comm),
                Collective::Scatter => mpi_sys::PMPI_Scatter(send, sends, t, recv, recvs, t, root, comm),
                Collective::Scatterv => mpi_sys::PMPI_Scatterv(send, sc, sd, t, recv, recvs, t, root, comm),
                // Not of several ranks: the caller has no cases of it.
                Collective::ReduceLocal => constants::err_other(),
            }
        }
    }
}
