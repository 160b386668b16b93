//! Collectives. The volume of a call is the `n` of guidelines: of a gather, scatter, allgather or alltoall the blocks of all ranks together.
//!
//! Data in place are counted by the call's other side, as the library reads them.

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op};
use mpi_sys::{MPI_Aint, MPI_Request};

use super::{In, Out, Types, counted, without_counts};
use crate::call::{Call, Data};

counted! {
    (buffer: Out, count: N, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(count, datatype)).at_root(root, Data::Elements(count, datatype))):
        Bcast MPI_Bcast PMPI_Bcast MPI_Bcast_c PMPI_Bcast_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm) =>
        (Call::on(comm, Data::Blocks(send_count, send_type)).at_root(root, Data::Blocks(recv_count, recv_type))):
        Gather MPI_Gather PMPI_Gather MPI_Gather_c PMPI_Gather_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(send_count, send_type)).at_root(root, Data::List(recv_counts, recv_type))):
        Gatherv MPI_Gatherv PMPI_Gatherv MPI_Gatherv_c PMPI_Gatherv_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm) =>
        (Call::on(comm, Data::Blocks(recv_count, recv_type)).at_root(root, Data::Blocks(send_count, send_type))):
        Scatter MPI_Scatter PMPI_Scatter MPI_Scatter_c PMPI_Scatter_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype, recv: Out, recv_count: N,
     recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(recv_count, recv_type)).at_root(root, Data::List(send_counts, send_type))):
        Scatterv MPI_Scatterv PMPI_Scatterv MPI_Scatterv_c PMPI_Scatterv_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, comm: MPI_Comm) =>
        (Call::on(comm, Data::Blocks(recv_count, recv_type))):
        Allgather MPI_Allgather PMPI_Allgather MPI_Allgather_c PMPI_Allgather_c,
        Alltoall MPI_Alltoall PMPI_Alltoall MPI_Alltoall_c PMPI_Alltoall_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, comm: MPI_Comm) =>
        (Call::on(comm, Data::List(recv_counts, recv_type))):
        Allgatherv MPI_Allgatherv PMPI_Allgatherv MPI_Allgatherv_c PMPI_Allgatherv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype, comm: MPI_Comm) =>
        (Call::on(comm, Data::List(recv_counts, recv_type))):
        Alltoallv MPI_Alltoallv PMPI_Alltoallv MPI_Alltoallv_c PMPI_Alltoallv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_types: Types,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_types: Types, comm: MPI_Comm) =>
        (Call::on(comm, Data::Lists(recv_counts, recv_types))):
        Alltoallw MPI_Alltoallw PMPI_Alltoallw MPI_Alltoallw_c PMPI_Alltoallw_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(count, datatype)).with(op)):
        Allreduce MPI_Allreduce PMPI_Allreduce MPI_Allreduce_c PMPI_Allreduce_c,
        Scan MPI_Scan PMPI_Scan MPI_Scan_c PMPI_Scan_c,
        Exscan MPI_Exscan PMPI_Exscan MPI_Exscan_c PMPI_Exscan_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm) =>
        (Call::on(comm, Data::Blocks(count, datatype)).with(op)):
        Reduce_scatter_block MPI_Reduce_scatter_block PMPI_Reduce_scatter_block MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c;
    (send: In, recv: Out, recv_counts: *const N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm) =>
        (Call::on(comm, Data::ListOfOwn(recv_counts, datatype)).with(op)):
        Reduce_scatter MPI_Reduce_scatter PMPI_Reduce_scatter MPI_Reduce_scatter_c PMPI_Reduce_scatter_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, root: c_int, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(count, datatype)).with(op).at_root(root, Data::Elements(count, datatype))):
        Reduce MPI_Reduce PMPI_Reduce MPI_Reduce_c PMPI_Reduce_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(send_count, send_type))):
        Neighbor_allgather MPI_Neighbor_allgather PMPI_Neighbor_allgather MPI_Neighbor_allgather_c PMPI_Neighbor_allgather_c,
        Neighbor_alltoall MPI_Neighbor_alltoall PMPI_Neighbor_alltoall MPI_Neighbor_alltoall_c PMPI_Neighbor_alltoall_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, comm: MPI_Comm) =>
        (Call::on(comm, Data::Elements(send_count, send_type))):
        Neighbor_allgatherv MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv MPI_Neighbor_allgatherv_c PMPI_Neighbor_allgatherv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype, comm: MPI_Comm) =>
        (Call::on(comm, Data::Nothing)):
        Neighbor_alltoallv MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv MPI_Neighbor_alltoallv_c PMPI_Neighbor_alltoallv_c;
    (send: In, send_counts: *const N, send_displacements: *const MPI_Aint, send_types: Types,
     recv: Out, recv_counts: *const N, recv_displacements: *const MPI_Aint, recv_types: Types, comm: MPI_Comm) =>
        (Call::on(comm, Data::Nothing)):
        Neighbor_alltoallw MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw MPI_Neighbor_alltoallw_c PMPI_Neighbor_alltoallw_c;
}

without_counts! {
    Barrier MPI_Barrier PMPI_Barrier (comm: MPI_Comm) => (Call::on(comm, Data::Nothing));
    Ibarrier MPI_Ibarrier PMPI_Ibarrier (comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Nothing).request(request));
}

// The same, begun and completed later.
counted! {
    (buffer: Out, count: N, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(count, datatype)).at_root(root, Data::Elements(count, datatype)).request(request)):
        Ibcast MPI_Ibcast PMPI_Ibcast MPI_Ibcast_c PMPI_Ibcast_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Blocks(send_count, send_type)).at_root(root, Data::Blocks(recv_count, recv_type)).request(request)):
        Igather MPI_Igather PMPI_Igather MPI_Igather_c PMPI_Igather_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(send_count, send_type)).at_root(root, Data::List(recv_counts, recv_type)).request(request)):
        Igatherv MPI_Igatherv PMPI_Igatherv MPI_Igatherv_c PMPI_Igatherv_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Blocks(recv_count, recv_type)).at_root(root, Data::Blocks(send_count, send_type)).request(request)):
        Iscatter MPI_Iscatter PMPI_Iscatter MPI_Iscatter_c PMPI_Iscatter_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype, recv: Out, recv_count: N,
     recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(recv_count, recv_type)).at_root(root, Data::List(send_counts, send_type)).request(request)):
        Iscatterv MPI_Iscatterv PMPI_Iscatterv MPI_Iscatterv_c PMPI_Iscatterv_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Blocks(recv_count, recv_type)).request(request)):
        Iallgather MPI_Iallgather PMPI_Iallgather MPI_Iallgather_c PMPI_Iallgather_c,
        Ialltoall MPI_Ialltoall PMPI_Ialltoall MPI_Ialltoall_c PMPI_Ialltoall_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::List(recv_counts, recv_type)).request(request)):
        Iallgatherv MPI_Iallgatherv PMPI_Iallgatherv MPI_Iallgatherv_c PMPI_Iallgatherv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::List(recv_counts, recv_type)).request(request)):
        Ialltoallv MPI_Ialltoallv PMPI_Ialltoallv MPI_Ialltoallv_c PMPI_Ialltoallv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_types: Types,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_types: Types, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Lists(recv_counts, recv_types)).request(request)):
        Ialltoallw MPI_Ialltoallw PMPI_Ialltoallw MPI_Ialltoallw_c PMPI_Ialltoallw_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(count, datatype)).with(op).request(request)):
        Iallreduce MPI_Iallreduce PMPI_Iallreduce MPI_Iallreduce_c PMPI_Iallreduce_c,
        Iscan MPI_Iscan PMPI_Iscan MPI_Iscan_c PMPI_Iscan_c,
        Iexscan MPI_Iexscan PMPI_Iexscan MPI_Iexscan_c PMPI_Iexscan_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Blocks(count, datatype)).with(op).request(request)):
        Ireduce_scatter_block MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block MPI_Ireduce_scatter_block_c PMPI_Ireduce_scatter_block_c;
    (send: In, recv: Out, recv_counts: *const N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::ListOfOwn(recv_counts, datatype)).with(op).request(request)):
        Ireduce_scatter MPI_Ireduce_scatter PMPI_Ireduce_scatter MPI_Ireduce_scatter_c PMPI_Ireduce_scatter_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, root: c_int, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(count, datatype)).with(op).at_root(root, Data::Elements(count, datatype)).request(request)):
        Ireduce MPI_Ireduce PMPI_Ireduce MPI_Ireduce_c PMPI_Ireduce_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(send_count, send_type)).request(request)):
        Ineighbor_allgather MPI_Ineighbor_allgather PMPI_Ineighbor_allgather MPI_Ineighbor_allgather_c PMPI_Ineighbor_allgather_c,
        Ineighbor_alltoall MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall MPI_Ineighbor_alltoall_c PMPI_Ineighbor_alltoall_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(send_count, send_type)).request(request)):
        Ineighbor_allgatherv MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv MPI_Ineighbor_allgatherv_c PMPI_Ineighbor_allgatherv_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Nothing).request(request)):
        Ineighbor_alltoallv MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv MPI_Ineighbor_alltoallv_c PMPI_Ineighbor_alltoallv_c;
    (send: In, send_counts: *const N, send_displacements: *const MPI_Aint, send_types: Types,
     recv: Out, recv_counts: *const N, recv_displacements: *const MPI_Aint, recv_types: Types, comm: MPI_Comm, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Nothing).request(request)):
        Ineighbor_alltoallw MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw MPI_Ineighbor_alltoallw_c PMPI_Ineighbor_alltoallw_c;
}
