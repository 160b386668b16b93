//! Persistent collectives, which came with MPI 4. Calls that prepare one count its bytes; what it takes is in the calls that complete it.

use std::ffi::c_int;

use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op};
use mpi_sys::{MPI_Aint, MPI_Info, MPI_Request};

use super::{In, Out, Types, counted, without_counts};
use crate::call::{Call, Data};

without_counts! {
    Barrier_init MPI_Barrier_init PMPI_Barrier_init (comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Nothing));
}

counted! {
    (buffer: Out, count: N, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(count, datatype)).at_root(root, Data::Elements(count, datatype))):
        Bcast_init MPI_Bcast_init PMPI_Bcast_init MPI_Bcast_init_c PMPI_Bcast_init_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Blocks(send_count, send_type)).at_root(root, Data::Blocks(recv_count, recv_type))):
        Gather_init MPI_Gather_init PMPI_Gather_init MPI_Gather_init_c PMPI_Gather_init_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(send_count, send_type)).at_root(root, Data::List(recv_counts, recv_type))):
        Gatherv_init MPI_Gatherv_init PMPI_Gatherv_init MPI_Gatherv_init_c PMPI_Gatherv_init_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Blocks(recv_count, recv_type)).at_root(root, Data::Blocks(send_count, send_type))):
        Scatter_init MPI_Scatter_init PMPI_Scatter_init MPI_Scatter_init_c PMPI_Scatter_init_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype, recv: Out, recv_count: N,
     recv_type: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(recv_count, recv_type)).at_root(root, Data::List(send_counts, send_type))):
        Scatterv_init MPI_Scatterv_init PMPI_Scatterv_init MPI_Scatterv_init_c PMPI_Scatterv_init_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Blocks(recv_count, recv_type))):
        Allgather_init MPI_Allgather_init PMPI_Allgather_init MPI_Allgather_init_c PMPI_Allgather_init_c,
        Alltoall_init MPI_Alltoall_init PMPI_Alltoall_init MPI_Alltoall_init_c PMPI_Alltoall_init_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::List(recv_counts, recv_type))):
        Allgatherv_init MPI_Allgatherv_init PMPI_Allgatherv_init MPI_Allgatherv_init_c PMPI_Allgatherv_init_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::List(recv_counts, recv_type))):
        Alltoallv_init MPI_Alltoallv_init PMPI_Alltoallv_init MPI_Alltoallv_init_c PMPI_Alltoallv_init_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_types: Types,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_types: Types, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Lists(recv_counts, recv_types))):
        Alltoallw_init MPI_Alltoallw_init PMPI_Alltoallw_init MPI_Alltoallw_init_c PMPI_Alltoallw_init_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(count, datatype)).with(op)):
        Allreduce_init MPI_Allreduce_init PMPI_Allreduce_init MPI_Allreduce_init_c PMPI_Allreduce_init_c,
        Scan_init MPI_Scan_init PMPI_Scan_init MPI_Scan_init_c PMPI_Scan_init_c,
        Exscan_init MPI_Exscan_init PMPI_Exscan_init MPI_Exscan_init_c PMPI_Exscan_init_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Blocks(count, datatype)).with(op)):
        Reduce_scatter_block_init MPI_Reduce_scatter_block_init PMPI_Reduce_scatter_block_init MPI_Reduce_scatter_block_init_c PMPI_Reduce_scatter_block_init_c;
    (send: In, recv: Out, recv_counts: *const N, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::ListOfOwn(recv_counts, datatype)).with(op)):
        Reduce_scatter_init MPI_Reduce_scatter_init PMPI_Reduce_scatter_init MPI_Reduce_scatter_init_c PMPI_Reduce_scatter_init_c;
    (send: In, recv: Out, count: N, datatype: MPI_Datatype, op: MPI_Op, root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(count, datatype)).with(op).at_root(root, Data::Elements(count, datatype))):
        Reduce_init MPI_Reduce_init PMPI_Reduce_init MPI_Reduce_init_c PMPI_Reduce_init_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_count: N, recv_type: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(send_count, send_type))):
        Neighbor_allgather_init MPI_Neighbor_allgather_init PMPI_Neighbor_allgather_init MPI_Neighbor_allgather_init_c PMPI_Neighbor_allgather_init_c,
        Neighbor_alltoall_init MPI_Neighbor_alltoall_init PMPI_Neighbor_alltoall_init MPI_Neighbor_alltoall_init_c PMPI_Neighbor_alltoall_init_c;
    (send: In, send_count: N, send_type: MPI_Datatype, recv: Out, recv_counts: *const N, recv_displacements: *const D,
     recv_type: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Elements(send_count, send_type))):
        Neighbor_allgatherv_init MPI_Neighbor_allgatherv_init PMPI_Neighbor_allgatherv_init MPI_Neighbor_allgatherv_init_c PMPI_Neighbor_allgatherv_init_c;
    (send: In, send_counts: *const N, send_displacements: *const D, send_type: MPI_Datatype,
     recv: Out, recv_counts: *const N, recv_displacements: *const D, recv_type: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Nothing)):
        Neighbor_alltoallv_init MPI_Neighbor_alltoallv_init PMPI_Neighbor_alltoallv_init MPI_Neighbor_alltoallv_init_c PMPI_Neighbor_alltoallv_init_c;
    (send: In, send_counts: *const N, send_displacements: *const MPI_Aint, send_types: Types,
     recv: Out, recv_counts: *const N, recv_displacements: *const MPI_Aint, recv_types: Types, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) =>
        (Call::on(comm, Data::Nothing)):
        Neighbor_alltoallw_init MPI_Neighbor_alltoallw_init PMPI_Neighbor_alltoallw_init MPI_Neighbor_alltoallw_init_c PMPI_Neighbor_alltoallw_init_c;
}
